"""Read a transcript batch by batch; `build_summary` describes what has been read so far.

The state between two batches can be encoded and stored, so that a growing transcript is never read twice.
"""

import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Sequence

import msgspec

from commonplace.client.agents import load_transcript_formats
from commonplace.journal.event import Message, ParsedLine, ToolCall, TranscriptEvent
from commonplace.journal.json_record import decode_record
from commonplace.journal.model import Journal, LoggedCommand, LoggedCommit, LoggedError, TouchedFile
from commonplace.journal.record import JournalRecorder
from commonplace.transcripts.boot_echo import ECHO_TEXT, find_session_id, remove_boot_echo
from commonplace.transcripts.document import read_document_line
from commonplace.transcripts.format import PLAIN_FORMAT
from commonplace.transcripts.state import TranscriptState

PARSER_VERSION = 6
"""A state made by another version is discarded, and its transcript is read again."""

_FORMATS = {parser.name: parser for parser in (*load_transcript_formats(), PLAIN_FORMAT)}
_DOCUMENT = "-document"
_ERROR_CHARACTERS = 300
# A short output tells what happened, a long one is data.
_SHORT_OUTPUT_CHARACTERS = 300
_PROMPT_CHARACTERS = 2_000
_MAX_STATE_BYTES = 8_000_000


class OutdatedState(ValueError):
    """The state was made by another version of the parsers."""


class Utterance(msgspec.Struct, frozen=True):
    """`role` is user, assistant, summary (the result of a compaction), tool (a call), error (of a failed call), output
    (of a command) or system. `abandoned`: an edited prompt or a rewind replaced it later; only a reader for pages knows that."""

    line: int
    role: str
    text: str
    at: int | None = None
    tool: str = ""
    abandoned: bool = False


class TranscriptSummary(msgspec.Struct, frozen=True):
    format: str
    title: str
    session: str
    started_at: int | None
    ended_at: int | None
    cwd: str
    branch: str
    model: str
    lines: int
    skipped_lines: int
    user_messages: int
    assistant_messages: int
    tool_calls: int
    tools: dict[str, int]
    compactions: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    is_child: bool
    files: list[TouchedFile]
    commands: list[LoggedCommand]
    errors: list[LoggedError]
    commits: list[LoggedCommit]
    last_prompt: str


class TranscriptReader:
    """`tool` is a hint at the agent program that wrote the transcript; the lines themselves decide. Short outputs of
    commands are read on request, for the index."""

    def __init__(self, state: bytes = b"", tool: str = "", *, with_outputs: bool = False) -> None:
        self._with_outputs = with_outputs
        self._state = _decode_state(state) if state else TranscriptState(tool_hint=tool[:100])
        self._recorder = JournalRecorder(self._state.journal)
        self._abandoned: Sequence[tuple[int, int]] = ()
        self.session_id = ""
        """The session of memory_start_session that the lines read so far act in; a secret, so not in the state."""

    @classmethod
    def for_pages(cls, state: bytes) -> "TranscriptReader":
        """A reader for any page of a transcript that was read before: it knows the format and what was abandoned."""
        studied = _decode_state(state)
        reader = cls(tool=studied.tool_hint)
        reader._state.format, reader._state.is_child = studied.format, studied.is_child
        reader._abandoned = studied.abandoned_spans
        return reader

    @property
    def is_paged(self) -> bool:
        """Whether a page can be read without the lines before it. False if the transcript is one JSON document."""
        return not self._state.format.endswith(_DOCUMENT)

    def read(self, first_line: int, lines: Iterable[bytes]) -> list[Utterance]:
        utterances: list[Utterance] = []
        for number, line in enumerate(lines, first_line):
            self._state.current_line = number
            if not line.strip():
                self._state.lines += 1
                continue
            parsed = self._parse_line(line if number else line.removeprefix(BOM_UTF8))
            self._state.lines += 1
            if parsed is None:
                self._state.skipped_lines += 1
                continue
            self._state.extend_time_span(parsed.at)
            journal = self._state.journal
            journal.cwd, journal.branch = self._state.cwd, self._state.branch
            journal.compactions = self._state.compactions
            if not parsed.aside:
                self.session_id = find_session_id(line) or self.session_id
            for event in parsed.events:
                heard = self._apply_event(number, parsed, event)
                utterances += [] if parsed.aside else map(self._mark_abandoned, heard)
        return utterances

    def encode_state(self) -> bytes:
        return bytes([PARSER_VERSION]) + zlib.compress(msgspec.msgpack.encode(self._state), 1)

    def take_changed_errors(self) -> tuple[list[LoggedError], list[str]]:
        """The errors that occurred or were fixed since the last call, and the fingerprints of dropped errors."""
        log = self._state.journal
        changed, log.changed_errors = log.changed_errors, {}
        kept = [log.errors[fingerprint] for fingerprint in changed if fingerprint in log.errors]
        return kept, [fingerprint for fingerprint in changed if fingerprint not in log.errors]

    @property
    def journal(self) -> Journal:
        return self._state.journal

    def build_summary(self) -> TranscriptSummary:
        state, log = self._state, self._state.journal
        return TranscriptSummary(
            state.format.removesuffix(_DOCUMENT),
            next((title for title in state.titles if title), ""),
            state.session,
            state.started_at,
            state.ended_at,
            state.cwd,
            state.branch,
            state.model,
            state.lines,
            state.skipped_lines,
            state.messages_by_role.get("user", 0),
            state.messages_by_role.get("assistant", 0),
            state.messages_by_role.get("tool", 0),
            dict(sorted(state.tools.items(), key=lambda pair: (-pair[1], pair[0]))),
            state.compactions,
            state.tokens.input,
            state.tokens.output,
            state.tokens.cached,
            bool(state.is_child),
            sorted(log.files.values(), key=lambda file: (-file.edits, -file.reads, file.path)),
            sorted(
                log.commands.values(), key=lambda command: (-command.failures, -command.runs, command.line)
            ),
            sorted(log.errors.values(), key=lambda error: (not error.fixed_line, -error.times, error.line)),
            log.commits,
            state.last_prompt,
        )

    def _parse_line(self, line: bytes) -> ParsedLine | None:
        state = self._state
        if state.lines == 0 and line.strip() == b"{":
            state.format, state.depth = _DOCUMENT, 1
            return ParsedLine(None, [])
        if state.format.endswith(_DOCUMENT):
            return self._parse_document_line(line)
        record = decode_record(line)
        if record is None or not all(isinstance(record.get(name, ""), str) for name in ("type", "role")):
            return None
        if not state.format:
            names = _order_formats(state.tool_hint)
            state.format = next((name for name in names if _FORMATS[name].is_own_record(record)), "")
        if not state.format:
            return None
        return _FORMATS[state.format].parse_record(record, state)

    def _parse_document_line(self, line: bytes) -> ParsedLine | None:
        state = self._state
        record, is_part = read_document_line(line, state)
        if record is None:
            return ParsedLine(None, []) if is_part else None
        if state.format == _DOCUMENT:
            formats = [(name, parser) for name, parser in _FORMATS.items() if parser.document_fields]
            known = (name for name, parser in formats if parser.document_fields & record.keys())
            state.format = next(known, formats[0][0] if state.document_list else "") + _DOCUMENT
        parser = _FORMATS.get(state.format.removesuffix(_DOCUMENT))
        return parser.parse_record(record, state) if parser else None

    def _mark_abandoned(self, utterance: Utterance) -> Utterance:
        if any(first <= utterance.line < end for first, end in self._abandoned):
            return msgspec.structs.replace(utterance, abandoned=True)
        return utterance

    def _apply_event(self, line: int, parsed: ParsedLine, event: TranscriptEvent) -> list[Utterance]:
        state, at = self._state, event.at or parsed.at
        if isinstance(event, Message):
            return self._apply_message(event, line, at, counts=not parsed.aside)
        if isinstance(event, ToolCall):
            state.count_message("tool")
            state.count_tool(event.tool)
            self._recorder.add_call(event, at)
            return [Utterance(line, "tool", event.text, at, event.tool)]
        result = event._replace(output=remove_boot_echo(event.output)) if event.failed else event
        is_command = self._recorder.is_command(result.id)
        tool, errors = self._recorder.add_result(result, line, at)
        if errors:
            text = "\n".join(error.text for error in errors)[:_ERROR_CHARACTERS]
            return [Utterance(line, "error", text, at, tool)]
        is_short = len(result.output) <= _SHORT_OUTPUT_CHARACTERS
        if not (self._with_outputs and is_command and is_short and result.output.strip()):
            return []
        return [Utterance(line, "output", result.output, at, tool)]

    def _apply_message(self, message: Message, line: int, at: int | None, *, counts: bool) -> list[Utterance]:
        said = remove_boot_echo(message.text)
        echo = [] if said == message.text else [Utterance(line, "system", ECHO_TEXT, at)]
        if not said.strip():
            return echo
        if counts:
            self._state.count_message(message.role)
        if counts and message.role == "user":
            self._state.last_prompt = said[:_PROMPT_CHARACTERS]
            self._recorder.add_prompt(said, line, at)
        elif counts and message.role == "assistant":
            self._recorder.add_words(said, line, at)
        return [*echo, Utterance(line, message.role, said, at)]


def is_current_state(state: bytes) -> bool:
    return state[:1] == bytes([PARSER_VERSION])


def _decode_state(state: bytes) -> TranscriptState:
    if not is_current_state(state):
        raise OutdatedState
    unpacked = zlib.decompressobj().decompress(state[1:], _MAX_STATE_BYTES)
    return msgspec.msgpack.decode(unpacked, type=TranscriptState)


def _order_formats(hint: str) -> list[str]:
    """The hinted format first, because a line may fit two formats."""
    hinted = next((name for name in _FORMATS if hint and hint.split("-", maxsplit=1)[0] in name), "")
    return sorted(_FORMATS, key=lambda name: name != hinted)
