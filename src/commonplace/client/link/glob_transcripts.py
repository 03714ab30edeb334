"""Transcripts of agents without a folder in `client/agents/`: files that a pattern in config.toml matches.

[[sync.globs]]
tool = "aider"
glob = "~/notes/aider/**/*.jsonl"
project = "shop"        # else from the `cwd` in its lines, else from the file's folder
"""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.link.sync_settings import GlobSetting
from commonplace.client.link.transcript import Transcript, read_first_objects
from commonplace.client.project import project_from_files

_GLOB_CHARACTERS = frozenset("*?[")


def list_glob_transcripts(configured: Iterable[GlobSetting]) -> Iterator[Transcript]:
    for entry in configured:
        pattern = os.path.expandvars(str(Path(entry.glob).expanduser()))
        root = _fixed_folder(pattern)
        for name in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207 - of an absolute pattern
            path = Path(name)
            if path.is_file():
                below = ".".join(path.relative_to(root).parts).removesuffix(".zst")
                yield Transcript(entry.tool, below, path, whole=entry.whole, project=entry.project)


def find_logged_cwd(path: Path) -> str:
    return next(
        (cwd for line in read_first_objects(path) if isinstance(cwd := line.get("cwd"), str) and cwd), ""
    )


def project_of_parent_folder(path: Path) -> str:
    return project_from_files(path.parent)


def _fixed_folder(pattern: str) -> Path:
    """The folder before the first wildcard of a pattern."""
    parts = Path(pattern).parts
    fixed = next((index for index, part in enumerate(parts) if _GLOB_CHARACTERS & set(part)), len(parts) - 1)
    return Path(*parts[:fixed])
