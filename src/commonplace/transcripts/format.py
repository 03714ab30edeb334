"""What a parser of one transcript format consists of, and the plain format: JSON lines of role and content.

The parsers of agent programs are in `client/agents/<agent>/transcript_format.py`; `reader.py` finds the format of a
transcript and calls its parser.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

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
    decode_inner_json,
    get_nested,
    join_text_blocks,
    list_records,
    parse_time,
    text_or_empty,
)
from commonplace.transcripts import state as titles
from commonplace.transcripts.state import TranscriptState


class TranscriptFormat(NamedTuple):
    name: str
    is_own_record: Callable[[Record], bool]
    """Whether a line, decoded, is of this format."""
    parse_record: Callable[[Record, TranscriptState], ParsedLine | None]
    """The contents of a line; None for a record type that the parser does not know."""
    document_fields: frozenset[str] = frozenset()
    """Fields of the head by which a transcript of this format is known that is one JSON document over many lines; its
    records are then the fields of the head and the messages."""


_ROLE_NAMES = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "model": "assistant",
    "ai": "assistant",
}
_TIME_NAMES = ("timestamp", "created_at", "time", "at")


def _is_own_record(record: Record) -> bool:
    return isinstance(record.get("role"), str) and bool(
        record.keys() & {"content", "tool_calls", "text", "parts"}
    )


def _parse_record(record: Record, state: TranscriptState) -> ParsedLine | None:
    role = text_or_empty(record.get("role"))
    content: Any = next((record[name] for name in ("content", "parts", "text") if record.get(name)), None)
    at = next((time for name in _TIME_NAMES if (time := parse_time(record.get(name))) is not None), None)
    state.model = text_or_empty(record.get("model"))[:100] or state.model
    if role in ("tool", "function"):
        return ParsedLine(
            at,
            [
                build_tool_result(
                    record.get("tool_call_id") or record.get("name"), extract_response_text(content)
                )
            ],
        )
    if role not in _ROLE_NAMES:
        return ParsedLine(at, []) if role in ("system", "developer") else None
    return ParsedLine(
        at,
        [
            *_parse_message(_ROLE_NAMES[role], join_text_blocks(content), state),
            *_parse_calls(record, content),
        ],
    )


def _parse_message(role: str, words: str, state: TranscriptState) -> list[TranscriptEvent]:
    if role == "user" and words.strip():
        state.set_title(titles.FIRST_PROMPT_TITLE, words, keep=True)
    return [Message(role, words)] if words.strip() else []


def _parse_calls(record: Record, content: Any) -> list[TranscriptEvent]:
    """Calls are next to the content (OpenAI) or inside it (Anthropic)."""
    events: list[TranscriptEvent] = [
        build_tool_call(
            call.get("id"),
            get_nested(call, "function", "name"),
            decode_inner_json(get_nested(call, "function", "arguments")),
        )
        for call in list_records(record.get("tool_calls"))
    ]
    for block in list_records(content):
        if block.get("type") == "tool_use":
            events.append(build_tool_call(block.get("id"), block.get("name"), block.get("input")))
        elif block.get("type") == "tool_result":
            failed = block.get("is_error") is True
            events.append(
                build_tool_result(
                    block.get("tool_use_id"), extract_response_text(block.get("content")), failed
                )
            )
    return events


PLAIN_FORMAT = TranscriptFormat("plain", _is_own_record, _parse_record)
