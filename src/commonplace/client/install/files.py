"""Writes files atomically, and keeps backups of what was there before."""

import glob
import os
import secrets
import stat
from datetime import UTC, datetime
from pathlib import Path

from commonplace import errors
from commonplace.client.link import remote


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise errors.Invalid(
            f"{path} cannot be read ({fault.strerror}). It was not changed.",
            hint="Make it a file that you can read.",
            path=str(path),
        ) from None


def write(path: Path, content: bytes, *, private: bool) -> None:
    """Replace the file atomically; symbolic links and the mode are kept."""
    target = path.resolve()
    temporary = target.with_name(f"{_temporary_prefix(target)}{secrets.token_hex(4)}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(temporary, flags, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def delete_leftovers(path: Path) -> None:
    """Delete temporary files that a killed command left beside the file."""
    target = path.resolve()
    for stray in target.parent.glob(f"{glob.escape(_temporary_prefix(target))}*"):
        stray.unlink(missing_ok=True)


def _temporary_prefix(target: Path) -> str:
    return f".{target.name}.commonplace-"


def back_up_file(path: Path, content: bytes, backups: Path) -> None:
    """Keep a copy of a file's content; it may hold secrets, so only its owner can read it."""
    backup = backups / str(path).replace(":", "").lstrip("/\\")
    for folder in reversed([backup.parent, *backup.parent.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700)
    write(backup, content, private=True)


def new_backup_folder() -> Path:
    """A folder for the backups of one command."""
    return remote.client_home() / "backups" / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def list_missing_folders(path: Path) -> list[str]:
    """The parent folders of a file that do not exist, outermost first."""
    return [str(folder) for folder in reversed(path.parents) if not folder.exists()]


def remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True


def _sync_folder(folder: Path) -> None:
    """Flush the folder to disk, so that the new name survives a crash; not possible on Windows."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
