"""Members by name in one file (`.tar.zst`) or in a folder; `tar --zstd -xf FILE` turns the one into the other.

A file appears under its name only when it is complete and on disk; a process that is killed leaves a `.part`.
"""

import contextlib
import io
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from commonplace import errors, zstd
from commonplace.backup.contents import (
    BODY_FOLDER,
    HEADER_NAME,
    MANIFEST_NAME,
    TABLE_FOLDER,
    damaged_backup,
)

PARTIAL_SUFFIX = ".part"
_LEVEL = int(zstd.CompressionParameter.compression_level)
_CHECKSUM = int(zstd.CompressionParameter.checksum_flag)
_COMPRESSION_OPTIONS = {_LEVEL: 3, _CHECKSUM: 1}
_MAX_MEMBER_BYTES = 512 * 1024 * 1024
_OWNER_ONLY = 0o600


class MemberWriter(Protocol):
    def add_member(self, name: str, body: bytes) -> None: ...
    def close(self) -> None: ...


class _TarWriter:
    def __init__(self, path: Path) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        self._file = os.fdopen(os.open(path, flags, _OWNER_ONLY), "wb")
        self._compressed = zstd.ZstdFile(self._file, "wb", options=_COMPRESSION_OPTIONS)
        self._tar = tarfile.open(fileobj=self._compressed, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed below

    def close(self) -> None:
        """Complete the file and wait until it is on disk; once is enough."""
        if self._file.closed:
            return
        with self._file:
            self._tar.close()
            self._compressed.close()
            self._file.flush()
            os.fsync(self._file.fileno())

    def add_member(self, name: str, body: bytes) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode = len(body), _OWNER_ONLY
        self._tar.addfile(member, io.BytesIO(body))


class FolderWriter:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add_member(self, name: str, body: bytes) -> None:
        self._write(name, body, os.O_TRUNC)

    def append_to_member(self, name: str, body: bytes) -> None:
        self._write(name, body, os.O_APPEND)

    def _write(self, name: str, body: bytes, how: int) -> None:
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | how, _OWNER_ONLY), "wb") as file:
            file.write(body)

    def close(self) -> None:
        """Every member is closed already."""


@contextlib.contextmanager
def create_backup_file(path: Path) -> Iterator[tuple[MemberWriter, Path]]:
    """Write a file that only its owner can read; an error or a kill leaves nothing under its name.

    Yields the writer and the path that the file has until the block ends. `writer.close()` completes the file, so that
    it can be checked before it gets its name.
    """
    partial = path.with_name(path.name + PARTIAL_SUFFIX)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.unlink(missing_ok=True)
        writer = _TarWriter(partial)
        try:
            yield writer, partial
        finally:
            writer.close()
        partial.replace(path)
        flush_folder(path.parent)
    except OSError as error:
        raise errors.Unavailable(
            f"The backup cannot be written to {path} ({error.strerror or error}).",
            hint="Check that the folder is writable and has room, then run it again.",
        ) from error
    finally:
        partial.unlink(missing_ok=True)


@contextlib.contextmanager
def create_export_folder(folder: Path) -> Iterator[FolderWriter]:
    """Write into a new or empty folder; it gets its name when it is complete."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise errors.Conflict(f"{folder} exists and is not empty.", hint="Name a new folder.")
    partial = folder.with_name(folder.name + PARTIAL_SUFFIX)
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True, mode=0o700)
        yield FolderWriter(partial)
        if folder.exists():
            folder.rmdir()
        partial.rename(folder)
        flush_folder(folder.parent)
    except OSError as error:
        raise errors.Unavailable(
            f"The export cannot be written to {folder} ({error.strerror or error}).",
            hint="Check that the folder is writable and has room, then run it again.",
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def flush_folder(folder: Path) -> None:
    """Make a rename in this folder durable; Windows does it without being asked."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def require_backup(path: Path) -> None:
    """Raise NotFound unless there is a file or a folder; what it contains is not read."""
    if not path.is_dir() and not path.is_file():
        raise errors.NotFound(f"There is no backup at {path}.", hint="Check the name of the file.")


def read_members(path: Path) -> Iterator[tuple[str, bytes]]:
    """Every member in the order in which it was written: the header, rows table by table, the manifest."""
    if path.is_dir():
        yield from _read_folder(path)
        return
    require_backup(path)
    try:
        with zstd.ZstdFile(path) as compressed, tarfile.open(fileobj=compressed, mode="r|") as tar:
            for member in tar:
                yield member.name, _read_tar_member(tar, member)
    except (zstd.ZstdError, tarfile.TarError, EOFError) as broken:
        raise damaged_backup(str(broken) or type(broken).__name__) from None


def _read_tar_member(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if not member.isfile() or member.size > _MAX_MEMBER_BYTES:
        raise damaged_backup(f"it contains {member.name}")
    file: Any = tar.extractfile(member)
    body: bytes = file.read()
    return body


def _read_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    """In the order of a file. Archive bodies come before the rows that name them."""
    names = [HEADER_NAME]
    names += sorted(
        path.relative_to(folder).as_posix() for path in (folder / BODY_FOLDER).rglob("*") if path.is_file()
    )
    names += sorted(f"{TABLE_FOLDER}/{path.name}" for path in (folder / TABLE_FOLDER).glob("*.jsonl"))
    names.append(MANIFEST_NAME)
    for name in names:
        try:
            yield name, (folder / name).read_bytes()
        except FileNotFoundError:
            raise damaged_backup(f"{name} is missing") from None
