"""Parses Cursor's agent transcripts: a line for each prompt and each turn of the model, with text and tool calls.

Results of tools are not in them, and the only times are those that Cursor writes before a prompt. Lines that
`chats/chat_exports.py` writes have both.
"""

import re
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from commonplace.client.agents import AGENTS
from commonplace.journal.event import (
    Message,
    ParsedLine,
    ToolResult,
    TranscriptEvent,
    build_tool_call,
    build_tool_result,
    extract_response_text,
)
from commonplace.journal.json_record import (
    Record,
    decode_inner_json,
    get_nested,
    join_text_blocks,
    list_records,
    parse_exit_code,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TranscriptState

_ROLES = ("user", "assistant")
_CONTROL_TYPES = ("turn_ended",)
_QUERY = re.compile(r"<user_query>\s*(.*?)\s*</user_query>", re.DOTALL)
_TIMESTAMP = re.compile(r"<timestamp>([^<]{1,80})</timestamp>")
_WRITTEN_TIME = re.compile(
    r"\w+, (\w{3} \d{1,2}, \d{4}, \d{1,2}:\d{2} [AP]M)(?: \(UTC(?:([+-])(\d{1,2})(?::(\d{2}))?)?\))?"
)
_REDACTED = "[REDACTED]"
_CHAT, _BUBBLE = "chat", "bubble"
_ENDED_STATUSES = ("completed", "error", "cancelled")


def _is_cursor_record(record: Record) -> bool:
    if record.get("cursor") in (_CHAT, _BUBBLE) and "id" in record:
        return True
    if record.get("type") in _CONTROL_TYPES and "role" not in record:
        return True
    is_message = record.get("role") in _ROLES and "type" not in record
    return is_message and isinstance(get_nested(record, "message", "content"), list)


def _parse_cursor_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    if record.get("cursor") == _CHAT:
        return ParsedLine(_record_chat(record, facts), [])
    if record.get("cursor") == _BUBBLE:
        return ParsedLine(parse_time(record.get("at")), _parse_bubble(record, facts))
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


def _record_chat(record: Record, facts: TranscriptState) -> int | None:
    facts.session = facts.session or text_or_empty(record.get("id"))[:200]
    facts.cwd = facts.cwd or text_or_empty(record.get("folder"))[:1000]
    facts.model = text_or_empty(record.get("model"))[:100] or facts.model
    facts.set_title(titles.GENERATED_TITLE, text_or_empty(record.get("title")))
    return parse_time(record.get("createdAt"))


def _parse_bubble(record: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    """A message that was exported again, because it had changed, counts once; a tool call, until it has ended."""
    identity, role = text_or_empty(record.get("id"))[:64], record.get("role")
    words = text_or_empty(record.get("text")).strip()
    events: list[TranscriptEvent] = []
    if words and role in _ROLES and facts.remember_key(f"b {identity}") is None:
        if role == "user":
            facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
        events.append(Message(str(role), words))
    tool = record.get("tool")
    return events + (_parse_bubble_call(identity, tool, facts) if isinstance(tool, dict) else [])


def _parse_bubble_call(identity: str, tool: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    status, call_id = text_or_empty(tool.get("status")), text_or_empty(tool.get("id")) or identity
    before = facts.remember_key(f"c {identity}", status)
    events: list[TranscriptEvent] = []
    if before is None:
        arguments = decode_inner_json(tool.get("arguments"))
        events.append(build_tool_call(call_id, tool.get("name"), arguments))
    if status != before and status in _ENDED_STATUSES:
        events.append(_parse_bubble_result(call_id, status, decode_inner_json(tool.get("result"))))
    return events


def _parse_bubble_result(call_id: str, status: str, result: Any) -> ToolResult:
    code = parse_exit_code(get_nested(result, "exitCode"))
    failed = status == "error" or bool(code)
    parsed = build_tool_result(call_id, extract_response_text(result), failed or None)
    return parsed if code is None else parsed._replace(exit_code=code)


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
