"""A transcript's raw bytes, plain or compressed, line by line from an offset."""

import hashlib
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from commonplace import zstd

LONGEST_PIECE = 8 * 1024 * 1024
"""A longer line comes in pieces, so that no line fills the memory."""
_TAIL = 4096
_BUFFER = 256 * 1024
_SETTLED_SECONDS = 600
_MOVING_SECONDS = 1.0
_AHEAD_SECONDS = 5.0


class Unreadable(Exception):  # noqa: N818 - a state of the file, not a fault of ours
    """The file is broken."""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What a look at the folder tells about a file."""

    path: Path
    size: int
    changed_ns: int

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        seen = path.stat()
        return cls(path, seen.st_size, seen.st_mtime_ns)

    @property
    def moving(self) -> bool:
        """Somebody writes it right now; the clock of a network folder may be a little ahead."""
        return -_AHEAD_SECONDS < time.time() - self.changed_ns / 1e9 < _MOVING_SECONDS

    @property
    def settled(self) -> bool:
        """Nobody has written it for so long that an unfinished line is how it ended."""
        return time.time() - self.changed_ns / 1e9 >= _SETTLED_SECONDS


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The transcript's own bytes; a .zst is unpacked on the way."""
    try:
        with _unpacked(path) as lines:
            yield lines
    except (zstd.ZstdError, EOFError) as broken:
        raise Unreadable(f"{path} cannot be unpacked ({broken}).") from None


def _unpacked(path: Path) -> BinaryIO:
    if path.suffix != ".zst":
        return path.open("rb", buffering=_BUFFER)
    return io.BufferedReader(zstd.ZstdFile(path), _BUFFER)


def pieces(path: Path, offset: int, *, unfinished: bool) -> Iterator[bytes]:
    """Every whole line from the offset on; the last one without its end only if `unfinished`."""
    with opened(path) as lines:
        lines.seek(offset)
        while line := lines.readline(LONGEST_PIECE):
            if unfinished or line.endswith(b"\n") or len(line) == LONGEST_PIECE:
                yield line


def tail(path: Path, offset: int) -> str:
    """A digest of what stands right before the offset: it changes when the file was written anew."""
    start = max(0, offset - _TAIL)
    with opened(path) as lines:
        lines.seek(start)
        return hashlib.sha256(lines.read(offset - start)).hexdigest()
