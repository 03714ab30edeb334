"""Reads a transcript file, plain or compressed, line by line from an offset."""

import hashlib
import io
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from commonplace import zstd

MAX_PIECE_BYTES = 8 * 1024 * 1024
"""A longer line is read in pieces, to bound memory."""
_TAIL_BYTES = 4096
_BUFFER_BYTES = 256 * 1024
_SETTLED_SECONDS = 600
_MOVING_SECONDS = 1.0
_CLOCK_SKEW_SECONDS = 5.0


class UnreadableTranscript(Exception):
    """The file cannot be unpacked."""


@dataclass(frozen=True, slots=True)
class TranscriptStamp:
    """A file's size and modification time."""

    path: Path
    size: int
    changed_ns: int

    @classmethod
    def read_stamp(cls, path: Path) -> "TranscriptStamp":
        seen = path.stat()
        return cls(path, seen.st_size, seen.st_mtime_ns)

    @property
    def is_being_written(self) -> bool:
        """Whether it was changed just now; the clock of a network folder may be slightly ahead."""
        return -_CLOCK_SKEW_SECONDS < time.time() - self.changed_ns / 1e9 < _MOVING_SECONDS

    @property
    def is_settled(self) -> bool:
        """Whether it has not changed for so long that an incomplete last line counts as final."""
        return time.time() - self.changed_ns / 1e9 >= _SETTLED_SECONDS


@contextmanager
def open_transcript(path: Path) -> Iterator[BinaryIO]:
    """The transcript's bytes; a .zst file is decompressed."""
    try:
        with _open_raw(path) as lines:
            yield lines
    except (zstd.ZstdError, EOFError) as broken:
        raise UnreadableTranscript(f"{path} cannot be unpacked ({broken}).") from None


def _open_raw(path: Path) -> BinaryIO:
    if path.suffix != ".zst":
        return path.open("rb", buffering=_BUFFER_BYTES)
    return io.BufferedReader(zstd.ZstdFile(path), _BUFFER_BYTES)


def read_lines_from(path: Path, offset: int, *, unfinished: bool) -> Iterator[bytes]:
    """Every whole line from the offset on; also an incomplete last line if `unfinished`."""
    with open_transcript(path) as lines:
        lines.seek(offset)
        while line := lines.readline(MAX_PIECE_BYTES):
            if unfinished or line.endswith(b"\n") or len(line) == MAX_PIECE_BYTES:
                yield line


def digest_before(path: Path, offset: int) -> str:
    """A digest of the bytes right before the offset; it differs if the file was rewritten."""
    start = max(0, offset - _TAIL_BYTES)
    with open_transcript(path) as lines:
        lines.seek(start)
        return hashlib.sha256(lines.read(offset - start)).hexdigest()
