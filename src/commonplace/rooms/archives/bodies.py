"""Where full frames are kept if not in the store: a folder, or an S3-compatible store.

A body is written before the transaction that needs it and under a name of its own, so that a write without that
transaction harms nobody; `orphans.py` removes what was never used.
"""

import asyncio
import os
import secrets
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from commonplace import errors

IN_STORE = "store"
_S3 = "s3://"
# A client waits for the answer, and sends its part again anyway.
_CLIENT: Any = {"timeout": timedelta(seconds=20), "connect_timeout": timedelta(seconds=4), "allow_http": True}
_RETRY: Any = {"max_retries": 2, "retry_timeout": timedelta(seconds=10)}


class Outside(Protocol):
    """Somewhere that keeps bytes by name; each may take long. To get what is not there is a FileNotFoundError."""

    def put(self, name: str, body: bytes) -> None: ...
    def get(self, name: str) -> bytes: ...
    def remove(self, name: str) -> None: ...


def name(project: str, sha256: str) -> str:
    return f"{project}/{sha256[:2]}/{sha256}-{secrets.token_hex(4)}.zst"


@cache
def outside(setting: str) -> Outside | None:
    """The place that the setting `archives` names; none = in the store itself."""
    if setting == IN_STORE:
        return None
    return _Bucket(setting) if setting.startswith(_S3) else _Folder(Path(setting).expanduser())


async def fetched(setting: str, address: str) -> bytes:
    place = outside(setting)
    if place is None:
        raise errors.Unavailable(
            "This session is kept outside of the store, and the setting `archives` does not say where.",
            hint="Start the server with the --archives that it had when the session was uploaded.",
        )
    return await asyncio.to_thread(place.get, address)


class _Folder:
    def __init__(self, top: Path) -> None:
        self._top = top

    def put(self, name: str, body: bytes) -> None:
        path = self._top / name
        unfinished = path.with_suffix(".part")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with unfinished.open("wb") as file:
                file.write(body)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except OSError as away:
            raise _away(away.strerror or "") from None

    def get(self, name: str) -> bytes:
        try:
            return (self._top / name).read_bytes()
        except FileNotFoundError as away:
            if self._top.is_dir():
                raise
            raise _away(away.strerror or "") from None
        except OSError as away:
            raise _away(away.strerror or "") from None

    def remove(self, name: str) -> None:
        path = self._top / name
        try:
            path.unlink(missing_ok=True)
            path.with_suffix(".part").unlink(missing_ok=True)
        except OSError as away:
            raise _away(away.strerror or "") from None


class _Bucket:
    """Endpoint, region and credentials come from the usual AWS_* variables."""

    def __init__(self, url: str) -> None:
        import obstore  # noqa: PLC0415 - an extra of the installation, needed only here
        from obstore.store import S3Store  # noqa: PLC0415 - as above

        self._obstore: Any = obstore
        try:
            self._store = S3Store.from_url(url, client_options=_CLIENT, retry_config=_RETRY)
        except obstore.exceptions.BaseError as wrong:
            raise _away(type(wrong).__name__) from None

    def put(self, name: str, body: bytes) -> None:
        try:
            self._obstore.put(self._store, name, body)
        except self._obstore.exceptions.BaseError as away:
            raise _away(type(away).__name__) from None

    def get(self, name: str) -> bytes:
        try:
            return bytes(self._obstore.get(self._store, name).bytes())
        except self._obstore.exceptions.BaseError as away:
            raise _away(type(away).__name__) from None

    def remove(self, name: str) -> None:
        try:
            self._obstore.delete(self._store, name)
        except FileNotFoundError:
            return
        except self._obstore.exceptions.BaseError as away:
            raise _away(type(away).__name__) from None


def _away(reason: str) -> errors.Unavailable:
    return errors.Unavailable(
        f"The place of the archives does not answer ({reason}).",
        hint="Check the setting `archives` and that its place can be written, then try again.",
    )
