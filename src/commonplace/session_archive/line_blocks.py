"""Split a stream of bytes into blocks of whole lines, with bounded memory however long a line is."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

from commonplace.search.lines import OVERLAP_BYTES

MAX_BLOCK_BYTES = 1024 * 1024
"""A longer line comes in parts; each part starts with the last bytes of the part before."""


@dataclass(frozen=True, slots=True)
class LineBlock:
    """Whole lines from line number `first_line` on, without the last newline; or a part of one long line."""

    first_line: int
    content: bytes
    begins: bool = True
    ends: bool = True

    @property
    def has_whole_lines(self) -> bool:
        return self.begins and self.ends


async def split_into_blocks(pieces: AsyncIterator[bytes]) -> AsyncIterator[LineBlock]:
    splitter = _BlockSplitter()
    async for piece in pieces:
        for block in splitter.add_piece(piece):
            yield block
    if splitter.pending:
        yield splitter.flush()


class _BlockSplitter:
    def __init__(self) -> None:
        self.pending = b""
        self._line, self._begins = 0, True

    def add_piece(self, piece: bytes) -> Iterator[LineBlock]:
        lines, newline, self.pending = (self.pending + piece).rpartition(b"\n")
        if newline:
            yield from self._whole_lines(lines)
        if len(self.pending) > MAX_BLOCK_BYTES:
            yield LineBlock(self._line, self.pending, self._begins, ends=False)
            self.pending, self._begins = self.pending[-OVERLAP_BYTES:], False

    def flush(self) -> LineBlock:
        return LineBlock(self._line, self.pending, self._begins)

    def _whole_lines(self, lines: bytes) -> Iterator[LineBlock]:
        if not self._begins:
            end, newline, lines = lines.partition(b"\n")
            yield LineBlock(self._line, end, begins=False)
            self._line, self._begins = self._line + 1, True
            if not newline:
                return
        yield LineBlock(self._line, lines)
        self._line += lines.count(b"\n") + 1
