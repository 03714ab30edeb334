"""Parses opencode's sessions as `transcripts.py` exports them: one line per session, message and part of a message."""

from commonplace.client.agents import AGENTS
from commonplace.journal.event import (
    Message,
    ParsedLine,
    ToolResult,
    TranscriptEvent,
    build_tool_call,
    build_tool_result,
)
from commonplace.journal.json_record import (
    Record,
    count_or_zero,
    get_nested,
    list_records,
    parse_dollars,
    parse_exit_code,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TokenCounts, TranscriptState

_KINDS = ("session", "message", "part")
_ROLES = ("user", "assistant", "summary")
_DEFAULT_TITLES = ("New session - ", "Child session - ")


def _is_opencode_record(record: Record) -> bool:
    return record.get("opencode") in _KINDS and "id" in record


def _parse_opencode_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    if isinstance(info := record.get("info"), dict):
        return _parse_exported(info, list_records(record.get("parts")), facts)
    kind = record.get("opencode")
    if kind == "session":
        _record_session(record, facts)
        return ParsedLine(parse_time(record.get("created")), [])
    if kind == "message":
        return ParsedLine(
            parse_time(get_nested(record, "time", "created")), _parse_message_facts(record, facts)
        )
    if kind == "part" and isinstance(part := record.get("part"), dict):
        return ParsedLine(parse_time(record.get("at")), _parse_part(record, part, facts))
    return None


def _parse_exported(info: Record, parts: list[Record], facts: TranscriptState) -> ParsedLine:
    """The head or a message of what `opencode export` prints."""
    at = parse_time(get_nested(info, "time", "created"))
    if "role" not in info:
        _record_session(info, facts)
        return ParsedLine(at, [])
    role = "summary" if info.get("summary") is True else info["role"]
    events = _parse_message_facts(info, facts)
    for part in parts:
        events += _parse_part({"id": part.get("id"), "role": role}, part, facts)
    return ParsedLine(at, events)


def _record_session(record: Record, facts: TranscriptState) -> None:
    facts.session = facts.session or text_or_empty(record.get("id"))[:200]
    facts.cwd = facts.cwd or text_or_empty(record.get("directory"))[:1000]
    facts.is_child = bool(record.get("parentID"))
    title = text_or_empty(record.get("title"))
    if not title.startswith(_DEFAULT_TITLES):
        facts.set_title(titles.GENERATED_TITLE, title)


def _parse_message_facts(record: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    """Model and tokens; the words are in the parts."""
    facts.model = text_or_empty(record.get("modelID"))[:100] or facts.model
    identity, tokens = text_or_empty(record.get("id"))[:64], record.get("tokens")
    if isinstance(tokens, dict):
        cached, fresh = count_or_zero(get_nested(tokens, "cache", "read")), count_or_zero(tokens.get("input"))
        cost = parse_dollars(record.get("cost"))
        facts.add_tokens(identity, TokenCounts(fresh, count_or_zero(tokens.get("output")), cached, cost))
    fault = text_or_empty(get_nested(record, "error", "data", "message"))
    return [Message("system", fault)] if fault and facts.remember_key(f"e {identity}") is None else []


def _parse_part(record: Record, part: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    """A part that was exported again, because it had changed, counts once."""
    kind, identity = text_or_empty(part.get("type")), text_or_empty(record.get("id"))[:64]
    if kind == "tool":
        return _parse_call(identity, part, facts)
    if facts.remember_key(f"p {identity}") is not None:
        return []
    if kind == "compaction":
        facts.compactions += 1
    words = text_or_empty(part.get("text")).strip() if kind == "text" else ""
    role = record.get("role")
    if not words or role not in _ROLES:
        return []
    if part.get("synthetic"):
        return [Message("system", words)]
    if role == "user":
        facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message(role, words)]


def _parse_call(identity: str, part: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    state = part.get("state")
    status = text_or_empty(get_nested(state, "status"))
    before = facts.remember_key(f"c {identity}", status)
    call_id = text_or_empty(part.get("callID")) or identity
    events: list[TranscriptEvent] = []
    if before is None:
        events.append(build_tool_call(call_id, part.get("tool"), get_nested(state, "input")))
    if status != before and status in ("completed", "error"):
        events.append(_parse_result(call_id, status, state if isinstance(state, dict) else {}))
    return events


def _parse_result(call_id: str, status: str, state: Record) -> ToolResult:
    if status == "error":
        return build_tool_result(call_id, text_or_empty(state.get("error")), True)
    code = parse_exit_code(get_nested(state, "metadata", "exit"))
    result = build_tool_result(call_id, text_or_empty(state.get("output")), bool(code))
    return result if code is None else result._replace(exit_code=code)


FORMAT = TranscriptFormat(
    AGENTS["opencode"].transcript_tool, _is_opencode_record, _parse_opencode_record, frozenset({"info"})
)
