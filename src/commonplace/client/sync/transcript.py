"""One transcript of one agent, and how its first lines are read."""

import contextlib
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace.client.sync import source

_LINES = 50
_LONGEST_ID = 180
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._:@+~-]")
_BYTES = 2 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Transcript:
    tool: str
    session_id: str
    path: Path
    whole: bool = False
    """The agent writes the file anew each time, so it is sent only when it has come to rest."""
    name: str = ""
    project: str = ""
    """Given outright; else it comes from the folder that the agent worked in."""

    @property
    def archive_id(self) -> str:
        """The session's id in the letters that a server takes; one that had to change stays unlike any other."""
        plain = _NOT_IN_ID.sub("-", self.session_id).lstrip("-._:@+~")[:_LONGEST_ID]
        if plain == self.session_id:
            return plain
        return f"{plain}.{hashlib.sha256(self.session_id.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}".lstrip(
            "."
        )


def first_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects among a transcript's first lines; what is none is passed over."""
    with contextlib.suppress(OSError, source.Unreadable), source.opened(path) as lines:
        read = 0
        for _ in range(_LINES):
            line = lines.readline(_BYTES)
            read += len(line)
            with contextlib.suppress(ValueError, RecursionError):
                if isinstance(found := json.loads(line), dict):
                    yield found
            if not line or read > _BYTES:
                return
