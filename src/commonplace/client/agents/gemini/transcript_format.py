"""Parses Gemini CLI chats: one message per line, repeated when it changes; before April 2026 one JSON document."""

from typing import Any

from commonplace.client.agents import AGENTS
from commonplace.journal.event import (
    Message,
    ParsedLine,
    TranscriptEvent,
    build_tool_call,
    build_tool_result,
    extract_response_text,
    parse_command_report,
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

_ROLES = {"user": "user", "gemini": "assistant", "info": "", "error": "system", "warning": ""}
_SESSION_CONTEXT = "<session_context>"
_HEAD_FIELDS = frozenset({"sessionId", "projectHash", "startTime", "lastUpdated", "kind", "summary"})


def _is_gemini_record(record: Record) -> bool:
    if "$set" in record or "$rewindTo" in record or "projectHash" in record:
        return True
    return record.get("type") in _ROLES and "content" in record and "id" in record and "message" not in record


def _parse_gemini_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    if "$rewindTo" in record:
        facts.abandon_since_prompt(text_or_empty(record.get("$rewindTo"))[:64])
        return ParsedLine(None, [])
    if isinstance(update := record.get("$set"), dict):
        _record_facts(update, facts)
        return ParsedLine(
            parse_time(update.get("lastUpdated")), _parse_messages(update.get("messages"), facts)
        )
    if "projectHash" in record or "sessionId" in record:
        _record_facts(record, facts)
        return ParsedLine(parse_time(record.get("startTime")), _parse_messages(record.get("messages"), facts))
    if record.get("type") not in _ROLES:
        if not record.keys() <= _HEAD_FIELDS:
            return None
        _record_facts(record, facts)
        return ParsedLine(None, [])
    identity = text_or_empty(record.get("id"))[:64]
    if record.get("type") == "user" and identity and identity not in facts.prompt_lines:
        facts.record_prompt(identity)
    return ParsedLine(parse_time(record.get("timestamp")), _parse_message(record, facts))


def _record_facts(record: Record, facts: TranscriptState) -> None:
    facts.session = facts.session or text_or_empty(record.get("sessionId"))[:200]
    facts.set_title(titles.SUMMARY_TITLE, text_or_empty(record.get("summary")))
    if record.get("kind") == "subagent":
        facts.is_child = True
    facts.extend_time_span(parse_time(record.get("startTime")))
    facts.extend_time_span(parse_time(record.get("lastUpdated")))


def _parse_messages(messages: Any, facts: TranscriptState) -> list[TranscriptEvent]:
    """The messages of a checkpoint or an old document, which have all of them at once."""
    events: list[TranscriptEvent] = []
    for message in list_records(messages):
        at = parse_time(message.get("timestamp"))
        facts.extend_time_span(at)
        events += [event._replace(at=at) for event in _parse_message(message, facts)]
    return events


def _parse_message(message: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    role = _ROLES.get(text_or_empty(message.get("type")), "")
    identity = text_or_empty(message.get("id"))[:64]
    words = join_text_blocks(message.get("content")).strip()
    if role == "user" and words.startswith(_SESSION_CONTEXT):
        role = "system"
    events: list[TranscriptEvent] = []
    if role and words and facts.remember_key(f"m {identity}", str(len(words))) != str(len(words)):
        events.append(Message(role, words))
        if role == "user":
            facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    facts.model = text_or_empty(message.get("model"))[:100] or facts.model
    if isinstance(tokens := message.get("tokens"), dict):
        cached = count_or_zero(tokens.get("cached"))
        input_tokens = max(0, count_or_zero(tokens.get("input")) - cached)
        facts.add_tokens(identity, TokenCounts(input_tokens, count_or_zero(tokens.get("output")), cached))
    for call in list_records(message.get("toolCalls")):
        events += _parse_call(call, facts)
    return events


def _parse_call(call: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    """A call is recorded again when it ends; start and end count once each."""
    identity, status = text_or_empty(call.get("id"))[:64], text_or_empty(call.get("status"))
    ended = status in ("success", "error", "cancelled")
    before = facts.remember_key(f"c {identity}", "ended" if ended else "begun")
    events: list[TranscriptEvent] = []
    if before is None:
        events.append(build_tool_call(identity, call.get("name"), call.get("args")))
    if ended and before != "ended" and status == "cancelled":
        events.append(build_tool_result(identity, "", False)._replace(denied=True))
    elif ended and before != "ended":
        output = extract_response_text(call.get("result")) or extract_response_text(call.get("resultDisplay"))
        is_command = bool(get_nested(call, "args", "command"))
        report = parse_command_report(identity, output) if is_command else None
        result = report or build_tool_result(identity, output)
        events.append(result._replace(failed=result.failed or status == "error"))
    return events


FORMAT = TranscriptFormat(
    AGENTS["gemini"].transcript_tool, _is_gemini_record, _parse_gemini_record, _HEAD_FIELDS
)
