"""The ledger of one working tree, in COMMONPLACE_HOME/checkouts/: whose lines are uncommitted, who runs commands now.

It lies outside of the tree, is replaced as a whole, and is locked by the process that changes it, so hooks, commits and
the companion may use it at once. It survives the end of any of them.
"""

import json
import os
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client.link import remote
from commonplace.client.processes import hold_lock

_LOCK_SECONDS = 5.0
_RUNNING_SECONDS = 600
"""How long a command counts as running whose end no hook has reported."""
_MAX_CLEAN_FILES = 200
_MAX_CHECKED_TREES = 50


class LedgerBusy(Exception):
    """Another process has had the ledger for too long."""


class Author(NamedTuple):
    """Who changes files: a window of an agent, or a sub-agent in it. `id` is that of the program's own session."""

    id: str
    name: str = ""
    parent: str = ""
    process: str = ""


class FileRecord(NamedTuple):
    """A file's HEAD and working blobs, how their lines are interleaved, and what a commit that was filtered makes of it."""

    head: str
    work: str
    mode: str
    runs: list[tuple[str, int, str]]
    at: float
    expected_head: str | None = None
    expected_runs: list[tuple[str, int, str]] = []


class RunningCommand(NamedTuple):
    author: str
    command: str
    at: float
    head: str
    staged: dict[str, tuple[str, str]]
    """Before it: the index entries of files in which others have lines."""


class Ledger:
    def __init__(self, root: str) -> None:
        self.folder = _folder_of(root)
        self.root = root
        self.head = ""
        self.files: dict[str, FileRecord] = {}
        self.authors: dict[str, Author] = {}
        self.running: dict[str, RunningCommand] = {}
        self.checked_trees: list[str] = []
        self.mended: dict[str, tuple[str, str]] = {}
        """The index entries that are to be put in place after the commit that runs now."""

    @contextmanager
    def open_locked(self) -> Iterator[None]:
        """Load it, and save it at the end, while no other process can."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hold_lock(self.folder / "lock", _LOCK_SECONDS) as is_locked:
            if not is_locked:
                raise LedgerBusy(f"the ledger of {self.root} is in use")
            self.load()
            before = self._encode()
            yield
            self._forget_old()
            if (text := self._encode()) != before:
                self._save(text)

    def load(self) -> None:
        try:
            fields: dict[str, Any] = json.loads((self.folder / "ledger.json").read_bytes())
        except (OSError, ValueError):
            fields = {}
        self.head = fields.get("head", "")
        self.files = {path: FileRecord(**record) for path, record in fields.get("files", {}).items()}
        self.authors = {key: Author(**author) for key, author in fields.get("authors", {}).items()}
        self.running = {key: RunningCommand(**run) for key, run in fields.get("running", {}).items()}
        self.checked_trees = fields.get("checked_trees", [])
        self.mended = fields.get("mended", {})

    def _encode(self) -> str:
        fields = {
            "root": self.root,
            "head": self.head,
            "files": {path: record._asdict() for path, record in self.files.items()},
            "authors": {key: author._asdict() for key, author in self.authors.items()},
            "running": {key: run._asdict() for key, run in self.running.items()},
            "checked_trees": self.checked_trees[-_MAX_CHECKED_TREES:],
            "mended": self.mended,
        }
        return json.dumps(fields)

    def _save(self, text: str) -> None:
        temporary = self.folder / f"ledger.{os.getpid()}.part"
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.folder / "ledger.json")

    def _forget_old(self) -> None:
        now = time.time()
        self.running = {key: run for key, run in self.running.items() if now - run.at < _RUNNING_SECONDS}
        clean = [path for path, record in self.files.items() if all(run[0] == "k" for run in record.runs)]
        clean.sort(key=lambda path: self.files[path].at)
        for path in clean[: max(0, len(clean) - _MAX_CLEAN_FILES)]:
            del self.files[path]
        named = {run[2] for record in self.files.values() for run in record.runs}
        named |= {run.author for run in self.running.values()}
        self.authors = {key: author for key, author in self.authors.items() if key in named}


def list_ledger_roots() -> list[str]:
    """The working trees that have a ledger."""
    roots: list[str] = []
    for path in _ledgers_folder().glob("*/ledger.json"):
        try:
            roots.append(str(json.loads(path.read_bytes())["root"]))
        except (OSError, ValueError, KeyError):
            continue
    return roots


def _ledgers_folder() -> Path:
    return remote.client_home() / "checkouts"


def _folder_of(root: str) -> Path:
    name = "".join(letter if letter.isalnum() else "-" for letter in Path(root).name)[:40]
    return _ledgers_folder() / f"{name}-{zlib.crc32(os.fsencode(root)):08x}"
