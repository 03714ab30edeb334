"""Bodies of full frames outside of the database: in a folder, or in an S3-compatible bucket.

A body is written under a unique name before the transaction that refers to it. If that transaction never commits, the
body is an orphan, and `rooms/archives/retention.py` removes it.
"""

import asyncio
import os
import secrets
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from commonplace import errors

IN_DATABASE = "store"
_S3_SCHEME = "s3://"
# Short, because a client waits for the reply and retries its part anyway.
_S3_CLIENT_OPTIONS: Any = {
    "timeout": timedelta(seconds=20),
    "connect_timeout": timedelta(seconds=4),
    "allow_http": True,
}
_S3_RETRY_OPTIONS: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}


class FrameStorage(Protocol):
    """Stores bodies by name. Every method may block; `read_body` raises FileNotFoundError for an unknown name."""

    def write_body(self, name: str, body: bytes) -> None: ...
    def read_body(self, name: str) -> bytes: ...
    def delete_body(self, name: str) -> None: ...


def new_body_name(project: str, sha256: str) -> str:
    return f"{project}/{sha256[:2]}/{sha256}-{secrets.token_hex(4)}.zst"


@cache
def open_frame_storage(storage: str) -> FrameStorage | None:
    """The storage that the setting `archives` names; None means that bodies are in the database."""
    if storage == IN_DATABASE:
        return None
    return (
        _S3Storage(storage) if storage.startswith(_S3_SCHEME) else _FolderStorage(Path(storage).expanduser())
    )


async def fetch_body(storage: str, address: str) -> bytes:
    opened = open_frame_storage(storage)
    if opened is None:
        raise errors.Unavailable(
            "This session is stored outside of the database, and the setting `archives` does not say where.",
            hint="Start the server with the same --archives as when the session was uploaded.",
        )
    return await asyncio.to_thread(opened.read_body, address)


class _FolderStorage:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write_body(self, name: str, body: bytes) -> None:
        path = self._folder / name
        partial = path.with_suffix(".part")
        try:
            _create_private_folders(path.parent)
            with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except OSError as error:
            raise _storage_unavailable(error.strerror or "") from None

    def read_body(self, name: str) -> bytes:
        try:
            return (self._folder / name).read_bytes()
        except FileNotFoundError as error:
            if self._folder.is_dir():
                raise
            raise _storage_unavailable(error.strerror or "") from None
        except OSError as error:
            raise _storage_unavailable(error.strerror or "") from None

    def delete_body(self, name: str) -> None:
        path = self._folder / name
        try:
            path.unlink(missing_ok=True)
            path.with_suffix(".part").unlink(missing_ok=True)
        except OSError as error:
            raise _storage_unavailable(error.strerror or "") from None


def _create_private_folders(folder: Path) -> None:
    """`Path.mkdir` gives its mode to the last folder only."""
    if not folder.is_dir():
        _create_private_folders(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


class _S3Storage:
    """Endpoint, region and credentials come from the usual AWS_* variables."""

    def __init__(self, url: str) -> None:
        import obstore  # noqa: PLC0415 - an optional dependency, needed only here
        from obstore.store import S3Store  # noqa: PLC0415 - as above

        self._obstore: Any = obstore
        try:
            self._store = S3Store.from_url(
                url, client_options=_S3_CLIENT_OPTIONS, retry_config=_S3_RETRY_OPTIONS
            )
        except obstore.exceptions.BaseError as error:
            raise _storage_unavailable(type(error).__name__) from None

    def write_body(self, name: str, body: bytes) -> None:
        try:
            self._obstore.put(self._store, name, body)
        except self._obstore.exceptions.BaseError as error:
            raise _storage_unavailable(type(error).__name__) from None

    def read_body(self, name: str) -> bytes:
        try:
            return bytes(self._obstore.get(self._store, name).bytes())
        except self._obstore.exceptions.BaseError as error:
            raise _storage_unavailable(type(error).__name__) from None

    def delete_body(self, name: str) -> None:
        try:
            self._obstore.delete(self._store, name)
        except FileNotFoundError:
            return
        except self._obstore.exceptions.BaseError as error:
            raise _storage_unavailable(type(error).__name__) from None


def _storage_unavailable(reason: str) -> errors.Unavailable:
    return errors.Unavailable(
        f"The archive storage is not available ({reason}).",
        hint="Check that the folder or bucket of the setting `archives` exists and is writable, then retry.",
    )
