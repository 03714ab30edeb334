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

MAX_PIECE_BYTES = 8 * 1024 * 1024
"""A longer line comes in pieces, so that no line fills the memory."""
_TAIL_BYTES = 4096
_BUFFER_BYTES = 256 * 1024
_SETTLED_SECONDS = 600
_MOVING_SECONDS = 1.0
_CLOCK_SKEW_SECONDS = 5.0


class UnreadableTranscript(Exception):  # noqa: N818 - a state of the file, not a fault of ours
    """The file is broken."""


@dataclass(frozen=True, slots=True)
class FileStamp:
    """What a look at the folder tells about a file."""

    path: Path
    size: int
    changed_ns: int

    @classmethod
    def read_stamp(cls, path: Path) -> "FileStamp":
        seen = path.stat()
        return cls(path, seen.st_size, seen.st_mtime_ns)

    @property
    def is_being_written(self) -> bool:
        """Somebody writes it right now; the clock of a network folder may be a little ahead."""
        return -_CLOCK_SKEW_SECONDS < time.time() - self.changed_ns / 1e9 < _MOVING_SECONDS

    @property
    def is_settled(self) -> bool:
        """Nobody has written it for so long that an unfinished line is how it ended."""
        return time.time() - self.changed_ns / 1e9 >= _SETTLED_SECONDS


@contextmanager
def open_transcript(path: Path) -> Iterator[BinaryIO]:
    """The transcript's own bytes; a .zst is unpacked on the way."""
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
    """Every whole line from the offset on; the last one without its end only if `unfinished`."""
    with open_transcript(path) as lines:
        lines.seek(offset)
        while line := lines.readline(MAX_PIECE_BYTES):
            if unfinished or line.endswith(b"\n") or len(line) == MAX_PIECE_BYTES:
                yield line


def digest_before(path: Path, offset: int) -> str:
    """A digest of what stands right before the offset: it changes when the file was written anew."""
    start = max(0, offset - _TAIL_BYTES)
    with open_transcript(path) as lines:
        lines.seek(start)
        return hashlib.sha256(lines.read(offset - start)).hexdigest()
