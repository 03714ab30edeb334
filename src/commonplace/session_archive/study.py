"""Study the lines of a session as they arrive: parse them, group them into passages, collect the errors.

This runs before the transaction; `rooms/archives/study_store.py` saves the result inside of it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from commonplace.masking.transcript_lines import mask_lines_for_reading
from commonplace.search import text
from commonplace.session_archive import passages
from commonplace.session_archive.passages import PassagePiece, SessionPassage
from commonplace.transcripts import reader
from commonplace.transcripts.json_record import decode_record
from commonplace.transcripts.reader import TranscriptReader, TranscriptSummary
from commonplace.transcripts.transcript_state import TokenUse
from commonplace.transcripts.work_log import LoggedError

STUDY_VERSION = 100 * reader.PARSER_VERSION + 4
"""Version of the parsers and of the passages made from what they read. A session of another version is studied again."""


class StudyProgress(msgspec.Struct, array_like=True):
    """How far a session has been studied; encoded, it is the state that the store keeps."""

    lines: int = 0
    passages: int = 0
    last_passage: SessionPassage | None = None
    reader: bytes = b""
    token_use: TokenUse = msgspec.field(default_factory=TokenUse)
    """Also in the reader's state, which takes longer to decode."""


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
    grown = passages.append_utterances(before.last_passage, before.passages, utterances)
    errors, dropped = transcript.take_changed_errors()
    last = grown[-1] if grown else before.last_passage
    after = StudyProgress(
        first_line + lines.count(b"\n") + 1,
        last.number + 1 if last else before.passages,
        None if last is None or last.is_full else last,
        transcript.encode_state(),
        transcript.get_token_use(),
    )
    return StudyResult(
        first_line,
        after.lines,
        msgspec.msgpack.encode(after),
        transcript.build_summary(),
        [
            (passage, passages.pack_pieces(passage.pieces), text.count_tokens(passage.text))
            for passage in grown
        ],
        [
            (prompt, passages.pack_pieces([prompt]), text.count_tokens(prompt.text))
            for prompt in passages.list_prompts(utterances)
        ],
        [(error, text.count_tokens(_text_of_error(error))) for error in errors],
        dropped,
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
