"""How calls of a transcript ended, for hooks: the shell commands with their exit codes, and what a person denied."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from commonplace.client.agents import load_transcript_formats
from commonplace.journal.event import ToolCall, ToolResult
from commonplace.journal.json_record import decode_record
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
        for event in parsed.events if parsed else ():
            if isinstance(event, ToolCall):
                calls[event.id] = event
            elif isinstance(event, ToolResult) and event.denied and (call := calls.pop(event.id, None)):
                yield DeniedCall(call.command, "".join(call.paths[:1]), state.cwd)
