"""Relays an agent's lines to the server and the answers back: many requests at once, in both protocol eras."""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from commonplace.client.link.mcp_session import SUBSCRIBE, ProxySession
from commonplace.client.link.message import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LISTEN,
    REFUSED,
    Id,
    RpcMessage,
    RpcRefusal,
)
from commonplace.client.link.streams import ListenStream, PushStream, ReopenedStream
from commonplace.client.link.upstream import Exchange, McpUpstream, SessionLost

_CHUNK_BYTES: Final = 64 * 1024
# More than the server accepts: it has its own limit and answers with it.
_MAX_LINE_BYTES: Final = 16 * 1024 * 1024
_MAX_WORKERS: Final = 256
_MAX_STREAMS: Final = 64
_SESSION_ATTEMPTS: Final = 2
_STREAM_OPEN_SECONDS: Final = 2.0
# How long answers may take after the agent has closed its input.
_LAST_ANSWERS_SECONDS: Final = 5.0


class StdioRelay:
    def __init__(self, upstream: McpUpstream, descriptors: tuple[int, int] = (0, 1)) -> None:
        self._upstream = upstream
        self._input, self._output = descriptors
        self._write_lock = threading.Lock()
        self._free_slots = threading.BoundedSemaphore(_MAX_WORKERS)
        self._workers: set[threading.Thread] = set()
        self._session = ProxySession(upstream)
        self._push_stream: PushStream | None = None
        self._running: dict[Id, Exchange] = {}
        self._listening: dict[Id, ReopenedStream] = {}

    def run(self) -> None:
        """Relay until the agent closes its input; requests sent before that are answered."""
        for line in _read_lines(self._input):
            try:
                self._handle_line(line)
            except RpcRefusal as refused:
                self._write_line(refused.to_line(None))
        self._finish_answers()

    def _finish_answers(self) -> None:
        pushed = self._push_stream
        for stream in (*self._listening.values(), *([pushed] if pushed else [])):
            stream.stop_stream()
        until = time.monotonic() + _LAST_ANSWERS_SECONDS
        for worker in tuple(self._workers):
            worker.join(max(0.0, until - time.monotonic()))
        self._upstream.close()

    def _handle_line(self, line: bytes | None) -> None:
        if line is None:
            raise RpcRefusal(INVALID_REQUEST, f"a line may have at most {_MAX_LINE_BYTES} bytes")
        if not line.strip():
            return
        message = RpcMessage(line)
        if message.method == CANCELLED and not message.is_request:
            self._cancel_request(message.params.get("requestId"))
        elif message.method == LISTEN and message.is_stateless and message.id is not None:
            self._start_listening(message, message.id)
        else:
            self._start_exchange(message)

    def _start_exchange(self, message: RpcMessage) -> None:
        if message.method == "initialize" and not message.is_stateless:
            self._session.begin_session()
            self._start_job(partial(self._forward_initialize, message))
            return
        exchange = Exchange(message)
        if message.id is not None and message.is_request:
            self._running[message.id] = exchange
        self._start_job(partial(self._forward, exchange))

    def _start_job(self, job: Callable[[], None]) -> None:
        """Run the job in a thread; waits while too many are running."""
        self._free_slots.acquire()
        worker = threading.Thread(target=self._run_job, args=(job,), daemon=True)
        self._workers.add(worker)
        worker.start()

    def _run_job(self, job: Callable[[], None]) -> None:
        try:
            job()
        finally:
            self._workers.discard(threading.current_thread())
            self._free_slots.release()

    def _start_listening(self, message: RpcMessage, request_id: Id) -> None:
        if len(self._listening) >= _MAX_STREAMS:
            self._write_line(
                RpcRefusal(INVALID_REQUEST, f"at most {_MAX_STREAMS} streams at once").to_line(request_id)
            )
            return
        stream = ListenStream(self._upstream, self._write_line, message)
        self._listening[request_id] = stream
        threading.Thread(target=self._run_listening, args=(stream, message, request_id), daemon=True).start()

    def _run_listening(self, stream: ListenStream, message: RpcMessage, request_id: Id) -> None:
        with self._answer_failures(message):
            stream.run()
        self._listening.pop(request_id, None)

    def _cancel_request(self, request_id: object) -> None:
        """Closing the connection cancels the request in both eras; no answer follows."""
        if not isinstance(request_id, str | int):
            return
        if exchange := self._running.get(request_id):
            exchange.cancel_exchange()
        if stream := self._listening.get(request_id):
            stream.stop_stream()

    def _forward(self, exchange: Exchange) -> None:
        message = exchange.message
        with self._answer_failures(message):
            if message.is_stateless:
                for line in self._upstream.send_anywhere(exchange):
                    self._write_line(line)
            else:
                self._forward_in_session(exchange)
        if message.id is not None and self._running.get(message.id) is exchange:
            del self._running[message.id]

    def _forward_in_session(self, exchange: Exchange) -> None:
        self._session.is_open.wait()
        if exchange.message.method == SUBSCRIBE and self._push_stream is not None:
            # Changes from now on must find the stream open.
            self._push_stream.is_open.wait(_STREAM_OPEN_SECONDS)
        for _ in range(_SESSION_ATTEMPTS):
            lost = self._session.session_id
            exchange.session = self._session.session_headers()
            try:
                for line in self._upstream.send_anywhere(exchange):
                    self._session.remember_setting(exchange.message, line)
                    self._write_line(line)
            except SessionLost:
                self._session.renew_session(lost)
                self._open_push_stream()
            else:
                return
        raise RpcRefusal(REFUSED, "The server does not know the session that it just created.")

    def _forward_initialize(self, message: RpcMessage) -> None:
        exchange = Exchange(message)
        with self._answer_failures(message):
            for line in self._upstream.send_anywhere(exchange):
                self._session.record_introduction(message, exchange.session_id, line)
                self._write_line(line)
        if exchange.session_id:
            self._open_push_stream()
        self._session.is_open.set()

    def _open_push_stream(self) -> None:
        """Open the push stream for the current session, or reopen it."""
        if self._push_stream is not None:
            self._push_stream.reopen_stream()
            return
        self._push_stream = PushStream(self._upstream, self._write_line, self._session)
        threading.Thread(target=self._run_push_stream, args=(self._push_stream,), daemon=True).start()

    def _run_push_stream(self, stream: PushStream) -> None:
        stream.run()
        self._push_stream = None

    @contextlib.contextmanager
    def _answer_failures(self, message: RpcMessage) -> Iterator[None]:
        """Answer a request with an error, whatever fails."""
        try:
            yield
        except RpcRefusal as refused:
            self._write_refusal(message, refused)
        except Exception as wrong:  # noqa: BLE001 - the outermost line: an agent waits for an answer
            self._write_refusal(
                message, RpcRefusal(INTERNAL_ERROR, f"Internal error of the proxy: {wrong!r}")
            )

    def _write_refusal(self, message: RpcMessage, refused: RpcRefusal) -> None:
        if message.is_request:
            self._write_line(refused.to_line(message.id))

    def _write_line(self, line: bytes) -> None:
        """Write a whole line; an agent that has gone away is ignored."""
        rest = memoryview(line + b"\n")
        with self._write_lock, contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(self._output, rest) :]


def _read_lines(descriptor: int) -> Iterator[bytes | None]:
    """Each line without its end; None for a line that was too long and was skipped."""
    line, skipping = bytearray(), False
    while chunk := _read_chunk(descriptor):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line += part
            yield None if skipping or len(line) > _MAX_LINE_BYTES else bytes(line)
            line, skipping = bytearray(), False
        line += rest
        if len(line) > _MAX_LINE_BYTES:
            line, skipping = bytearray(), True
    if line or skipping:
        yield None if skipping else bytes(line)


def _read_chunk(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK_BYTES)
    except OSError:
        return b""
