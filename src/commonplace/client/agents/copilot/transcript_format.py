"""Parses Copilot CLI's events: one per line, those of sub-agents with an `agentId`.

Hooks, system prompts and copies of the messages for the model are events too; they have nothing that a person or the
model said.
"""

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
    parse_exit_code,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TokenCounts, TranscriptState

_TYPE_PREFIXES = (
    "session.",
    "user.",
    "assistant.",
    "tool.",
    "subagent.",
    "hook.",
    "system.",
    "model.",
    "permission.",
    "skill.",
)
_DENIED_CODES = ("denied", "rejected")
_SHELL_TRAILER = re.compile(r"\n?<shellId: [^>\n]{1,100}>\s*\Z")


def _is_copilot_record(record: Record) -> bool:
    return isinstance(record.get("data"), dict) and text_or_empty(record.get("type")).startswith(
        _TYPE_PREFIXES
    )


def _parse_copilot_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    data = record.get("data")
    if not isinstance(data, dict) or not _is_copilot_record(record):
        return None
    agent = text_or_empty(record.get("agentId"))
    events = _parse_data(text_or_empty(record.get("type")), data, agent, facts)
    if record.get("type") == "session.usage_record":
        _count_tokens(text_or_empty(record.get("id")), data.get("usage"), facts)
    return ParsedLine(parse_time(record.get("timestamp")), events, aside=bool(agent))


def _parse_data(kind: str, data: Record, agent: str, facts: TranscriptState) -> list[TranscriptEvent]:
    if kind == "user.message":
        return _parse_prompt(data, agent, facts)
    if kind == "assistant.message":
        words = text_or_empty(data.get("content"))
        return [Message("assistant", words)] if words else []
    if kind == "tool.execution_start":
        return [build_tool_call(_call_id(data, agent), data.get("toolName"), data.get("arguments"))]
    if kind == "tool.execution_complete":
        return _parse_result(data, agent)
    if kind == "session.compaction_complete":
        return _parse_compaction(data, agent, facts)
    if kind in ("session.start", "session.resume"):
        _record_session(data, facts)
    return []


def _record_session(data: Record, facts: TranscriptState) -> None:
    context = data.get("context")
    facts.session = facts.session or text_or_empty(data.get("sessionId"))[:200]
    facts.model = text_or_empty(data.get("selectedModel"))[:100] or facts.model
    facts.cwd = facts.cwd or text_or_empty(get_nested(context, "cwd"))[:1000]
    facts.branch = text_or_empty(get_nested(context, "branch"))[:200] or facts.branch


def _parse_prompt(data: Record, agent: str, facts: TranscriptState) -> list[TranscriptEvent]:
    """`content` is what was typed; `transformedContent` also has what hooks and the program added."""
    words = text_or_empty(data.get("content")).strip()
    if not words:
        return []
    if text_or_empty(data.get("source")) not in ("", "user"):
        return [Message("system", words)]
    if not agent:
        facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message("user", words)]


def _parse_result(data: Record, agent: str) -> list[TranscriptEvent]:
    """The result of a call; nothing for one that a hook denied."""
    error = data.get("error")
    if get_nested(error, "code") in _DENIED_CODES:
        words = text_or_empty(get_nested(error, "message"))
        refused = build_tool_result(_call_id(data, agent), words, False)._replace(denied=True)
        return [] if "hook" in words else [refused]
    if data.get("success") is not True:
        words = text_or_empty(get_nested(error, "message"))
        return [build_tool_result(_call_id(data, agent), words, True)]
    output = _SHELL_TRAILER.sub("", extract_response_text(data.get("result")))
    code = parse_exit_code(get_nested(data, "shellExecution", "exitCode"))
    result = build_tool_result(_call_id(data, agent), output, bool(code))
    return [result if code is None else result._replace(exit_code=code)]


def _call_id(data: Record, agent: str) -> str:
    """Models count their calls, so the same id may occur in the session and in its sub-agents."""
    return f"{agent}{text_or_empty(data.get('toolCallId'))}"


def _parse_compaction(data: Record, agent: str, facts: TranscriptState) -> list[TranscriptEvent]:
    if data.get("success") is not True:
        return []
    facts.compactions += not agent
    words = text_or_empty(data.get("summaryContent"))
    return [Message("summary", words)] if words else []


def _count_tokens(identity: str, usage: Any, facts: TranscriptState) -> None:
    if isinstance(usage, dict):
        cached = count_or_zero(usage.get("cacheReadTokens"))
        input_tokens = max(0, count_or_zero(usage.get("inputTokens")) - cached)
        counts = TokenCounts(input_tokens, count_or_zero(usage.get("outputTokens")), cached)
        facts.add_tokens(identity[:80], counts)


FORMAT = TranscriptFormat(AGENTS["copilot"].transcript_tool, _is_copilot_record, _parse_copilot_record)
