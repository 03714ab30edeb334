"""Parses Pi's sessions: one line per message; tool calls are blocks of the assistant's, results are messages."""

from commonplace.client.agents import ARCHIVED_PROGRAMS
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
    parse_dollars,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TokenCounts, TranscriptState

_OWN_TYPES = ("session", "model_change", "thinking_level_change")
_TYPES = frozenset(
    {
        *_OWN_TYPES,
        "message",
        "compaction",
        "branch_summary",
        "session_info",
        "label",
        "custom",
        "custom_message",
    }
)
_COMMAND_TOOL = "bash"


def _is_pi_record(record: Record) -> bool:
    kind = record.get("type")
    if kind == "session":
        return "cwd" in record and "timestamp" in record and "id" in record
    is_message = kind == "message" and "parentId" in record and isinstance(record.get("message"), dict)
    return is_message or (kind in _OWN_TYPES and "parentId" in record)


def _parse_pi_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    kind, at = record.get("type"), parse_time(record.get("timestamp"))
    if kind not in _TYPES:
        return None
    if kind == "session":
        facts.session = facts.session or text_or_empty(record.get("id"))[:200]
        facts.cwd = facts.cwd or text_or_empty(record.get("cwd"))[:1000]
        facts.is_child = bool(record.get("parentSession"))
    elif kind == "model_change":
        facts.model = text_or_empty(record.get("modelId"))[:100] or facts.model
    elif kind == "session_info":
        facts.set_title(titles.CUSTOM_TITLE, text_or_empty(record.get("name")))
    elif kind == "compaction":
        facts.compactions += 1
        return ParsedLine(at, [Message("summary", text_or_empty(record.get("summary")))])
    message = record.get("message")
    return ParsedLine(at, _parse_message(message, facts) if isinstance(message, dict) else [])


def _parse_message(message: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    role, content = message.get("role"), message.get("content")
    words = join_text_blocks(content).strip()
    if role == "user" and words:
        facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
        return [Message("user", words)]
    if role == "toolResult":
        output, failed = extract_response_text(content), message.get("isError") is True
        result = build_tool_result(message.get("toolCallId"), output, None if failed else False)
        return [result._replace(failed=failed)]
    if role == "bashExecution":
        call = build_tool_call("", _COMMAND_TOOL, message)
        code = count_or_zero(message.get("exitCode"))
        output = text_or_empty(message.get("output"))
        return [call, build_tool_result("", output, bool(code))._replace(exit_code=code)]
    if role != "assistant":
        return []
    _count_tokens(message, facts)
    calls = [
        build_tool_call(block.get("id"), block.get("name"), block.get("arguments"))
        for block in list_records(content)
        if block.get("type") == "toolCall"
    ]
    return [*([Message("assistant", words)] if words else []), *calls]


def _count_tokens(message: Record, facts: TranscriptState) -> None:
    facts.model = text_or_empty(message.get("model"))[:100] or facts.model
    if isinstance(usage := message.get("usage"), dict):
        fresh, cached = count_or_zero(usage.get("input")), count_or_zero(usage.get("cacheRead"))
        cost = parse_dollars(get_nested(usage, "cost", "total"))
        identity = text_or_empty(message.get("responseId"))[:80]
        facts.add_tokens(identity, TokenCounts(fresh, count_or_zero(usage.get("output")), cached, cost))


FORMAT = TranscriptFormat(ARCHIVED_PROGRAMS["pi"].transcript_tool, _is_pi_record, _parse_pi_record)
