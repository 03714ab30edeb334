"""Claude Code: a line for each message, block or piece of book-keeping."""

import re
from typing import Any

from commonplace.transcripts import facts as titles
from commonplace.transcripts.event import Event, Parsed, Said, called, response, returned
from commonplace.transcripts.facts import Facts, Tokens
from commonplace.transcripts.record import Record, moment, nested, records, said, text, whole

NAME = "claude-code"

_TITLES = {
    "custom-title": ("customTitle", titles.CUSTOM),
    "ai-title": ("aiTitle", titles.MADE),
    "last-prompt": ("lastPrompt", titles.LAST_PROMPT),
    "summary": ("summary", titles.SUMMARY),
}
_split = str.split
_SILENT = frozenset(
    _split(
        "attachment progress tag file-history-snapshot queue-operation permission-mode mode pr-link worktree-state"
        " content-replacement agent-name agent-color agent-setting"
    )
)
_COMMAND = re.compile(r"<command-name>\s*([^<]{1,200}?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>\s*([^<]{1,2000}?)\s*</command-args>")
_REMINDER = ("<system-reminder>", "</system-reminder>")
_REFUSED = ("The user doesn't want to", "[Request interrupted")
_MISUSED = "<tool_use_error>"
_AUTOMATIC = (
    "<local-command-",
    "<command-message>",
    "<session-start-hook>",
    "<user-prompt-submit-hook>",
    "<task-notification>",
    "<bash-",
    "<ide_",
    "Caveat: The messages below",
    "[Request interrupted",
)


def is_own(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return isinstance(record.get("message"), dict) and "payload" not in record
    return (
        kind in _TITLES or kind in _SILENT or (kind == "system" and ("uuid" in record or "subtype" in record))
    )


def parse(record: Record, facts: Facts) -> Parsed | None:
    """What the line holds; None for a type that is not known."""
    kind = record.get("type")
    if kind in _TITLES:
        field, rank = _TITLES[kind]
        facts.entitle(rank, text(record.get(field)))
        return Parsed(None, [])
    if kind not in ("user", "assistant", "system"):
        return Parsed(moment(record.get("timestamp")), []) if kind in _SILENT else None
    _note(record, facts)
    aside = not facts.child and (record.get("isSidechain") is True or bool(record.get("teamName")))
    return Parsed(moment(record.get("timestamp")), _events(kind, record, facts), aside)


def _note(record: Record, facts: Facts) -> None:
    """A file whose first message is a sub-agent's is that sub-agent's own."""
    if facts.child is None:
        facts.child = record.get("isSidechain") is True
    facts.session = facts.session or text(record.get("sessionId"))[:200]
    facts.cwd = facts.cwd or text(record.get("cwd"))[:1000]
    facts.branch = text(record.get("gitBranch"))[:200] or facts.branch
    if record.get("subtype") == "compact_boundary":
        facts.compactions += 1


def _events(kind: str, record: Record, facts: Facts) -> list[Event]:
    message = record.get("message")
    if kind == "system" or not isinstance(message, dict):
        return []
    content = message.get("content")
    if kind == "assistant":
        _spend(message, facts)
        return _assistant(content)
    if record.get("isCompactSummary") is True:
        return [Said("summary", said(content))]
    blocks = [block for block in records(content) if block.get("type") == "tool_result"]
    if blocks or record.get("isMeta") is True or "toolUseResult" in record:
        return [event for block in blocks for event in _result(block)]
    return _prompt(said(content), facts)


def _result(block: Record) -> list[Event]:
    """What a person did not allow tells nothing of the tool; of a misused tool the first line tells all."""
    output, failed = response(block.get("content")), block.get("is_error") is True
    if failed and output.startswith(_REFUSED):
        return []
    if failed and output.startswith(_MISUSED):
        output = output.removeprefix(_MISUSED).partition("\n")[0].removesuffix(_MISUSED.replace("<", "</"))
    return [returned(block.get("tool_use_id"), output, failed)]


def _assistant(content: Any) -> list[Event]:
    if isinstance(content, str):
        return [Said("assistant", content)]
    events: list[Event] = []
    for block in records(content):
        if block.get("type") == "tool_use":
            events.append(called(block.get("id"), block.get("name"), block.get("input")))
        elif words := said(block):
            events.append(Said("assistant", words))
    return events


def _prompt(words: str, facts: Facts) -> list[Event]:
    words = _unreminded(words).strip()
    if command := _COMMAND.search(words[:3000]) if words.startswith("<command-") else None:
        arguments = _ARGUMENTS.search(words[:6000])
        return [Said("user", f"{command[1]} {arguments[1] if arguments else ''}".strip())]
    if not words or words.startswith(_AUTOMATIC):
        return []
    facts.entitle(titles.FIRST_PROMPT, words, keep=True)
    return [Said("user", words)]


def _unreminded(words: str) -> str:
    """Without what the harness wrote into the person's message."""
    opening, closing = _REMINDER
    if opening not in words:
        return words
    before, *rest = words.split(opening)
    return before + "".join(part.partition(closing)[2] for part in rest)


def _spend(message: Record, facts: Facts) -> None:
    facts.model = text(message.get("model"))[:100] or facts.model
    usage = message.get("usage")
    if isinstance(usage, dict):
        read = whole(usage.get("cache_read_input_tokens"))
        given = whole(usage.get("input_tokens")) + whole(usage.get("cache_creation_input_tokens"))
        spent = Tokens(given, whole(usage.get("output_tokens")), read)
        facts.spend(text(nested(message, "id"))[:80], spent)
