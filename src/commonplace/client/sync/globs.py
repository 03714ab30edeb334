"""Any other agent: files that a pattern in config.toml names.

[[sync.globs]]
tool = "aider"
glob = "~/notes/aider/**/*.jsonl"
project = "shop"        # else by the `cwd` of its lines, else by where the file lies
"""

import glob
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from commonplace.client.project import project_in
from commonplace.client.sync.settings import Glob
from commonplace.client.sync.transcript import Transcript, first_lines

_MAGIC = frozenset("*?[")


def list_transcripts(configured: Iterable[Glob]) -> Iterator[Transcript]:
    for entry in configured:
        pattern = os.path.expandvars(str(Path(entry.glob).expanduser()))
        root = _root(pattern)
        for name in sorted(glob.glob(pattern, recursive=True)):  # noqa: PTH207 - of an absolute pattern
            path = Path(name)
            if path.is_file():
                below = ".".join(path.relative_to(root).parts).removesuffix(".zst")
                yield Transcript(entry.tool, below, path, whole=entry.whole, project=entry.project)


def find_work_folder(path: Path) -> str:
    return next((cwd for line in first_lines(path) if isinstance(cwd := line.get("cwd"), str) and cwd), "")


def name_project(path: Path) -> str:
    return project_in(path.parent)


def _root(pattern: str) -> Path:
    """The part of a pattern that is a plain folder."""
    parts = Path(pattern).parts
    fixed = next((place for place, part in enumerate(parts) if _MAGIC & set(part)), len(parts) - 1)
    return Path(*parts[:fixed])
