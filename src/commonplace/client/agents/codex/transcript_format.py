"""Parses Codex rollouts, which record what the model was sent (response items) and what the person saw (events).

The same words are recorded in both ways; the second record is dropped.
"""

import hashlib
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
    decode_inner_json,
    get_nested,
    join_text_blocks,
    parse_exit_code,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.format import TranscriptFormat
from commonplace.transcripts.state import TokenCounts, TranscriptState

_split = str.split
_RECORD_TYPES = frozenset(
    _split(
        "session_meta response_item event_msg turn_context compacted world_state inter_agent_communication"
        " inter_agent_communication_metadata security_risk_score token_usage_record"
    )
)
_BARE_TYPES = frozenset(
    _split(
        "message function_call function_call_output reasoning local_shell_call custom_tool_call custom_tool_call_output"
    )
)
_INJECTED_PREFIXES = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "<permissions",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "<subagent_notification>",
    "# AGENTS.md",
    "<recommended_plugins>",
)
_CALL_TYPES = ("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call")
_RESULT_TYPES = ("function_call_output", "custom_tool_call_output", "tool_search_output")
_REFUSED_TEXTS = ("exec command rejected by user", "patch rejected by user")
_REQUEST_HEADING = "## My request for Codex:"
_ABORTED_TEXT = "aborted by user"
_REJECTED = "Rejected("
_SCRIPT_COMMAND = re.compile(
    r'tools\.exec_command\(\{\s*"?cmd"?\s*:\s*("(?:[^"\\]|\\.)*")(?:,\s*"?workdir"?\s*:\s*("(?:[^"\\]|\\.)*"))?'
)
_SCRIPT_PATCH = re.compile(r"\*\*\* Begin Patch.*?\*\*\* End Patch", re.DOTALL)
_FAILED_PATCH_TEXT = "apply_patch verification failed"


def _is_codex_record(record: Record) -> bool:
    kind = record.get("type")
    return (kind in _RECORD_TYPES and isinstance(record.get("payload"), dict)) or (
        kind in _BARE_TYPES and "message" not in record and "uuid" not in record
    )


def _parse_codex_record(record: Record, facts: TranscriptState) -> ParsedLine | None:
    kind = record.get("type")
    at = parse_time(record.get("timestamp"))
    payload = record.get("payload")
    if kind in _BARE_TYPES and payload is None:
        return ParsedLine(at, _parse_response_item(record, facts))
    if kind not in _RECORD_TYPES or not isinstance(payload, dict):
        return None
    if kind == "response_item":
        return ParsedLine(at, _parse_response_item(payload, facts))
    if kind == "event_msg":
        return ParsedLine(at, _parse_event_message(payload, facts))
    if kind == "session_meta":
        _record_session(payload, facts)
    elif kind == "turn_context":
        facts.model = text_or_empty(payload.get("model"))[:100] or facts.model
        facts.cwd = facts.cwd or text_or_empty(payload.get("cwd"))[:1000]
    elif kind == "compacted":
        facts.compactions += 1
        words = text_or_empty(payload.get("message"))
        return ParsedLine(at, [Message("summary", words)] if words else [])
    return ParsedLine(at, [])


def _record_session(payload: Record, facts: TranscriptState) -> None:
    """A forked file also has its parents' session_meta records; the first is its own."""
    if facts.session:
        return
    facts.session = text_or_empty(payload.get("session_id") or payload.get("id"))[:200]
    facts.cwd = text_or_empty(payload.get("cwd"))[:1000]
    facts.branch = text_or_empty(get_nested(payload, "git", "branch"))[:200]
    facts.is_child = isinstance(get_nested(payload, "source", "subagent"), dict | str)
    facts.extend_time_span(parse_time(payload.get("timestamp")))


def _parse_response_item(item: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    kind = item.get("type")
    if kind == "message":
        return _parse_message(item, facts)
    if kind == "agent_message":
        return _first_occurrence(
            "assistant",
            join_text_blocks(item.get("content")) or text_or_empty(item.get("message")),
            "item",
            facts,
        )
    if kind in _CALL_TYPES:
        facts.remember_key(f"call {text_or_empty(item.get('call_id') or item.get('id'))[:100]}")
        return [_parse_call(item)]
    if kind in _RESULT_TYPES:
        return _parse_result(item)
    return []


def _parse_message(item: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    words = join_text_blocks(item.get("content"))
    if item.get("role") == "assistant":
        return _first_occurrence("assistant", words, "item", facts)
    if item.get("role") == "user" and not words.lstrip().startswith(_INJECTED_PREFIXES):
        return _first_occurrence("user", words, "item", facts)
    return []


def _first_occurrence(role: str, words: str, source: str, facts: TranscriptState) -> list[TranscriptEvent]:
    words = words.strip()
    if role == "user":
        words = words.rpartition(_REQUEST_HEADING)[2].strip()
    if not words:
        return []
    key = f"{role} {hashlib.blake2b(words.encode(), digest_size=8).hexdigest()}"
    if facts.seen_keys.get(key, source) != source:
        del facts.seen_keys[key]
        return []
    facts.remember_key(key, source)
    if role == "user":
        facts.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message(role, words)]


def _parse_call(item: Record) -> TranscriptEvent:
    name = item.get("name") or str(item.get("type")).removesuffix("_call")
    arguments = decode_inner_json(item.get("arguments"))
    if arguments is None:
        arguments = item.get("action") or item.get("input")
    if name == "exec" and isinstance(arguments, str):
        arguments = _parse_script(arguments)
    return build_tool_call(item.get("call_id") or item.get("id"), name, arguments)


def _parse_script(script: str) -> Record:
    """What a script does: its only command, or the patch that it applies; a script of several commands names none."""
    commands = _SCRIPT_COMMAND.findall(script)
    if len(commands) == 1:
        command, folder = (decode_inner_json(f'{{"text": {text or chr(34) * 2}}}') for text in commands[0])
        return {"command": get_nested(command, "text"), "workdir": get_nested(folder, "text")}
    patch = _SCRIPT_PATCH.search(script)
    return {"command": patch[0].replace("\\n", "\n")} if patch else {"description": script[:300]}


def _parse_result(item: Record) -> list[TranscriptEvent]:
    """The result of a call; nothing for one that a person refused."""
    output = item.get("output")
    words = extract_response_text(output)
    if words.startswith(_ABORTED_TEXT):
        return []
    if words.startswith(_REFUSED_TEXTS) or (_REJECTED in words[:300] and "hook" not in words):
        return [build_tool_result(item.get("call_id"), words, False)._replace(denied=True)]
    unfit = get_nested(output, "success") is False or get_nested(output, "isError") is True
    failed = True if unfit or words.startswith(_FAILED_PATCH_TEXT) else None
    if words.startswith('{"output"'):
        within = decode_inner_json(words)
        code = parse_exit_code(get_nested(within, "metadata", "exit_code"))
        words = text_or_empty(get_nested(within, "output"))
        if code is not None:
            return [build_tool_result(item.get("call_id"), words, bool(code))._replace(exit_code=code)]
    return [build_tool_result(item.get("call_id"), words, failed)]


def _parse_event_message(payload: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    kind = payload.get("type")
    if kind == "user_message":
        return _first_occurrence("user", text_or_empty(payload.get("message")), "event", facts)
    if kind == "agent_message":
        return _first_occurrence("assistant", text_or_empty(payload.get("message")), "event", facts)
    if kind == "exec_command_end":
        return _parse_command(payload, facts)
    if kind == "item_completed":
        return _parse_completed(payload.get("item"), facts)
    if kind == "token_count":
        _count_tokens(get_nested(payload, "info", "total_token_usage"), facts)
    elif kind == "thread_name_updated":
        facts.set_title(titles.CUSTOM_TITLE, text_or_empty(payload.get("thread_name")))
    return []


def _parse_completed(item: Any, facts: TranscriptState) -> list[TranscriptEvent]:
    """An item of a turn, in the spelling of either version."""
    kind = text_or_empty(get_nested(item, "type")).replace("_", "").lower()
    if kind == "usermessage":
        return _first_occurrence("user", join_text_blocks(item.get("content")), "event", facts)
    if kind == "agentmessage":
        return _first_occurrence(
            "assistant",
            join_text_blocks(item.get("content")) or text_or_empty(item.get("text")),
            "event",
            facts,
        )
    if kind == "commandexecution":
        return _parse_command(item, facts)
    return []


def _parse_command(item: Record, facts: TranscriptState) -> list[TranscriptEvent]:
    """A command that a script ran has no call record; one that the model called was recorded already."""
    identity = text_or_empty(item.get("call_id") or item.get("id"))[:100]
    if not identity or facts.remember_key(f"ran {identity}") is not None:
        return []
    code = parse_exit_code(item.get("exit_code", item.get("exitCode")))
    output = text_or_empty(item.get("aggregated_output") or item.get("aggregatedOutput"))
    result = build_tool_result(identity, output, None if code is None else bool(code))
    if code is not None:
        result = result._replace(exit_code=code)
    if facts.remember_key(f"call {identity}") is not None:
        return [result]
    return [build_tool_call(identity, "exec_command", item), result]


def _count_tokens(usage: Any, facts: TranscriptState) -> None:
    """Codex reports the total of the session each time."""
    if isinstance(usage, dict):
        cached = count_or_zero(usage.get("cached_input_tokens"))
        input_tokens = max(0, count_or_zero(usage.get("input_tokens")) - cached)
        facts.add_tokens("", TokenCounts(input_tokens, count_or_zero(usage.get("output_tokens")), cached))


FORMAT = TranscriptFormat(AGENTS["codex"].transcript_tool, _is_codex_record, _parse_codex_record)
