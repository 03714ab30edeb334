"""Parses Qwen Code chats: one record per prompt, turn of the model, tool result and event of the program."""

from typing import Any

from commonplace.client.agents import ARCHIVED_PROGRAMS
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
    list_records,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TokenCounts, TranscriptState

_TYPES = ("user", "assistant", "tool_result", "system")
_SHELL_TOOL = "run_shell_command"
_START = "start"


def _is_qwen_record(record: Record) -> bool:
    if record.get("type") not in _TYPES or "uuid" not in record or "sessionId" not in record:
        return False
    return "systemPayload" in record or isinstance(get_nested(record, "message", "parts"), list)


def _parse_qwen_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    kind = record.get("type")
    if kind not in _TYPES:
        return None
    if facts.is_child is None:
        facts.is_child = record.get("isSidechain") is True
    facts.session = facts.session or text_or_empty(record.get("sessionId"))[:200]
    facts.cwd = facts.cwd or text_or_empty(record.get("cwd"))[:1000]
    facts.branch = text_or_empty(record.get("gitBranch"))[:200] or facts.branch
    parts = list_records(get_nested(record, "message", "parts"))
    if kind == "system":
        events = _parse_system(record, facts)
    elif kind == "user":
        events = _parse_prompt(record, parts, facts)
    elif kind == "assistant":
        events = _parse_turn(record, parts, facts)
    else:
        events = _parse_results(record, parts)
    return ParsedLine(parse_time(record.get("timestamp")), events)


def _parse_system(record: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    payload, subtype = record.get("systemPayload"), record.get("subtype")
    if subtype == "custom_title":
        is_generated = get_nested(payload, "titleSource") == "auto"
        rank = titles.GENERATED_TITLE if is_generated else titles.CUSTOM_TITLE
        facts.set_title(rank, text_or_empty(get_nested(payload, "customTitle")))
    elif subtype == "rewind":
        facts.abandon_since_prompt(_parent_key(record))
    elif subtype == "chat_compression":
        facts.compactions += 1
        first = next(iter(list_records(get_nested(payload, "compressedHistory"))), {})
        return [Message("summary", _join_words(list_records(first.get("parts"))))]
    return []


def _parse_prompt(record: Record, parts: list[Record], facts: TranscriptState) -> list[TranscriptEvent]:
    """Words that a timer or another agent sent are not a person's."""
    words = _join_words(parts).strip()
    if not words:
        return []
    if record.get("subtype") or record.get("externalInputKind"):
        return [Message("system", words)]
    facts.record_prompt(_parent_key(record))
    facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message("user", words)]


def _parent_key(record: Record) -> str:
    """A rewind continues from the record before the prompt that it takes back."""
    return text_or_empty(record.get("parentUuid"))[:64] or _START


def _parse_turn(record: Record, parts: list[Record], facts: TranscriptState) -> list[TranscriptEvent]:
    facts.model = text_or_empty(record.get("model"))[:100] or facts.model
    if isinstance(usage := record.get("usageMetadata"), dict):
        cached = count_or_zero(usage.get("cachedContentTokenCount"))
        fresh = max(0, count_or_zero(usage.get("promptTokenCount")) - cached)
        counts = TokenCounts(fresh, count_or_zero(usage.get("candidatesTokenCount")), cached)
        facts.add_tokens(text_or_empty(record.get("uuid"))[:64], counts)
    events: list[TranscriptEvent] = []
    for part in parts:
        if isinstance(call := part.get("functionCall"), dict):
            events.append(build_tool_call(call.get("id"), call.get("name"), call.get("args")))
        elif words := _join_words([part]):
            events.append(Message("assistant", words))
    return events


def _parse_results(record: Record, parts: list[Record]) -> list[TranscriptEvent]:
    """A call that a person cancelled has no result."""
    status = get_nested(record, "toolCallResult", "status")
    if status == "cancelled":
        return []
    responses = [part["functionResponse"] for part in parts if isinstance(part.get("functionResponse"), dict)]
    return [_parse_response(response, status) for response in responses]


def _parse_response(response: Record, status: Any) -> TranscriptEvent:
    identity, output = text_or_empty(response.get("id")), extract_response_text(response.get("response"))
    report = parse_command_report(identity[:100], output) if response.get("name") == _SHELL_TOOL else None
    result = report or build_tool_result(identity, output)
    failed = status == "error" or bool(get_nested(response, "response", "error"))
    return result._replace(failed=result.failed or failed)


def _join_words(parts: list[Record]) -> str:
    """The text of the parts, without what the model only thought."""
    texts = (text_or_empty(part.get("text")) for part in parts if part.get("thought") is not True)
    return "\n".join(text for text in texts if text)


FORMAT = TranscriptFormat(ARCHIVED_PROGRAMS["qwen"].transcript_tool, _is_qwen_record, _parse_qwen_record)
