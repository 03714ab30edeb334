"""The uploader's calls to its server, over one kept connection."""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from commonplace import zstd
from commonplace.client.link import remote
from commonplace.client.link.http_connection import ConnectionPool, build_request, send_repeatable
from commonplace.window import IDEMPOTENCY_HEADER

_REQUEST_SECONDS = 120
_COMPRESSION_LEVEL = 3
_TRY_LATER = frozenset({408, 429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class StoredArchive:
    """How much of one archive the server holds."""

    bytes: int
    sha256: str


class ArchiveDiffers(Exception):
    """The server holds other bytes of this archive than expected."""

    def __init__(self, stored: StoredArchive) -> None:
        super().__init__(stored.bytes)
        self.stored = stored


class UploadClient:
    def __init__(self, server: remote.RemoteServer) -> None:
        self._server, self._pool = server, ConnectionPool()

    def close(self) -> None:
        self._pool.close()

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        body = json.dumps(arguments).encode()
        headers = ["Content-Type: application/json", f"{IDEMPOTENCY_HEADER}: {os.urandom(16).hex()}"]
        return self._request("POST", f"/api/{operation}", headers, body)

    def put_archive_part(
        self, workspace: str, token: str, session: str, offset: int, part: bytes
    ) -> StoredArchive:
        """Append a part to an archive. A part that is already there is accepted too."""
        headers = [
            "Content-Type: application/x-ndjson",
            "Content-Encoding: zstd",
            f"Content-Range: bytes {offset}-{offset + len(part) - 1}/*",
            f"X-Write-Token: {token}",
            f"X-Sha256: {hashlib.sha256(part).hexdigest()}",
        ]
        path = f"/archives/{quote(workspace, safe='')}/{quote(session, safe='')}"
        try:
            reply = self._request("PUT", path, headers, zstd.compress(part, _COMPRESSION_LEVEL))
        except remote.ServerRefusal as refusal:
            if refusal.code != "conflict":
                raise
            raise ArchiveDiffers(self._get_stored(path)) from None
        stored = _parse_stored(reply)
        if stored.bytes != offset + len(part):
            raise ArchiveDiffers(stored)
        return stored

    def _get_stored(self, path: str) -> StoredArchive:
        try:
            return _parse_stored(self._request("GET", path, [], b""))
        except remote.ServerRefusal as refusal:
            if refusal.code != "not_found":
                raise
            return StoredArchive(0, "")

    def _request(self, method: str, path: str, headers: list[str], body: bytes) -> dict[str, Any]:
        url = self._server.url
        request = build_request(url, method, path, [*headers, *self._server.authorization()], body)
        try:
            answer = send_repeatable(self._pool, url, request, _REQUEST_SECONDS)
        except (OSError, ValueError) as error:
            raise remote.unreachable(self._server, error) from None
        if answer.status in _TRY_LATER:
            raise remote.ServerUnreachable(f"The server at {url} asks to try later ({answer.status}).")
        return remote.decode_reply(self._server, answer)


def _parse_stored(reply: dict[str, Any]) -> StoredArchive:
    return StoredArchive(int(reply["bytes"]), str(reply["sha256"]))
