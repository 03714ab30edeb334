"""Claude Code: a line for each message, block or piece of book-keeping."""

import re
from typing import Any

from commonplace.client.agents import AGENTS
from commonplace.transcripts import facts as titles
from commonplace.transcripts.event import Event, Parsed, Said, called, response, returned
from commonplace.transcripts.facts import Facts, Tokens
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.record import Record, moment, nested, records, said, text, whole

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
# What the program itself writes into a person's message.
_WRITTEN_IN = re.compile(
    r"<(/?)(system-reminder|task-notification|session-start-hook|user-prompt-submit-hook"
    r"|(?:ide_|local-command-|bash-)[a-z_-]{1,40})>"
)
_INTERRUPTED = re.compile(r"^\s*\[Request interrupted by user[^\]\n]{0,40}\]")
_REFUSED = ("The user doesn't want to", "[Request interrupted")
_REASON = "the user said:"
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


def _is_own_record(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return isinstance(record.get("message"), dict) and "payload" not in record
    return (
        kind in _TITLES or kind in _SILENT or (kind == "system" and ("uuid" in record or "subtype" in record))
    )


def _parse_record(record: Record, facts: Facts) -> Parsed | None:
    """What the line holds; None for a type that is not known."""
    kind = record.get("type")
    if kind in _TITLES:
        field, rank = _TITLES[kind]
        facts.entitle(rank, text(record.get(field)))
        return Parsed(None, [])
    if kind not in ("user", "assistant", "system"):
        return Parsed(moment(record.get("timestamp")), []) if kind in _SILENT else None
    _note(record, facts)
    aside = not facts.child and _is_aside(record)
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
    results = [event for block in blocks for event in _result(block, facts)]
    if record.get("isMeta") is True or ("toolUseResult" in record and not blocks):
        return results
    words = _prompt(said(content), facts)
    if words and not blocks:
        _branch(record, facts)
    return results + words


def _branch(record: Record, facts: Facts) -> None:
    """A prompt that follows the same line as an earlier one stands in its place: the earlier was edited or taken back.

    Only prompts are looked at: calls that run side by side branch too, and nothing of them is abandoned.
    """
    parent, own = text(record.get("parentUuid"))[:64], text(record.get("uuid"))[:64]
    if not parent or _is_aside(record) or facts.mark(f"p {own}") is not None:
        return
    facts.abandon(parent)
    facts.turn(parent)


def _is_aside(record: Record) -> bool:
    return record.get("isSidechain") is True or bool(record.get("teamName"))


def _result(block: Record, facts: Facts) -> list[Event]:
    """Of what a person did not allow, only their words count; of a misused tool the first line tells all."""
    output, failed = response(block.get("content")), block.get("is_error") is True
    if failed and output.startswith(_REFUSED):
        return _prompt(output.partition(_REASON)[2], facts)
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
    words = _INTERRUPTED.sub("", _own(words)).strip()
    if command := _COMMAND.search(words[:3000]) if words.startswith("<command-") else None:
        arguments = _ARGUMENTS.search(words[:6000])
        return [Said("user", f"{command[1]} {arguments[1] if arguments else ''}".strip())]
    if not words or words.startswith(_AUTOMATIC):
        return []
    facts.entitle(titles.FIRST_PROMPT, words, keep=True)
    return [Said("user", words)]


def _own(words: str) -> str:
    """What is left of a message without what was written into it; an element that nobody closes is the person's."""
    tags = list(_WRITTEN_IN.finditer(words))
    last_closing = {tag[2]: tag.start() for tag in tags if tag[1]}
    kept, at, inside = [], 0, ""
    for tag in tags:
        if inside and tag[1] and tag[2] == inside:
            at, inside = tag.end(), ""
        elif not inside and not tag[1] and last_closing.get(tag[2], -1) > tag.start():
            kept.append(words[at : tag.start()])
            inside = tag[2]
    return "".join((*kept, words[at:]))


def _spend(message: Record, facts: Facts) -> None:
    facts.model = text(message.get("model"))[:100] or facts.model
    usage = message.get("usage")
    if isinstance(usage, dict):
        read = whole(usage.get("cache_read_input_tokens"))
        given = whole(usage.get("input_tokens")) + whole(usage.get("cache_creation_input_tokens"))
        spent = Tokens(given, whole(usage.get("output_tokens")), read)
        facts.spend(text(nested(message, "id"))[:80], spent)


FORMAT = TranscriptFormat(AGENTS["claude"].transcript_tool, _is_own_record, _parse_record)
