"""Lose what was not synced: a SQLite VFS that notes every write until its file is synced, and `cut_power` that wipes
what the notes still list.

The notes are a file beside the database, so they survive kill -9. A write that was not synced may be on disk after a
power cut or not: here it is not, its bytes become zeros.
"""

import os
import struct
from pathlib import Path

import apsw

_NOTE = struct.Struct("<BQQ")
_MAIN, _LOG = 0, 1


class _NotedFile(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], notes: int, kind: int) -> None:
        super().__init__("unix", name, flags)
        self._notes, self._kind = notes, kind

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's name
        os.write(self._notes, _NOTE.pack(self._kind, offset, len(data)))
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802 - SQLite's name
        super().xSync(flags)
        os.ftruncate(self._notes, 0)


class _NotingVfs(apsw.VFS):
    """One file of notes for the database and one for its write-ahead log: each is synced by itself."""

    def __init__(self, folder: Path) -> None:
        super().__init__("power-cut", "unix", makedefault=True)
        self._notes = {
            flag: (os.open(folder / name, os.O_RDWR | os.O_CREAT | os.O_APPEND), kind)
            for flag, name, kind in (
                (apsw.SQLITE_OPEN_MAIN_DB, "main", _MAIN),
                (apsw.SQLITE_OPEN_WAL, "log", _LOG),
            )
        }

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        for flag, (notes, kind) in self._notes.items():
            if flags[0] & flag:
                return _NotedFile(name, flags, notes, kind)
        return apsw.VFSFile("unix", name, flags)


_vfs: list[apsw.VFS] = []


def note_unsynced_writes(folder: str) -> None:
    """From now on every connection of this process notes its writes in this folder."""
    Path(folder).mkdir(exist_ok=True)
    _vfs.append(_NotingVfs(Path(folder)))


def cut_power(database: Path, unsynced: Path) -> int:
    """After kill -9: wipe every write that was not synced; return how many bytes."""
    lost = 0
    for notes in (unsynced / "main", unsynced / "log"):
        content = notes.read_bytes() if notes.exists() else b""
        for kind, offset, length in _NOTE.iter_unpack(content[: len(content) // _NOTE.size * _NOTE.size]):
            lost += _wipe(database if kind == _MAIN else Path(f"{database}-wal"), offset, length)
        notes.unlink(missing_ok=True)
    return lost


def _wipe(path: Path, offset: int, length: int) -> int:
    if not path.exists():
        return 0
    with path.open("r+b") as file:
        size = path.stat().st_size
        length = max(0, min(length, size - offset))
        file.seek(offset)
        file.write(b"\0" * length)
    return length
