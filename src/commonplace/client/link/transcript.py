"""A transcript on this machine, and what an agent declares about its transcripts."""

import contextlib
import hashlib
import io
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from commonplace import zstd

_MAX_LINES = 50
_MAX_ID_CHARACTERS = 180
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._:@+~-]")
_MAX_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Transcript:
    tool: str
    session_id: str
    path: Path
    whole: bool = False
    """The agent rewrites the whole file, so it is sent only when it has not changed for a while."""
    name: str = ""
    project: str = ""
    """If known; else it comes from the folder that the agent worked in."""

    @property
    def archive_id(self) -> str:
        """The session's id in characters that the server accepts; a changed one ends in a digest to stay unique."""
        plain = _NOT_IN_ID.sub("-", self.session_id).lstrip("-._:@+~")[:_MAX_ID_CHARACTERS]
        if plain == self.session_id:
            return plain
        return f"{plain}.{hashlib.sha256(self.session_id.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}".lstrip(
            "."
        )


class AgentTranscripts(NamedTuple):
    """What an agent's `transcripts.py` declares: where its transcripts are and which project each belongs to."""

    home: Callable[[], Path]
    """The agent's folder on this machine."""
    folder_name: str
    """The name of that folder, by which an agent's file is recognised elsewhere."""
    list_transcripts: Callable[[], Iterator[Transcript]]
    transcript_at: Callable[[Path], Transcript]
    find_work_folder: Callable[[Path, Iterable[str]], str]
    """The folder that the agent worked in, given the transcript's path and the folders known so far; may be empty."""
    name_project: Callable[[Path], str]
    """A name for the project of a transcript that has no folder."""
    files: str
    """Where the files are, for the documentation."""
    archive_names: str
    """How its archives are named, for the documentation."""
    memory_folder: Callable[[Path], Path] | None = None
    """Where the agent keeps its own notes on a project."""


def read_first_objects(path: Path) -> Iterator[dict[str, Any]]:
    """The JSON objects among a transcript's first lines; other lines are skipped."""
    with (
        contextlib.suppress(OSError, UnreadableTranscript),
        open_transcript(path) as lines,
    ):
        bytes_read = 0
        for _ in range(_MAX_LINES):
            line = lines.readline(_MAX_BYTES)
            bytes_read += len(line)
            with contextlib.suppress(ValueError, RecursionError):
                if isinstance(parsed := json.loads(line), dict):
                    yield parsed
            if not line or bytes_read > _MAX_BYTES:
                return


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
