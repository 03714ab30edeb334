"""The boot pack as an agent's context: facts, within what every agent takes."""

import json
from typing import Any

from commonplace.client.hooks.hook_state import HookSession

PACK_TOKENS = 2_200
"""Tokens asked for: with the sentences before it the whole stays below 10,000 characters and 2,500 tokens."""

MAX_CONTEXT_BYTES = 9_900
"""Bytes. Claude takes 10,000 characters, Codex 2,500 tokens of about four bytes."""

_CUT_MARK = " …(cut here)"
_LOCK_TEXTS = {
    "auto": "Before each edit a lease on the file is taken for this session by itself; an edit of a file that another agent has leased is refused and says who has it.",
    "check": "An edit of a file that another agent has leased is refused and says who has it.",
}


def encode_pack(reply: dict[str, Any]) -> str:
    """The reply's own text."""
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":"))


def render_boot_context(session: HookSession, lock: str, when: str = "now") -> str:
    facts = [
        "Commonplace is the memory that the agents of this team share; its tools are named memory_*.",
        f"This session is known there as the agent {session.agent} of the project {session.project}. Its session_id for these tools: {session.session_id}",
        _LOCK_TEXTS.get(lock, ""),
        f"The state of the project {when}, as memory_start_session tells it:",
        session.pack,
    ]
    return "\n".join(fact for fact in facts if fact)


def render_reminder(session: HookSession, beat: dict[str, Any], locks: dict[str, Any], lock: str) -> str:
    """The same for a session that goes on, with what is different by now."""
    known = json.loads(session.pack)
    messages = known.get("messages")
    known["messages"] = (messages if isinstance(messages, dict) else {}) | {"unread": beat.get("unread", 0)}
    known["relevant_locks"] = locks.get("locks", [])[:10]
    known["your_locks"] = [lease["file"] for lease in locks.get("your_locks", [])[:20]]
    when = "when this session started, with its locks of now"
    room = MAX_CONTEXT_BYTES - len(render_boot_context(session._replace(pack=""), lock, when).encode()) - 1
    return render_boot_context(session._replace(pack=encode_pack(_shrink_pack(known, room))), lock, when)


def _shrink_pack(known: dict[str, Any], room: int) -> dict[str, Any]:
    """Without what is empty; the longest lists give up their last entries until the rest fits."""
    kept = {name: value for name, value in known.items() if value}
    while len(encode_pack(kept).encode()) > room:
        longest = max(
            kept, key=lambda name: len(encode_pack({"": kept[name]})) if isinstance(kept[name], list) else 0
        )
        if not isinstance(kept[longest], list):
            break
        kept = {name: value for name, value in (kept | {longest: kept[longest][:-1]}).items() if value}
    return kept


def join_within_limit(texts: list[str]) -> str:
    """All of it in one text; what is beyond the limit is cut, the last first."""
    whole = "\n\n".join(texts).encode("utf-8", "replace")
    if len(whole) <= MAX_CONTEXT_BYTES:
        return whole.decode()
    return whole[: MAX_CONTEXT_BYTES - len(_CUT_MARK.encode())].decode("utf-8", "ignore") + _CUT_MARK
