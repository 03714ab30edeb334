"""Study the lines of a session as they arrive: parse them, group them into passages, collect the errors.

This runs before the transaction; `rooms/archives/study_store.py` saves the result inside of it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from commonplace import zstd
from commonplace.journal.json_record import decode_record
from commonplace.journal.model import Journal, LoggedError
from commonplace.masking.transcript_lines import mask_lines_for_reading
from commonplace.search import text
from commonplace.shortening import ELLIPSIS
from commonplace.transcripts import reader
from commonplace.transcripts.reader import TranscriptReader, TranscriptSummary, Utterance

MAX_PASSAGE_CHARACTERS = 3000
_INDEXED_ROLES = ("user", "assistant", "summary", "tool", "output")
_TOOL_CALL_CHARACTERS = 120
_UTTERANCE_CHARACTERS = 24_000
_PROMPT_CHARACTERS = 600
_MIN_PROMPT_TOKENS = 3


class PassagePiece(msgspec.Struct, array_like=True, frozen=True):
    line: int
    role: str
    at: int | None
    text: str


class SessionPassage(msgspec.Struct, array_like=True, frozen=True):
    number: int
    pieces: list[PassagePiece]

    @property
    def text(self) -> str:
        return "\n".join(piece.text for piece in self.pieces)

    @property
    def at(self) -> int | None:
        return next((piece.at for piece in self.pieces if piece.at is not None), None)

    @property
    def is_full(self) -> bool:
        return sum(len(piece.text) for piece in self.pieces) >= MAX_PASSAGE_CHARACTERS // 2


def append_utterances(
    last: SessionPassage | None, next_number: int, utterances: Iterable[Utterance]
) -> list[SessionPassage]:
    """The passages of these utterances; the first of them continues `last`, which is not full."""
    number, pieces = (last.number, list(last.pieces)) if last else (next_number, [])
    passages: list[SessionPassage] = []
    size = sum(len(piece.text) for piece in pieces)
    for piece in _split_utterances(utterances):
        if pieces and size + len(piece.text) > MAX_PASSAGE_CHARACTERS:
            passages.append(SessionPassage(number, pieces))
            number, pieces, size = number + 1, [], 0
        pieces.append(piece)
        size += len(piece.text)
    return [*passages, SessionPassage(number, pieces)] if pieces else passages


def list_prompts(utterances: Iterable[Utterance]) -> list[PassagePiece]:
    """The beginnings of what the person asked for: they tell best what a session was about."""
    return [
        PassagePiece(utterance.line, utterance.role, utterance.at, utterance.text[:_PROMPT_CHARACTERS])
        for utterance in utterances
        if utterance.role == "user" and len(text.tokenize(utterance.text)) >= _MIN_PROMPT_TOKENS
    ]


def _split_utterances(utterances: Iterable[Utterance]) -> Iterable[PassagePiece]:
    for utterance in utterances:
        if utterance.role not in _INDEXED_ROLES:
            continue
        words = (
            f"{utterance.tool} {utterance.text}"[:_TOOL_CALL_CHARACTERS]
            if utterance.role == "tool"
            else utterance.text[:_UTTERANCE_CHARACTERS]
        )
        for part in text.split_passages(words, MAX_PASSAGE_CHARACTERS):
            if part:
                yield PassagePiece(utterance.line, utterance.role, utterance.at, part)


def pack_pieces(pieces: Sequence[PassagePiece]) -> bytes:
    return zstd.compress(msgspec.msgpack.encode(pieces), level=3)


def unpack_passage(body: bytes) -> list[PassagePiece]:
    return msgspec.msgpack.decode(zstd.decompress(body), type=list[PassagePiece])


def find_best_piece(pieces: Sequence[PassagePiece], query_tokens: set[str]) -> PassagePiece:
    """The piece with the most query tokens; on a tie, not a tool call."""
    return max(
        pieces, key=lambda piece: (_count_shared_tokens(piece.text, query_tokens), piece.role != "tool")
    )


def find_best_snippet(words: str, query_tokens: set[str], max_characters: int) -> str:
    """The part of a text with the most query tokens; an ellipsis marks where it is cut."""
    if len(words) <= max_characters:
        return words
    parts = text.split_passages(words, max_characters - 2 * len(ELLIPSIS))
    best = max(parts, key=lambda part: _count_shared_tokens(part, query_tokens))
    return f"{'' if best == parts[0] else ELLIPSIS}{best}{'' if best == parts[-1] else ELLIPSIS}"


def _count_shared_tokens(words: str, query_tokens: set[str]) -> int:
    return len(query_tokens & set(text.tokenize(words)))


STUDY_VERSION = 100 * reader.PARSER_VERSION + 4
"""Version of the parsers and of the passages made from what they read. A session of another version is studied again."""


class StudyProgress(msgspec.Struct, array_like=True):
    """How far a session has been studied; encoded, it is the state that the store keeps."""

    lines: int = 0
    passages: int = 0
    last_passage: SessionPassage | None = None
    reader: bytes = b""


@dataclass(frozen=True, slots=True)
class StudyResult:
    """What lines from number `first_line` on contain. Without a state they were not studied, because the lines before
    them have not been studied yet."""

    first_line: int
    lines: int = 0
    state: bytes = b""
    summary: TranscriptSummary | None = None
    passages: Sequence[tuple[SessionPassage, bytes, Counter[str]]] = ()
    prompts: Sequence[tuple[PassagePiece, bytes, Counter[str]]] = ()
    errors: Sequence[tuple[LoggedError, Counter[str]]] = ()
    dropped_fingerprints: Sequence[str] = ()
    journal: Journal | None = None
    """What the session did so far; none for a sub-agent, whose work is its parent's."""
    session_id: str = ""
    """The session of memory_start_session that these lines show, if they do."""


def decode_progress(state: bytes) -> StudyProgress:
    return msgspec.msgpack.decode(state, type=StudyProgress) if state else StudyProgress()


def study_lines(state: bytes, tool: str, first_line: int, lines: bytes) -> StudyResult:
    """Parse these lines (without the last newline), which continue the studied ones, without their secrets. Slow: run it in a thread."""
    before = decode_progress(state)
    if before.lines != first_line:
        return StudyResult(first_line)
    transcript = TranscriptReader(before.reader, tool, with_outputs=True)
    utterances = transcript.read(first_line, mask_lines_for_reading(lines))
    grown = append_utterances(before.last_passage, before.passages, utterances)
    errors, dropped = transcript.take_changed_errors()
    last = grown[-1] if grown else before.last_passage
    after = StudyProgress(
        first_line + lines.count(b"\n") + 1,
        last.number + 1 if last else before.passages,
        None if last is None or last.is_full else last,
        transcript.encode_state(),
    )
    summary = transcript.build_summary()
    return StudyResult(
        first_line,
        after.lines,
        msgspec.msgpack.encode(after),
        summary,
        [(passage, pack_pieces(passage.pieces), text.count_tokens(passage.text)) for passage in grown],
        [
            (prompt, pack_pieces([prompt]), text.count_tokens(prompt.text))
            for prompt in list_prompts(utterances)
        ],
        [(error, text.count_tokens(_text_of_error(error))) for error in errors],
        dropped,
        None if summary.is_child else transcript.journal,
        transcript.session_id,
    )


def join_complete_lines(beginning: bytes | None, content: bytes, start: int = 0) -> bytes | None:
    """The complete lines of the content from `start` on, without the last newline; None if there are none. The first
    line has its beginning from an earlier part; where that is None, it is too long to read and the line is left empty."""
    last_newline = content.rfind(b"\n", start)
    rest = (beginning or b"") + content[start:] if last_newline < 0 else content[last_newline + 1 :]
    end = len(content) if ends_with_record(rest) else last_newline
    if end < 0:
        return None
    if beginning is None:
        first_newline = content.find(b"\n", start, end)
        return content[first_newline:end] if first_newline >= 0 else b""
    return b"".join((beginning, memoryview(content)[start:end]))


def ends_with_record(line: bytes) -> bool:
    """Whether text after the last newline counts as a line: if it is a whole JSON record, nothing that may follow before
    the newline would belong to it."""
    return line.strip().endswith(b"}") and decode_record(line) is not None


def _text_of_error(error: LoggedError) -> str:
    """The searchable text of an error: its message, the command that failed, and what was done about it."""
    return "\n".join((error.text, error.command, *error.followed_by))
