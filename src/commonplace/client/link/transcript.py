"""A transcript on this machine, and what an agent declares about its transcripts."""

import contextlib
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client.link import transcript_file

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
        contextlib.suppress(OSError, transcript_file.UnreadableTranscript),
        transcript_file.open_transcript(path) as lines,
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
