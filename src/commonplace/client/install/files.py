"""Write files so that nobody ever sees half of one, and keep what was there before."""

import glob
import os
import secrets
import stat
from datetime import UTC, datetime
from pathlib import Path

from commonplace import errors
from commonplace.client import remote


def read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise errors.Invalid(
            f"{path} can not be read ({fault.strerror}). It was left as it is.",
            hint="Move away what stands in its place, or give yourself the right to read it.",
            path=str(path),
        ) from None


def write(path: Path, content: bytes, *, private: bool) -> None:
    """Beside the file, then in its place; a link keeps leading where it did, and the mode stays."""
    target = path.resolve()
    beside = target.with_name(f"{_temporary_prefix(target)}{secrets.token_hex(4)}")
    how = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(beside, how, 0o600 if private else 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(stat.S_IMODE(target.stat().st_mode))
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def delete_leftovers(path: Path) -> None:
    """Take away what a command that was killed left beside a file."""
    target = path.resolve()
    for stray in target.parent.glob(f"{glob.escape(_temporary_prefix(target))}*"):
        stray.unlink(missing_ok=True)


def _temporary_prefix(target: Path) -> str:
    return f".{target.name}.commonplace-"


def back_up_file(path: Path, content: bytes, backups: Path) -> None:
    """A copy of what stood in a file; it may hold secrets, so only its owner may read it."""
    kept = backups / str(path).replace(":", "").lstrip("/\\")
    for folder in reversed([kept.parent, *kept.parent.parents]):
        if not folder.exists():
            folder.mkdir(mode=0o700)
    write(kept, content, private=True)


def new_backup_folder() -> Path:
    """Where one command keeps the files that it changes."""
    return remote.client_home() / "backups" / datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")


def list_missing_folders(path: Path) -> list[str]:
    """The folders above a file that are not there, the outermost first."""
    return [str(each) for each in reversed(path.parents) if not each.exists()]


def remove_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True


def _sync_folder(folder: Path) -> None:
    """Its name is on disk too; Windows opens no folders."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
