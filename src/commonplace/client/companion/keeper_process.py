"""`commonplace hook keeper SECONDS`: send the requests of hooks on over warm connections, until nobody asks any more."""

import contextlib
import json
import os
import select
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO

from commonplace.client.companion import keeper_socket
from commonplace.client.companion.keeper_socket import FrameStream
from commonplace.client.companion.server_record import ServerRecord
from commonplace.client.companion.warm_connections import ServerTarget, WarmConnections
from commonplace.client.file_lock import hold_lock
from commonplace.client.link import remote
from commonplace.client.link.kept_http import ConnectionCut, ConnectionFailed, KeptConnection, cut_on_error

_POLL_SECONDS = 1.0
_HOOK_SECONDS = 5.0
_LATE_SECONDS = 10.0
_DEFAULT_IDLE_SECONDS = 600.0
_SUCCESSION_SECONDS = 3.0
"""A keeper that was dismissed needs a moment to notice it."""


class ConnectionKeeper:
    def __init__(self, path: Path, idle_seconds: float) -> None:
        self._path, self._idle_seconds = path, idle_seconds
        self._warm = WarmConnections()
        self._used_at = time.monotonic()
        self._listening = _listen(path)
        self._inode = path.stat().st_ino

    def serve(self) -> None:
        threading.Thread(target=self._refresh_forever, daemon=True).start()
        with self._listening:
            while self._is_wanted():
                if not select.select([self._listening], [], [], _POLL_SECONDS)[0]:
                    continue
                connection = self._listening.accept()[0]
                threading.Thread(target=self._serve_hook, args=(connection,), daemon=True).start()
        if self._is_own_socket():
            self._path.unlink(missing_ok=True)
        self._warm.close()

    def open_connection(self, target: ServerTarget) -> None:
        threading.Thread(target=self._warm.open_warm, args=(target,), daemon=True).start()

    def _is_wanted(self) -> bool:
        return time.monotonic() - self._used_at < self._idle_seconds and self._is_own_socket()

    def _is_own_socket(self) -> bool:
        try:
            return self._path.stat().st_ino == self._inode
        except OSError:
            return False

    def _refresh_forever(self) -> None:
        while True:
            time.sleep(_POLL_SECONDS)
            self._warm.refresh_connections()

    def _serve_hook(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, EOFError, ValueError, KeyError):
            if not _is_own_user(connection):
                return
            connection.settimeout(_HOOK_SECONDS)
            with connection.makefile("rwb") as stream:
                stream.write(keeper_socket.greeting())
                stream.flush()
                head, request = keeper_socket.read_frame(stream)
                self._used_at = time.monotonic()
                self._answer_hook(stream, head, request)
                self._used_at = time.monotonic()

    def _answer_hook(self, stream: FrameStream, head: dict[str, Any], request: bytes) -> None:
        target = ServerTarget(str(head["url"]), str(head["ca_file"]))
        started = time.monotonic()
        deadline = started + float(head["seconds"])
        try:
            status, body = self._send_request(target, request, deadline)
        except ConnectionFailed as failed:
            keeper_socket.write_frame(stream, _describe_failure(failed), b"")
        except _AnswerIsLate as late:
            keeper_socket.write_frame(stream, {"failure": "timeout", "message": "timed out"}, b"")
            _await_late_answer(late.connection, ServerRecord(target.url), started)
        except ConnectionCut as cut:
            keeper_socket.write_frame(stream, _describe_failure(cut), b"")
        else:
            keeper_socket.write_frame(stream, {"status": status}, body)

    def _send_request(self, target: ServerTarget, request: bytes, deadline: float) -> tuple[int, bytes]:
        """Calls of hooks can be repeated, so a request that met a closed connection is sent again over a new one."""
        connection = self._warm.take_connection(target)
        if connection is not None:
            try:
                return self._send_over(target, connection, request, deadline)
            except ConnectionCut:
                connection.close()
        seconds = max(deadline - time.monotonic(), 0.001)
        connection = KeptConnection(target.url, connect_seconds=seconds, ca_file=target.ca_file)
        return self._send_over(target, connection, request, deadline)

    def _send_over(
        self, target: ServerTarget, connection: KeptConnection, request: bytes, deadline: float
    ) -> tuple[int, bytes]:
        connection.limit_seconds(max(deadline - time.monotonic(), 0.001))
        try:
            answer = connection.send(request)
            with cut_on_error():
                body = answer.read_body()
        except ConnectionCut as cut:
            if isinstance(cut.__cause__, TimeoutError):
                raise _AnswerIsLate(connection) from None
            raise
        if answer.keeps_connection:
            self._warm.give_back(target, connection)
        else:
            connection.close()
        return answer.status, body


class _AnswerIsLate(Exception):
    def __init__(self, connection: KeptConnection) -> None:
        super().__init__()
        self.connection = connection


def main(words: list[str]) -> int:
    """`words` is the command line: hook keeper [SECONDS]; the first line of standard input names a server."""
    path = keeper_socket.find_socket_path()
    if path is None:
        return 0
    idle_seconds = float(words[2]) if len(words) > 2 else _DEFAULT_IDLE_SECONDS  # noqa: PLR2004 - hook keeper SECONDS
    target = _read_target(sys.stdin.buffer)
    until = time.monotonic() + _SUCCESSION_SECONDS
    while not _serve_alone(path, idle_seconds, target) and time.monotonic() < until:
        time.sleep(_POLL_SECONDS / 10)
    return 0


def _serve_alone(path: Path, idle_seconds: float, target: ServerTarget | None) -> bool:
    """Serve, unless another keeper does."""
    with hold_lock(remote.client_home() / "keeper.lock") as is_alone:
        if is_alone:
            keeper = ConnectionKeeper(path, idle_seconds)
            if target is not None:
                keeper.open_connection(target)
            keeper.serve()
        return is_alone


def _read_target(stream: BinaryIO) -> ServerTarget | None:
    try:
        return ServerTarget(**json.loads(stream.readline(keeper_socket.MAX_LINE_BYTES)))
    except (ValueError, TypeError):
        return None


def _listen(path: Path) -> socket.socket:
    """A socket that only its owner can open, from its first moment on."""
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    mask = os.umask(0o177)
    try:
        listening.bind(str(path))
    finally:
        os.umask(mask)
    listening.listen(64)
    return listening


def _is_own_user(connection: socket.socket) -> bool:
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
    return int.from_bytes(credentials[4:8], sys.byteorder) == os.getuid()


def _describe_failure(error: Exception) -> dict[str, Any]:
    cause = error.__cause__
    if isinstance(cause, TimeoutError):
        return {"failure": "timeout", "message": str(error)}
    return {
        "failure": "refused" if isinstance(cause, ConnectionRefusedError) else "other",
        "message": str(error),
    }


def _await_late_answer(connection: KeptConnection, record: ServerRecord, started: float) -> None:
    """As `late_answer.py`: the server was slow and not away."""
    with contextlib.suppress(OSError):
        connection.limit_seconds(_LATE_SECONDS)
        if connection.socket.recv(1):
            record.record_answer(time.monotonic() - started)
    connection.close()
