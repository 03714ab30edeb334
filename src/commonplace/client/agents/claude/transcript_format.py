"""Claude Code: a line for each message, block or piece of book-keeping."""

import re
from typing import Any

from commonplace.client.agents import AGENTS
from commonplace.transcripts import transcript_state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.json_record import (
    Record,
    count_or_zero,
    get_nested,
    join_text_blocks,
    list_records,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts.transcript_event import (
    Message,
    ParsedLine,
    TranscriptEvent,
    build_tool_call,
    build_tool_result,
    extract_response_text,
)
from commonplace.transcripts.transcript_state import TokenCounts, TranscriptState

_TITLES = {
    "custom-title": ("customTitle", titles.CUSTOM_TITLE),
    "ai-title": ("aiTitle", titles.GENERATED_TITLE),
    "last-prompt": ("lastPrompt", titles.LAST_PROMPT_TITLE),
    "summary": ("summary", titles.SUMMARY_TITLE),
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


def _parse_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    """What the line holds; None for a type that is not known."""
    kind = record.get("type")
    if kind in _TITLES:
        field, rank = _TITLES[kind]
        facts.set_title(rank, text_or_empty(record.get(field)))
        return ParsedLine(None, [])
    if kind not in ("user", "assistant", "system"):
        return ParsedLine(parse_time(record.get("timestamp")), []) if kind in _SILENT else None
    _note(record, facts)
    aside = not facts.is_child and _is_aside(record)
    return ParsedLine(parse_time(record.get("timestamp")), _events(kind, record, facts), aside)


def _note(record: Record, facts: TranscriptState) -> None:
    """A file whose first message is a sub-agent's is that sub-agent's own."""
    if facts.is_child is None:
        facts.is_child = record.get("isSidechain") is True
    facts.session = facts.session or text_or_empty(record.get("sessionId"))[:200]
    facts.cwd = facts.cwd or text_or_empty(record.get("cwd"))[:1000]
    facts.branch = text_or_empty(record.get("gitBranch"))[:200] or facts.branch
    if record.get("subtype") == "compact_boundary":
        facts.compactions += 1


def _events(kind: str, record: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    message = record.get("message")
    if kind == "system" or not isinstance(message, dict):
        return []
    content = message.get("content")
    if kind == "assistant":
        _spend(message, facts)
        return _assistant(content)
    if record.get("isCompactSummary") is True:
        return [Message("summary", join_text_blocks(content))]
    blocks = [block for block in list_records(content) if block.get("type") == "tool_result"]
    results = [event for block in blocks for event in _result(block, facts)]
    if record.get("isMeta") is True or ("toolUseResult" in record and not blocks):
        return results
    words = _prompt(join_text_blocks(content), facts)
    if words and not blocks:
        _branch(record, facts)
    return results + words


def _branch(record: Record, facts: TranscriptState) -> None:
    """A prompt that follows the same line as an earlier one stands in its place: the earlier was edited or taken back.

    Only prompts are looked at: calls that run side by side branch too, and nothing of them is abandoned.
    """
    parent, own = text_or_empty(record.get("parentUuid"))[:64], text_or_empty(record.get("uuid"))[:64]
    if not parent or _is_aside(record) or facts.remember_key(f"p {own}") is not None:
        return
    facts.abandon_since_prompt(parent)
    facts.record_prompt(parent)


def _is_aside(record: Record) -> bool:
    return record.get("isSidechain") is True or bool(record.get("teamName"))


def _result(block: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    """Of what a person did not allow, only their words count; of a misused tool the first line tells all."""
    output, failed = extract_response_text(block.get("content")), block.get("is_error") is True
    if failed and output.startswith(_REFUSED):
        return _prompt(output.partition(_REASON)[2], facts)
    if failed and output.startswith(_MISUSED):
        output = output.removeprefix(_MISUSED).partition("\n")[0].removesuffix(_MISUSED.replace("<", "</"))
    return [build_tool_result(block.get("tool_use_id"), output, failed)]


def _assistant(content: Any) -> list[TranscriptEvent]:
    if isinstance(content, str):
        return [Message("assistant", content)]
    events: list[TranscriptEvent] = []
    for block in list_records(content):
        if block.get("type") == "tool_use":
            events.append(build_tool_call(block.get("id"), block.get("name"), block.get("input")))
        elif words := join_text_blocks(block):
            events.append(Message("assistant", words))
    return events


def _prompt(words: str, facts: TranscriptState) -> list[TranscriptEvent]:
    words = _INTERRUPTED.sub("", _own(words)).strip()
    if command := _COMMAND.search(words[:3000]) if words.startswith("<command-") else None:
        arguments = _ARGUMENTS.search(words[:6000])
        return [Message("user", f"{command[1]} {arguments[1] if arguments else ''}".strip())]
    if not words or words.startswith(_AUTOMATIC):
        return []
    facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message("user", words)]


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


def _spend(message: Record, facts: TranscriptState) -> None:
    facts.model = text_or_empty(message.get("model"))[:100] or facts.model
    usage = message.get("usage")
    if isinstance(usage, dict):
        read = count_or_zero(usage.get("cache_read_input_tokens"))
        given = count_or_zero(usage.get("input_tokens")) + count_or_zero(
            usage.get("cache_creation_input_tokens")
        )
        spent = TokenCounts(given, count_or_zero(usage.get("output_tokens")), read)
        facts.add_tokens(text_or_empty(get_nested(message, "id"))[:80], spent)


FORMAT = TranscriptFormat(AGENTS["claude"].transcript_tool, _is_own_record, _parse_record)
