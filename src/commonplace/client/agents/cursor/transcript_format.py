"""Parses Cursor's agent transcripts: a line for each prompt and each turn of the model, with text and tool calls.

Results of tools are not in them, and the only times are those that Cursor writes before a prompt.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

from commonplace.client.agents import AGENTS
from commonplace.transcripts import transcript_state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.json_record import (
    Record,
    get_nested,
    join_text_blocks,
    list_records,
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
from commonplace.transcripts.transcript_state import TranscriptState

_ROLES = ("user", "assistant")
_CONTROL_TYPES = ("turn_ended",)
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_TIMESTAMP = re.compile(r"<timestamp>([^<]{1,80})</timestamp>")
_WRITTEN_TIME = re.compile(
    r"\w+, (\w{3} \d{1,2}, \d{4}, \d{1,2}:\d{2} [AP]M)(?: \(UTC(?:([+-])(\d{1,2})(?::(\d{2}))?)?\))?"
)
_REDACTED = "[REDACTED]"


def _is_cursor_record(record: Record) -> bool:
    if record.get("type") in _CONTROL_TYPES and "role" not in record:
        return True
    is_message = record.get("role") in _ROLES and "type" not in record
    return is_message and isinstance(get_nested(record, "message", "content"), list)


def _parse_cursor_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    if record.get("type") in _CONTROL_TYPES:
        return ParsedLine(None, [])
    if record.get("role") not in _ROLES:
        return None
    content = get_nested(record, "message", "content")
    if record["role"] == "user":
        text = join_text_blocks(content)
        return ParsedLine(_parse_written_time(text), _parse_prompt(text, facts))
    events = [event for block in list_records(content) for event in _parse_block(block)]
    return ParsedLine(None, events)


def _parse_prompt(text: str, facts: TranscriptState) -> list[TranscriptEvent]:
    """What the person typed is in a tag; without it, what is left after the time that Cursor writes before it."""
    query = _QUERY.search(text)
    words = (query[1] if query else _TIMESTAMP.sub("", text)).strip()
    if not words:
        return []
    facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message("user", words)]


def _parse_block(block: Record) -> list[TranscriptEvent]:
    kind = block.get("type")
    if kind == "tool_use":
        return [build_tool_call(block.get("id"), block.get("name"), block.get("input"))]
    if kind == "tool_result":
        return [build_tool_result(block.get("tool_use_id"), extract_response_text(block.get("content")))]
    words = text_or_empty(block.get("text")).replace(_REDACTED, "").strip()
    return [Message("assistant", words)] if kind == "text" and words else []


def _parse_written_time(text: str) -> int | None:
    """`Friday, May 8, 2026, 6:05 AM (UTC+5:30)` in microseconds; without a zone it is taken as UTC."""
    tag = _TIMESTAMP.search(text)
    written = _WRITTEN_TIME.fullmatch(tag[1].strip()) if tag else None
    if written is None:
        return None
    try:
        local = datetime.strptime(written[1], "%b %d, %Y, %I:%M %p").replace(tzinfo=UTC)
        offset = timedelta(hours=int(written[3] or 0), minutes=int(written[4] or 0))
        zone = timezone(-offset if written[2] == "-" else offset)
    except ValueError:
        return None
    return round(local.replace(tzinfo=zone).timestamp() * 1_000_000)


FORMAT = TranscriptFormat(AGENTS["cursor"].transcript_tool, _is_cursor_record, _parse_cursor_record)
