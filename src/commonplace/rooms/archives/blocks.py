"""Stored bytes as blocks of lines, so that what is held of a session is bounded however long its lines are."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from commonplace.search.lines import OVERLAP

LONGEST = 1024 * 1024
"""A longer line comes in parts, each of which begins with the end of the one before."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines from number `first` on, without the last newline; or a part of one line, where an end is missing."""

    first: int
    content: bytes
    begins: bool = True
    ends: bool = True

    @property
    def is_whole(self) -> bool:
        return self.begins and self.ends


async def blocks(pieces: AsyncIterator[bytes]) -> AsyncIterator[Block]:
    cutter = _Cutter()
    async for piece in pieces:
        for block in cutter.cut(piece):
            yield block
    if cutter.rest:
        yield cutter.last()


class _Cutter:
    def __init__(self) -> None:
        self.rest = b""
        self._number, self._begins = 0, True

    def cut(self, piece: bytes) -> Iterator[Block]:
        lines, newline, self.rest = (self.rest + piece).rpartition(b"\n")
        if newline:
            yield from self._whole(lines)
        if len(self.rest) > LONGEST:
            yield Block(self._number, self.rest, self._begins, ends=False)
            self.rest, self._begins = self.rest[-OVERLAP:], False

    def last(self) -> Block:
        return Block(self._number, self.rest, self._begins)

    def _whole(self, lines: bytes) -> Iterator[Block]:
        if not self._begins:
            end, newline, lines = lines.partition(b"\n")
            yield Block(self._number, end, begins=False)
            self._number, self._begins = self._number + 1, True
            if not newline:
                return
        yield Block(self._number, lines)
        self._number += lines.count(b"\n") + 1
