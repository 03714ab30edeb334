"""Parses Goose's sessions: files of versions before 1.10, and what `transcripts.py` exports from the database.

The first line is about the session, each other line is a message whose content is a list of blocks.
"""

from typing import Any

from commonplace.client.agents import ARCHIVED_PROGRAMS
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
    count_or_zero,
    get_nested,
    list_records,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TokenCounts, TranscriptState

_TOOL = ARCHIVED_PROGRAMS["goose"].transcript_tool
_ROLES = ("user", "assistant")
_CHILD_TYPE = "sub_agent"
_REQUESTS = ("toolRequest", "frontendToolRequest")


def _is_goose_record(record: Record) -> bool:
    if record.get(_TOOL) in ("session", "message") or _is_file_head(record):
        return True
    return _is_message(record) and isinstance(record.get("created"), int)


def _is_file_head(record: Record) -> bool:
    return "working_dir" in record and "message_count" in record


def _is_message(record: Record) -> bool:
    return record.get("role") in _ROLES and isinstance(record.get("content"), list)


def _parse_goose_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    if record.get(_TOOL) == "session" or _is_file_head(record):
        return ParsedLine(_record_session(record, facts), [])
    if not _is_message(record):
        return None
    identity = text_or_empty(record.get("id"))[:64]
    if record.get(_TOOL) == "message" and facts.remember_key(f"m {identity}") is not None:
        return ParsedLine(None, [])
    events = [
        event for block in list_records(record["content"]) for event in _parse_block(record, block, facts)
    ]
    return ParsedLine(parse_time(record.get("created")), events)


def _record_session(record: Record, facts: TranscriptState) -> int | None:
    facts.session = facts.session or text_or_empty(record.get("id"))[:200]
    facts.cwd = facts.cwd or text_or_empty(record.get("working_dir"))[:1000]
    facts.is_child = record.get("session_type") == _CHILD_TYPE
    facts.set_title(titles.GENERATED_TITLE, text_or_empty(record.get("name") or record.get("description")))
    # Only in whole sessions: an export repeats the line with higher counts.
    names = ("input_tokens", "output_tokens")
    fresh, out = (count_or_zero(record.get(f"accumulated_{name}") or record.get(name)) for name in names)
    facts.add_tokens("session", TokenCounts(fresh, out, 0))
    return parse_time(record.get("created_at"))


def _parse_block(record: Record, block: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    kind, role = block.get("type"), record["role"]
    if kind == "text" and (words := text_or_empty(block.get("text")).strip()):
        if role == "user":
            facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
        return [Message(role, words)]
    if kind in _REQUESTS:
        call = get_nested(block, "toolCall", "value")
        return [build_tool_call(block.get("id"), get_nested(call, "name"), get_nested(call, "arguments"))]
    if kind == "toolResponse":
        return [_parse_response(block.get("id"), block.get("toolResult"))]
    if kind == "systemNotification":
        return [Message("system", text_or_empty(block.get("msg")))]
    return []


def _parse_response(identity: Any, result: Any) -> ToolResult:
    """The value is the result of an MCP tool, in older versions only its content."""
    if get_nested(result, "status") == "error":
        return build_tool_result(identity, text_or_empty(get_nested(result, "error")), failed=True)
    value = get_nested(result, "value")
    has_failed = get_nested(value, "isError") is True
    return build_tool_result(identity, extract_response_text(value), failed=has_failed or None)


FORMAT = TranscriptFormat(_TOOL, _is_goose_record, _parse_goose_record)
