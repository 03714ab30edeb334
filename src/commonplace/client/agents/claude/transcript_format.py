"""Parses Claude Code transcripts: one line per message, block or bookkeeping record."""

import re
from typing import Any

from commonplace.client.agents import AGENTS
from commonplace.journal.event import (
    Message,
    ParsedLine,
    TranscriptEvent,
    build_tool_call,
    build_tool_result,
    extract_response_text,
)
from commonplace.journal.json_record import (
    Record,
    count_or_zero,
    get_nested,
    join_text_blocks,
    list_records,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TokenCounts, TranscriptState

_TITLES = {
    "custom-title": ("customTitle", titles.CUSTOM_TITLE),
    "ai-title": ("aiTitle", titles.GENERATED_TITLE),
    "last-prompt": ("lastPrompt", titles.LAST_PROMPT_TITLE),
    "summary": ("summary", titles.SUMMARY_TITLE),
}
_split = str.split
_SILENT_TYPES = frozenset(
    _split(
        "attachment progress tag file-history-snapshot queue-operation permission-mode mode pr-link worktree-state"
        " content-replacement agent-name agent-color agent-setting bridge-session atis-latch file-history-delta"
    )
)
_COMMAND = re.compile(r"<command-name>\s*([^<]{1,200}?)\s*</command-name>")
_ARGUMENTS = re.compile(r"<command-args>\s*([^<]{1,2000}?)\s*</command-args>")
# Tags that the program itself writes into a person's message.
_WRITTEN_IN_TAG = re.compile(
    r"<(/?)(system-reminder|task-notification|session-start-hook|user-prompt-submit-hook"
    r"|(?:ide_|local-command-|bash-)[a-z_-]{1,40})>"
)
_INTERRUPTED = re.compile(r"^\s*\[Request interrupted by user[^\]\n]{0,40}\]")
_REFUSED_PREFIXES = ("The user doesn't want to", "[Request interrupted")
_WRITTEN_BY_PROGRAM = "<synthetic>"
_OWN_COMMANDS = frozenset(
    _split(
        "/exit /quit /clear /compact /model /login /logout /config /cost /help /status /mcp /doctor /permissions /context /usage"
        " /resume /fast /plugin /plugins /agents /hooks /memory /ide /theme /vim /terminal-setup /effort /rename /color /tasks"
        " /copy /export /add-dir /statusline /output-style /privacy-settings /rewind /stats /skills /upgrade /feedback /bug /btw"
    )
)
"""Commands that the program runs itself: a person asks nothing of the agent with them."""
_CANCELLED = "Cancelled: parallel tool call"
_REASON_MARK = "the user said:"
_MISUSED_MARK = "<tool_use_error>"
_AUTOMATIC_PREFIXES = (
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


def _is_claude_record(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        message = record.get("message")
        return isinstance(message, dict) and "parts" not in message and "payload" not in record
    return (
        kind in _TITLES
        or kind in _SILENT_TYPES
        or (kind == "system" and ("uuid" in record or "subtype" in record) and "systemPayload" not in record)
    )


def _parse_claude_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    """The contents of a line; None for an unknown type."""
    kind = record.get("type")
    if kind in _TITLES:
        field, rank = _TITLES[kind]
        facts.set_title(rank, text_or_empty(record.get(field)))
        return ParsedLine(None, [])
    if kind not in ("user", "assistant", "system"):
        return ParsedLine(parse_time(record.get("timestamp")), []) if kind in _SILENT_TYPES else None
    _record_facts(record, facts)
    aside = not facts.is_child and _is_sidechain(record)
    return ParsedLine(parse_time(record.get("timestamp")), _parse_events(kind, record, facts), aside)


def _record_facts(record: Record, facts: TranscriptState) -> None:
    """A file whose first message is a sub-agent's belongs to that sub-agent."""
    if facts.is_child is None:
        facts.is_child = record.get("isSidechain") is True
    facts.session = facts.session or text_or_empty(record.get("sessionId"))[:200]
    facts.cwd = facts.cwd or text_or_empty(record.get("cwd"))[:1000]
    facts.branch = text_or_empty(record.get("gitBranch"))[:200] or facts.branch
    if record.get("subtype") == "compact_boundary":
        facts.compactions += 1


def _parse_events(kind: str, record: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    message = record.get("message")
    if kind == "system" or not isinstance(message, dict):
        return []
    content = message.get("content")
    if kind == "assistant":
        if message.get("model") == _WRITTEN_BY_PROGRAM:
            return []
        _count_tokens(message, facts)
        return _parse_assistant(content)
    if record.get("isCompactSummary") is True:
        return [Message("summary", join_text_blocks(content))]
    blocks = [block for block in list_records(content) if block.get("type") == "tool_result"]
    results = [event for block in blocks for event in _parse_result(block, facts)]
    if record.get("isMeta") is True or ("toolUseResult" in record and not blocks):
        return results
    words = _parse_prompt(join_text_blocks(content), facts)
    if words and not blocks:
        _mark_branch(record, facts)
    return results + words


def _mark_branch(record: Record, facts: TranscriptState) -> None:
    """A prompt with the same parent as an earlier one replaces it: the earlier one was edited or taken back.

    Only prompts count: parallel calls share a parent too, and none of them is abandoned.
    """
    parent, own = text_or_empty(record.get("parentUuid"))[:64], text_or_empty(record.get("uuid"))[:64]
    if not parent or _is_sidechain(record) or facts.remember_key(f"p {own}") is not None:
        return
    facts.abandon_since_prompt(parent)
    facts.record_prompt(parent)


def _is_sidechain(record: Record) -> bool:
    return record.get("isSidechain") is True or bool(record.get("teamName"))


def _parse_result(block: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    """A call that a person refused, with their words; for a misused tool, only the first line."""
    output, failed = extract_response_text(block.get("content")), block.get("is_error") is True
    if failed and output.startswith(_REFUSED_PREFIXES):
        words = output.partition(_REASON_MARK)[2].strip()
        refused = build_tool_result(block.get("tool_use_id"), words, False)._replace(denied=True)
        is_refused = output.startswith(_REFUSED_PREFIXES[0])
        return [*([refused] if is_refused else []), *_parse_prompt(words, facts)]
    if failed and output.startswith(_CANCELLED):
        return []
    if failed and output.startswith(_MISUSED_MARK):
        output = (
            output.removeprefix(_MISUSED_MARK)
            .partition("\n")[0]
            .removesuffix(_MISUSED_MARK.replace("<", "</"))
        )
    return [build_tool_result(block.get("tool_use_id"), output, failed)]


def _parse_assistant(content: Any) -> list[TranscriptEvent]:
    if isinstance(content, str):
        return [Message("assistant", content)]
    events: list[TranscriptEvent] = []
    for block in list_records(content):
        if block.get("type") == "tool_use":
            events.append(build_tool_call(block.get("id"), block.get("name"), block.get("input")))
        elif words := join_text_blocks(block):
            events.append(Message("assistant", words))
    return events


def _parse_prompt(words: str, facts: TranscriptState) -> list[TranscriptEvent]:
    words = _INTERRUPTED.sub("", _strip_written_in(words)).strip()
    if command := _COMMAND.search(words[:3000]) if words.startswith("<command-") else None:
        if command[1].split()[0] in _OWN_COMMANDS:
            return []
        arguments = _ARGUMENTS.search(words[:6000])
        return [Message("user", f"{command[1]} {arguments[1] if arguments else ''}".strip())]
    if not words or words.startswith(_AUTOMATIC_PREFIXES):
        return []
    facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message("user", words)]


def _strip_written_in(words: str) -> str:
    """The message without the tags that the program wrote into it; an unclosed tag is kept."""
    tags = list(_WRITTEN_IN_TAG.finditer(words))
    last_closing = {tag[2]: tag.start() for tag in tags if tag[1]}
    kept, position, open_tag = [], 0, ""
    for tag in tags:
        if open_tag and tag[1] and tag[2] == open_tag:
            position, open_tag = tag.end(), ""
        elif not open_tag and not tag[1] and last_closing.get(tag[2], -1) > tag.start():
            kept.append(words[position : tag.start()])
            open_tag = tag[2]
    return "".join((*kept, words[position:]))


def _count_tokens(message: Record, facts: TranscriptState) -> None:
    facts.model = text_or_empty(message.get("model"))[:100] or facts.model
    usage = message.get("usage")
    if isinstance(usage, dict):
        cached_tokens = count_or_zero(usage.get("cache_read_input_tokens"))
        input_tokens = count_or_zero(usage.get("input_tokens")) + count_or_zero(
            usage.get("cache_creation_input_tokens")
        )
        counts = TokenCounts(input_tokens, count_or_zero(usage.get("output_tokens")), cached_tokens)
        facts.add_tokens(text_or_empty(get_nested(message, "id"))[:80], counts)


FORMAT = TranscriptFormat(AGENTS["claude"].transcript_tool, _is_claude_record, _parse_claude_record)
