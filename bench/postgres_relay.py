"""A PostgreSQL that is far away: a relay on this machine that delays every byte and counts round trips.

Used by the benchmarks and by the test that counts round trips per call.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit, urlunsplit

_DEFAULT_PORT = 5432


class PostgresRelay:
    """Relays to the server of this address. `dsn` is the relay's own address, with the same database."""

    def __init__(self, target_dsn: str, round_trip_seconds: float = 0.0) -> None:
        self.round_trip_seconds = round_trip_seconds
        self.round_trips = 0
        self.dsn = ""
        self._target_dsn = target_dsn
        self._transports: set[asyncio.Transport] = set()
        self.connecting: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def run(self) -> AsyncIterator["PostgresRelay"]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _ClientSide(self), "127.0.0.1", 0)
        target = urlsplit(self._target_dsn)
        user = f"{target.username or 'postgres'}:{target.password or ''}"
        place = f"{user}@127.0.0.1:{server.sockets[0].getsockname()[1]}"
        self.dsn = urlunsplit((target.scheme, place, target.path, "", ""))
        try:
            yield self
        finally:
            server.close()
            await self._end_connections()

    async def connect_target(self, protocol: asyncio.Protocol) -> None:
        loop, target = asyncio.get_running_loop(), urlsplit(self._target_dsn)
        folder = parse_qs(target.query).get("host", [""])[0]
        if folder:
            path = Path(folder) / f".s.PGSQL.{target.port or _DEFAULT_PORT}"
            await loop.create_unix_connection(lambda: protocol, str(path))
        else:
            await loop.create_connection(lambda: protocol, target.hostname, target.port or _DEFAULT_PORT)

    async def _end_connections(self) -> None:
        """Wait until every connection is closed, also those that are only just being made."""
        while self.connecting or self._transports:
            connecting = tuple(self.connecting)
            for task in connecting:
                task.cancel()
            await asyncio.gather(*connecting, return_exceptions=True)
            self.cut_connections()
            await asyncio.sleep(0)

    def cut_connections(self) -> None:
        """End every connection at once, as a network does that loses its state."""
        for transport in tuple(self._transports):
            transport.abort()

    def track(self, transport: asyncio.Transport) -> None:
        self._transports.add(transport)

    def forget(self, transport: asyncio.Transport | None) -> None:
        if transport:
            self._transports.discard(transport)


class RelayedSide(asyncio.Protocol):
    """One end of a relayed connection; what it receives leaves at the other end half a round trip later, in order."""

    def __init__(self, relay: PostgresRelay) -> None:
        self.relay = relay
        self.transport: asyncio.Transport | None = None
        self.peer: RelayedSide | None = None
        self.waiting: list[bytes] = []
        self._delayed: deque[bytes] = deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.relay.track(transport)
        for data in self.waiting:
            transport.write(data)
        self.waiting.clear()

    def data_received(self, data: bytes) -> None:
        delay = self.relay.round_trip_seconds / 2
        if delay or self._delayed:
            self._delayed.append(data)
            asyncio.get_running_loop().call_later(delay, self._send_first_delayed)
        else:
            self.send_on(data)

    def _send_first_delayed(self) -> None:
        """Whichever timer ends first: when the delay gets shorter, bytes must not overtake those before them."""
        self.send_on(self._delayed.popleft())

    def send_on(self, data: bytes) -> None:
        if self.peer is None:
            return
        if self.peer.transport is None:
            self.peer.waiting.append(data)
        elif not self.peer.transport.is_closing():
            self.peer.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.relay.forget(self.transport)
        if self.peer and self.peer.transport:
            self.peer.transport.close()


class _ClientSide(RelayedSide):
    """What the product connects to. A round trip begins with its first bytes after an answer."""

    is_asking = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.peer = _ServerSide(self.relay)
        self.peer.peer = self
        connecting = asyncio.ensure_future(self._connect_peer(self.peer))
        self.relay.connecting.add(connecting)
        connecting.add_done_callback(self.relay.connecting.discard)

    async def _connect_peer(self, peer: "RelayedSide") -> None:
        try:
            await self.relay.connect_target(peer)
        except OSError:  # a server that does not run: the client sees its connection end
            if self.transport:
                self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if not self.is_asking:
            self.is_asking = True
            self.relay.round_trips += 1
        super().data_received(data)


class _ServerSide(RelayedSide):
    def data_received(self, data: bytes) -> None:
        assert isinstance(self.peer, _ClientSide)
        self.peer.is_asking = False
        super().data_received(data)
