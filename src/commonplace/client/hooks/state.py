"""What the hooks of one agent session remember between two runs, under COMMONPLACE_HOME/hooks/<session>.

Hooks of one session run at the same time, so every part is its own file that is replaced whole or appended to.
"""

import json
import os
import re
import time
import zlib
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client import remote

_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)
_LONGEST_NAME = 100
_KEPT_DAYS = 14
_KEPT_NOTICES = 50


class Session(NamedTuple):
    """Our session beside the agent's own."""

    session_id: str
    project: str
    agent: str
    root: str
    tool: str
    pack: str = ""
    ancestors: tuple[int, ...] = ()


class Lease(NamedTuple):
    token: int
    at: float
    """When it was granted, by this machine's clock."""
    reasoned: bool = False
    """Whether the agent took it itself and said why."""


class State:
    def __init__(self, session: str) -> None:
        self.folder = _folder() / _name(session)

    def session(self) -> Session | None:
        try:
            kept = json.loads((self.folder / "session.json").read_bytes())
            return Session(**kept | {"ancestors": tuple(kept.get("ancestors", ()))})
        except (OSError, ValueError, TypeError):
            return None

    def keep(self, session: Session) -> None:
        self._make()
        beside = self.folder / f"session.{os.getpid()}.part"
        _write(beside, json.dumps(session._asdict()), os.O_TRUNC)
        beside.replace(self.folder / "session.json")

    def leases(self) -> dict[str, Lease]:
        """The lease under which each file was last edited."""
        lines = _lines(self.folder / "leases.jsonl")
        return {line["file"]: Lease(line["token"], line["at"], line["reasoned"]) for line in lines}

    def lease(self, granted: dict[str, int], *, reasoned: bool = False) -> None:
        known, now = self.leases(), time.time()
        fresh = [file for file, token in granted.items() if file not in known or known[file].token != token]
        if fresh:
            kept = [{"file": file, **Lease(granted[file], now, reasoned)._asdict()} for file in fresh]
            self._append("leases.jsonl", kept)

    def once(self, mark: str) -> bool:
        """Whether this is the first time, even if two ask at once."""
        return self.mark(f"said-{zlib.crc32(mark.encode()):08x}")

    def mark(self, name: str) -> bool:
        self._make()
        try:
            _write(self.folder / name, "", os.O_EXCL)
        except FileExistsError:
            return False
        return True

    def claim(self, name: str, seconds: float) -> bool:
        """Mark it; a mark that is older than that was left by a process that died."""
        if self.mark(name):
            return True
        try:
            left = time.time() - (self.folder / name).stat().st_mtime > seconds
        except FileNotFoundError:
            left = True
        return left

    def marked(self, name: str) -> bool:
        return (self.folder / name).exists()

    def unmark(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)

    def since(self, name: str, seconds: float) -> bool:
        """Whether this name was last asked for longer ago than that; from now on it counts anew."""
        place = self.folder / name
        try:
            recent = time.time() - place.stat().st_mtime < seconds
        except FileNotFoundError:
            recent = False
        if not recent:
            self._make()
            _write(place, "", os.O_TRUNC)
        return not recent

    def put_notices(self, texts: list[str]) -> None:
        if texts:
            self._append("notices.jsonl", [{"text": text} for text in texts])

    def take_notices(self) -> list[str]:
        taken = self.folder / f"notices.{os.getpid()}.part"
        try:
            (self.folder / "notices.jsonl").replace(taken)
        except FileNotFoundError:
            return []
        texts = [str(line["text"]) for line in _lines(taken)]
        taken.unlink()
        return list(dict.fromkeys(texts))[-_KEPT_NOTICES:]

    def remove(self) -> None:
        _remove(self.folder)

    def _make(self) -> None:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _append(self, name: str, lines: list[dict[str, Any]]) -> None:
        self._make()
        _write(self.folder / name, "".join(json.dumps(line) + "\n" for line in lines), os.O_APPEND)


def everyone() -> dict[str, Session]:
    """The sessions that hooks of this machine know, by the names of their folders."""
    kept = {
        place.parent.name: State(place.parent.name).session() for place in _folder().glob("*/session.json")
    }
    return {name: session for name, session in kept.items() if session}


def forget_old() -> None:
    """An agent that was killed never says goodbye."""
    oldest = time.time() - _KEPT_DAYS * 86_400
    for folder in _folder().glob("*"):
        try:
            old = folder.stat().st_mtime < oldest
        except FileNotFoundError:  # its session has just ended
            continue
        if old:
            _remove(folder)


def _remove(folder: Path) -> None:
    import shutil  # noqa: PLC0415 - few hooks remove anything

    shutil.rmtree(folder, ignore_errors=True)


def _folder() -> Path:
    return remote.client_home() / "hooks"


def _name(session: str) -> str:
    safe = _UNSAFE.sub("_", session).strip(".")
    if safe == session and len(safe) <= _LONGEST_NAME:
        return safe
    return f"{safe[: _LONGEST_NAME - 9]}-{zlib.crc32(session.encode('utf-8', 'replace')):08x}"


def _write(place: Path, text: str, how: int) -> None:
    descriptor = os.open(place, os.O_WRONLY | os.O_CREAT | how, 0o600)
    with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - of a descriptor
        file.write(text.encode("utf-8", "replace"))


def _lines(place: Path) -> list[dict[str, Any]]:
    """A line that was cut off in the middle counts for nothing."""
    try:
        text = place.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return []
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found
