"""From an agent's lines to the server and back: many requests at once, both eras at any time."""

import contextlib
import os
import threading
from collections.abc import Iterator
from functools import partial
from typing import Final

from commonplace.client.proxy.message import (
    CANCELLED,
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LISTEN,
    REFUSED,
    Id,
    Message,
    Refused,
)
from commonplace.client.proxy.session import SUBSCRIBE, Session
from commonplace.client.proxy.streams import Listening, Pushed, Stream
from commonplace.client.proxy.upstream import Exchange, SessionLost, Upstream
from commonplace.client.proxy.workers import Workers

_CHUNK: Final = 64 * 1024
# More than a server takes: it knows its own bound, and tells who asked.
_LONGEST_LINE: Final = 16 * 1024 * 1024
_AT_ONCE: Final = 256
_STREAMS: Final = 64
_SESSIONS: Final = 2
_OPENING_SECONDS: Final = 2.0
# How long answers may still take after the agent has closed its side.
_LAST_ANSWERS_SECONDS: Final = 5.0


class Relay:
    def __init__(self, upstream: Upstream, descriptors: tuple[int, int] = (0, 1)) -> None:
        self._upstream = upstream
        self._input, self._output = descriptors
        self._writing = threading.Lock()
        self._workers = Workers(_AT_ONCE)
        self._session = Session(upstream)
        self._pushed: Pushed | None = None
        self._running: dict[Id, Exchange] = {}
        self._listening: dict[Id, Stream] = {}

    def run(self) -> None:
        """Until the agent closes its side; what it asked before that is answered."""
        for line in _lines(self._input):
            try:
                self._take_line(line)
            except Refused as refused:
                self._write(refused.line(None))
        self._finish()

    def _finish(self) -> None:
        pushed = self._pushed
        for stream in (*self._listening.values(), *([pushed] if pushed else [])):
            stream.stop()
        self._workers.finish(_LAST_ANSWERS_SECONDS)
        self._upstream.close()

    def _take_line(self, line: bytes | None) -> None:
        if line is None:
            raise Refused(INVALID_REQUEST, f"a line may have at most {_LONGEST_LINE} bytes")
        if not line.strip():
            return
        message = Message(line)
        if message.method == CANCELLED and not message.asks:
            self._cancel(message.params.get("requestId"))
        elif message.method == LISTEN and message.modern and message.id is not None:
            self._listen(message, message.id)
        else:
            self._start(message)

    def _start(self, message: Message) -> None:
        if message.method == "initialize" and not message.modern:
            self._session.begin()
            self._workers.start(partial(self._introduce, message))
            return
        exchange = Exchange(message)
        if message.id is not None and message.asks:
            self._running[message.id] = exchange
        self._workers.start(partial(self._pass_on, exchange))

    def _listen(self, message: Message, request_id: Id) -> None:
        if len(self._listening) >= _STREAMS:
            self._write(Refused(INVALID_REQUEST, f"at most {_STREAMS} streams at once").line(request_id))
            return
        stream = Listening(self._upstream, self._write, message)
        self._listening[request_id] = stream
        threading.Thread(target=self._hear, args=(stream, message, request_id), daemon=True).start()

    def _hear(self, stream: Listening, message: Message, request_id: Id) -> None:
        with self._refusing(message):
            stream.run()
        self._listening.pop(request_id, None)

    def _cancel(self, request_id: object) -> None:
        """Closing the answer tells the server in both eras, and no answer follows."""
        if not isinstance(request_id, str | int):
            return
        if exchange := self._running.get(request_id):
            exchange.cancel()
        if stream := self._listening.get(request_id):
            stream.stop()

    def _pass_on(self, exchange: Exchange) -> None:
        message = exchange.message
        with self._refusing(message):
            if message.modern:
                for line in self._upstream.lines(exchange):
                    self._write(line)
            else:
                self._pass_on_in_session(exchange)
        if message.id is not None and self._running.get(message.id) is exchange:
            del self._running[message.id]

    def _pass_on_in_session(self, exchange: Exchange) -> None:
        self._session.open.wait()
        if exchange.message.method == SUBSCRIBE and self._pushed is not None:
            # What changes from now on has to find the stream open.
            self._pushed.opened.wait(_OPENING_SECONDS)
        for _ in range(_SESSIONS):
            lost = self._session.id
            exchange.session = self._session.headers()
            try:
                for line in self._upstream.lines(exchange):
                    self._session.remember(exchange.message, line)
                    self._write(line)
            except SessionLost:
                self._session.renew(lost)
                self._push()
            else:
                return
        raise Refused(REFUSED, "The server does not keep the session that it gave.")

    def _introduce(self, message: Message) -> None:
        exchange = Exchange(message)
        with self._refusing(message):
            for line in self._upstream.lines(exchange):
                self._session.introduced(message, exchange.session_id, line)
                self._write(line)
        if exchange.session_id:
            self._push()
        self._session.open.set()

    def _push(self) -> None:
        """The session's stream, opened for the session as it is now."""
        if self._pushed is not None:
            self._pushed.reopen()
            return
        self._pushed = Pushed(self._upstream, self._write, self._session)
        threading.Thread(target=self._hear_pushed, args=(self._pushed,), daemon=True).start()

    def _hear_pushed(self, stream: Pushed) -> None:
        stream.run()
        self._pushed = None

    @contextlib.contextmanager
    def _refusing(self, message: Message) -> Iterator[None]:
        """Who asked is answered, whatever happens."""
        try:
            yield
        except Refused as refused:
            self._refuse(message, refused)
        except Exception as wrong:  # noqa: BLE001 - the outermost line: an agent waits for an answer
            self._refuse(message, Refused(INTERNAL_ERROR, f"The proxy made a mistake: {wrong!r}"))

    def _refuse(self, message: Message, refused: Refused) -> None:
        if message.asks:
            self._write(refused.line(message.id))

    def _write(self, line: bytes) -> None:
        """Whole lines; an agent that has gone needs none."""
        rest = memoryview(line + b"\n")
        with self._writing, contextlib.suppress(OSError):
            while rest:
                rest = rest[os.write(self._output, rest) :]


def _lines(descriptor: int) -> Iterator[bytes | None]:
    """Each line without its end; None in place of one that was too long and has been skipped."""
    line, skipping = bytearray(), False
    while chunk := _read(descriptor):
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            line += part
            yield None if skipping or len(line) > _LONGEST_LINE else bytes(line)
            line, skipping = bytearray(), False
        line += rest
        if len(line) > _LONGEST_LINE:
            line, skipping = bytearray(), True
    if line or skipping:
        yield None if skipping else bytes(line)


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, _CHUNK)
    except OSError:
        return b""
