"""The sync client's calls to its server, over one connection that is opened again when it was closed."""

import contextlib
import hashlib
import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlsplit

from commonplace import zstd
from commonplace.client import reach

_SECONDS = 60
_LEVEL = 3
_TRY_LATER = frozenset({408, 429, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class Stored:
    """What the server holds of one archive."""

    bytes: int
    sha256: str


class Elsewhere(Exception):  # noqa: N818 - an answer, not a fault
    """The server holds other bytes of this archive than were thought."""

    def __init__(self, stored: Stored) -> None:
        super().__init__(stored.bytes)
        self.stored = stored


class Wire:
    def __init__(self, server: reach.Server) -> None:
        self._server = server
        parts = urlsplit(server.url)
        self._prefix = parts.path.rstrip("/")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)

    def close(self) -> None:
        self._connection.close()

    def call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        body = json.dumps(arguments).encode()
        return self._request("POST", f"/api/{operation}", body, {"Content-Type": "application/json"})

    def put(self, workspace: str, token: str, session: str, offset: int, part: bytes) -> Stored:
        """Append a part; a part that is there already is as good."""
        headers = {
            "Content-Type": "application/x-ndjson",
            "Content-Encoding": "zstd",
            "Content-Range": f"bytes {offset}-{offset + len(part) - 1}/*",
            "X-Write-Token": token,
            "X-Sha256": hashlib.sha256(part).hexdigest(),
        }
        place = _place(workspace, session)
        try:
            reply = self._request("PUT", place, zstd.compress(part, _LEVEL), headers)
        except reach.Refused as refused:
            if refused.code != "conflict":
                raise
            raise Elsewhere(self._stored(place)) from None
        stored = _stored(reply)
        if stored.bytes != offset + len(part):
            raise Elsewhere(stored)
        return stored

    def _stored(self, place: str) -> Stored:
        try:
            return _stored(self._request("GET", place, b"", {}))
        except reach.Refused as refused:
            if refused.code != "not_found":
                raise
            return Stored(0, "")

    def _request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
        keys = {"Authorization": f"Bearer {self._server.key}"} if self._server.key else {}
        try:
            status, text = self._exchange(method, self._prefix + path, body, headers | keys)
            reply = json.loads(text)
        except (OSError, http.client.HTTPException, ValueError) as away:
            self._connection.close()
            raise reach.Away(f"No server answers at {self._server.url} ({away}).") from None
        if status in _TRY_LATER:
            raise reach.Away(f"The server at {self._server.url} asks to try later ({status}).")
        if status != http.HTTPStatus.OK or not isinstance(reply, dict):
            raise reach.Refused(status, reply if isinstance(reply, dict) else {})
        return reply

    def _exchange(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        """A server may close a connection that rests; nothing that is sent here does harm when sent twice."""
        if self._connection.sock is not None:
            with contextlib.suppress(ConnectionError, http.client.HTTPException):
                return self._once(method, path, body, headers)
            self._connection.close()
        return self._once(method, path, body, headers)

    def _once(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        return response.status, response.read()


def _stored(reply: dict[str, Any]) -> Stored:
    return Stored(int(reply["bytes"]), str(reply["sha256"]))


def _place(workspace: str, session: str) -> str:
    return f"/archives/{quote(workspace, safe='')}/{quote(session, safe='')}"
