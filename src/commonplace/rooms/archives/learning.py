"""What a session teaches as its lines come in: read before the transaction, written down inside of it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from commonplace.rooms.archives import passages, studies
from commonplace.rooms.archives.model import Archive
from commonplace.rooms.archives.passages import Passage
from commonplace.search import index, text
from commonplace.store.database import Tx
from commonplace.transcripts import reader
from commonplace.transcripts.lessons import Problem
from commonplace.transcripts.reader import Reader, Summary
from commonplace.transcripts.record import decoded

PARSER = 100 * reader.VERSION + 1
"""Of the parsers and of the passages that are made of what they read."""

_TITLE = 200


class Progress(msgspec.Struct, array_like=True):
    """Where the study of a session stands."""

    lines: int = 0
    passages: int = 0
    last: Passage | None = None
    reader: bytes = b""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What was studied; without a state it was not, because what stands before it is not studied yet."""

    before: int
    lines: int = 0
    state: bytes = b""
    summary: Summary | None = None
    passages: Sequence[tuple[Passage, bytes, Counter[str]]] = ()
    problems: Sequence[tuple[Problem, Counter[str]]] = ()
    forgotten: Sequence[str] = ()


async def remembered(tx: Tx, archive: Archive) -> bytes:
    """Where the reader of this session stopped; what another version left is of no use."""
    study = await studies.study(tx, archive)
    return study.state if study and study.parser == PARSER else b""


def progress(state: bytes) -> Progress:
    return msgspec.msgpack.decode(state, type=Progress) if state else Progress()


def studied(state: bytes, tool: str, first_line: int, lines: Sequence[bytes]) -> Lesson:
    """What these lines say, away from the event loop."""
    known = progress(state)
    if known.lines != first_line:
        return Lesson(first_line)
    reading = Reader(known.reader, tool)
    found = passages.grown(known.last, known.passages, reading.read(first_line, lines))
    problems, forgotten = reading.problems()
    last = found[-1] if found else known.last
    after = Progress(
        first_line + len(lines),
        last.n + 1 if last else known.passages,
        None if last is None or last.is_full else last,
        reading.state(),
    )
    return Lesson(
        first_line,
        after.lines,
        msgspec.msgpack.encode(after),
        reading.summary(),
        [(each, passages.packed(each), text.counted(each.text)) for each in found],
        [(each, text.counted(told(each.text, each.command, each.after))) for each in problems],
        forgotten,
    )


def lines_of(content: bytes) -> list[bytes]:
    """Its lines. What stands after the last newline is one if it is a record already: nothing that may follow before
    its own newline would belong to it."""
    *whole, last = content.split(b"\n")
    return [*whole, last] if last.strip().endswith(b"}") and decoded(last) is not None else whole


def told(error: str, command: str, followed: Sequence[str]) -> str:
    """An error as it is found: with what was run, and what was done about it."""
    return "\n".join((error, command, *followed))


async def learned(tx: Tx, archive: Archive, lesson: Lesson | None) -> None:
    """Write down what was studied, with the lines themselves; what was not is marked as still to be studied."""
    if lesson is None:
        return
    after = studies.Study(PARSER, lesson.lines, lesson.state)
    if lesson.state and await studies.advance(tx, archive, lesson.before, after):
        await _write(tx, archive, lesson)
    elif not await studies.fall_behind(tx, archive):
        await studies.begin(tx, archive, PARSER)


async def _write(tx: Tx, archive: Archive, lesson: Lesson) -> None:
    title = _titled(archive, lesson)
    if lesson.summary and lesson.summary.format:
        await studies.describe(tx, archive, title, lesson.summary.started_at, lesson.summary.ended_at)
    await studies.put_passages(tx, archive, [(each.n, body) for each, body, _ in lesson.passages])
    await studies.put_errors(tx, archive, [each for each, _ in lesson.problems])
    if lesson.forgotten:
        await studies.forget_errors(tx, archive, lesson.forgotten)
    await index.put(tx, _entries(archive, lesson, title))


def _titled(archive: Archive, lesson: Lesson) -> str:
    title = lesson.summary.title if lesson.summary else ""
    return (title or archive.title)[:_TITLE]


def _entries(archive: Archive, lesson: Lesson, title: str) -> list[index.Entry]:
    """The type of an entry is its workspace, so that a search in one looks at nothing else."""
    found = [
        _entry(archive, studies.identity(archive, each.n), title, each.at, counted)
        for each, _, counted in lesson.passages
    ]
    return found + [
        _entry(archive, studies.identity(archive, each.fingerprint), each.text[:_TITLE], each.at, counted)
        for each, counted in lesson.problems
    ]


def _entry(archive: Archive, identity: str, title: str, at: int | None, counted: Counter[str]) -> index.Entry:
    changed_at = archive.ended_at if at is None else at
    return index.Entry(
        archive.project, index.TRANSCRIPT, identity, archive.workspace, title, "", changed_at, counted=counted
    )
