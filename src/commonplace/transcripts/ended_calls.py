"""How calls of a transcript ended, for hooks: the shell commands with their exit codes, and what a person denied."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from commonplace.client.agents import AGENTS, load_transcript_formats
from commonplace.transcripts.event import ToolCall, ToolResult, extract_response_text
from commonplace.transcripts.json_record import Record, decode_record, get_nested, list_records, text_or_empty
from commonplace.transcripts.state import TranscriptState


class CommandResult(NamedTuple):
    command: str
    exit_code: int | None
    at: int | None
    """Microseconds since 1970."""


def list_command_results(lines: Sequence[bytes], tool: str) -> Iterator[CommandResult]:
    """`tool` names the program that wrote the lines; the first of them may be incomplete."""
    parse_record = next(
        (parser.parse_record for parser in load_transcript_formats() if parser.name == tool), None
    )
    state, commands = TranscriptState(tool_hint=tool), dict[str, str]()
    for line in lines:
        record = decode_record(line) if parse_record else None
        parsed = parse_record(record, state) if parse_record and record else None
        for event in parsed.events if parsed else ():
            if isinstance(event, ToolCall) and event.command:
                commands[event.id] = event.command
            elif isinstance(event, ToolResult) and event.id in commands:
                yield CommandResult(
                    commands[event.id], event.exit_code, event.at or (parsed.at if parsed else None)
                )


_CLAUDE_PREFIX = "The user doesn't want to"
_CODEX_TEXTS = ("exec command rejected by user", "patch rejected by user")
_CODEX_MARK = "Rejected("
_COPILOT_CODES = ("denied", "rejected")
_HOOK_WORDS = "hook"


class DeniedCall(NamedTuple):
    command: str
    path: str
    cwd: str


def list_denied_calls(lines: Iterable[bytes], tool: str) -> Iterator[DeniedCall]:
    """`tool` is the name of the program in archives, such as `claude-code`."""
    parser = next((parser for parser in load_transcript_formats() if parser.name == tool), None)
    state, calls = TranscriptState(tool_hint=tool), dict[str, ToolCall]()
    for line in lines if parser else ():
        record = decode_record(line)
        parsed = parser.parse_record(record, state) if parser and record else None
        calls |= {
            event.id: event for event in (parsed.events if parsed else ()) if isinstance(event, ToolCall)
        }
        for identity in _list_refused_ids(record, tool) if record else ():
            if call := calls.pop(identity, None):
                yield DeniedCall(call.command, "".join(call.paths[:1]), state.cwd)


def _list_refused_ids(record: Record, tool: str) -> Iterator[str]:
    reader = _READERS.get(tool)
    return reader(record) if reader else iter(())


def _list_claude_ids(record: Record) -> Iterator[str]:
    for block in list_records(get_nested(record, "message", "content")):
        is_result = block.get("type") == "tool_result" and block.get("is_error") is True
        if is_result and extract_response_text(block.get("content")).startswith(_CLAUDE_PREFIX):
            yield text_or_empty(block.get("tool_use_id"))


def _list_codex_ids(record: Record) -> Iterator[str]:
    words = extract_response_text(get_nested(record, "payload", "output"))
    if words.startswith(_CODEX_TEXTS) or (_CODEX_MARK in words[:300] and _HOOK_WORDS not in words):
        yield text_or_empty(get_nested(record, "payload", "call_id"))


def _list_gemini_ids(record: Record) -> Iterator[str]:
    for call in list_records(record.get("toolCalls")):
        if call.get("status") == "cancelled":
            yield text_or_empty(call.get("id"))[:64]


def _list_copilot_ids(record: Record) -> Iterator[str]:
    error = get_nested(record, "data", "error")
    is_denied = get_nested(error, "code") in _COPILOT_CODES
    if is_denied and _HOOK_WORDS not in text_or_empty(get_nested(error, "message")):
        yield text_or_empty(get_nested(record, "data", "toolCallId"))


_READERS: dict[str, Callable[[Record], Iterator[str]]] = {
    AGENTS["claude"].transcript_tool: _list_claude_ids,
    AGENTS["codex"].transcript_tool: _list_codex_ids,
    AGENTS["gemini"].transcript_tool: _list_gemini_ids,
    AGENTS["copilot"].transcript_tool: _list_copilot_ids,
}
