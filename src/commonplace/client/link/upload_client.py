"""The uploader's calls to its server, over one connection that is reopened when the server has closed it."""

import hashlib
import json
import os
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from commonplace import zstd
from commonplace.client.link import remote
from commonplace.client.link.kept_http import ConnectionCut, ConnectionFailed, KeptConnection, cut_on_error
from commonplace.client.link.light_http import build_request
from commonplace.window import IDEMPOTENCY_HEADER

_READ_SECONDS = 60
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
        self._server = server
        self._connection: KeptConnection | None = None

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

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
        lines = [*headers, *self._server.authorization()]
        request = build_request(self._server.url, method, path, lines, body)
        try:
            status, answer = self._send(request)
            if status in _TRY_LATER:
                raise remote.ServerUnreachable(
                    f"The server at {self._server.url} asks to try later ({status})."
                )
            return remote.decode_reply(status, answer)
        except (ConnectionFailed, ConnectionCut, ValueError) as error:
            self.close()
            raise remote.unreachable(self._server, error) from None

    def _send(self, request: bytes) -> tuple[int, bytes]:
        """Send, and once more if the kept connection was closed: a repeated request is carried out once."""
        if self._connection is not None:
            try:
                return self._send_once(self._connection, request)
            except ConnectionCut:
                self.close()
        self._connection = KeptConnection(self._server.url, _READ_SECONDS)
        return self._send_once(self._connection, request)

    def _send_once(self, connection: KeptConnection, request: bytes) -> tuple[int, bytes]:
        with cut_on_error():
            answer = connection.send(request)
            body = answer.read_body()
        if not answer.keeps_connection:
            self.close()
        return answer.status, body


def _parse_stored(reply: dict[str, Any]) -> StoredArchive:
    return StoredArchive(int(reply["bytes"]), str(reply["sha256"]))
