"""The shell commands of a transcript and how each ended; for the hooks, which look at its end only."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commonplace.client.agents import load_transcript_formats
from commonplace.transcripts.json_record import decode_record
from commonplace.transcripts.transcript_event import ToolCall, ToolResult
from commonplace.transcripts.transcript_state import TranscriptState


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
