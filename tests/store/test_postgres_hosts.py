"""An address of several hosts: those that do not answer, or are not what is wanted, are passed over. A host that ends a
connection as soon as it is made is away."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import uvloop

from commonplace.store.faults import StoreFault
from commonplace.store.postgres import DEFAULT_TIMEOUTS
from commonplace.store.postgres_connection import PostgresHosts, limit_network_silence
from commonplace.store.postgres_errors import DRIVER_ERRORS, classify_postgres_error
from patience import PATIENCE_SECONDS
from stream_server import serve_streams


def _message(kind: bytes, content: bytes) -> bytes:
    return kind + struct.pack("!i", 4 + len(content)) + content


def _setting(name: str, value: str) -> bytes:
    return _message(b"S", f"{name}\0{value}\0".encode())


STANDBY = (
    _message(b"R", struct.pack("!i", 0))
    + _setting("server_version", "18.0")
    + _setting("client_encoding", "UTF8")
    + _setting("in_hot_standby", "on")
    + _message(b"K", struct.pack("!ii", 1, 2))
    + _message(b"Z", b"I")
)
"""What a standby says to a client that it lets in."""


async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    (length,) = struct.unpack("!i", await reader.readexactly(4))
    await reader.readexactly(length - 4)
    writer.write(STANDBY)


@pytest.fixture
async def standby(tmp_path: Path) -> AsyncIterator[Path]:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await greet(reader, writer)
        await reader.read()

    async with serve_streams(accept, tmp_path / ".s.PGSQL.5432"):
        yield tmp_path


async def test_standby_before_the_primary_is_passed_over(postgres_dsn: str, standby: Path):
    parts = urlsplit(postgres_dsn)
    primary = parts.query.rpartition("host=")[2]
    hosts = PostgresHosts(
        f"postgresql://{parts.username}@{parts.path}?host={standby},{primary}&target_session_attrs=read-write"
    )
    connection = await hosts.connect(**DEFAULT_TIMEOUTS.connection_settings(pooled=False))
    try:
        assert await connection.fetchval("select pg_is_in_recovery()") is False
    finally:
        await connection.close()


async def lose_new_connection() -> StoreFault:
    ended = asyncio.Event()
    async with asyncio.timeout(PATIENCE_SECONDS), serve_streams(greet) as server:
        port = server.sockets[0].getsockname()[1]
        hosts = PostgresHosts(f"postgresql://ann@127.0.0.1:{port}/shop?sslmode=disable")
        connection = await hosts.connect(**DEFAULT_TIMEOUTS.connection_settings(pooled=False))
        connection.add_termination_listener(lambda *_: ended.set())
        await ended.wait()
        with pytest.raises(DRIVER_ERRORS) as lost:
            await limit_network_silence(connection)
    return classify_postgres_error(lost.value)


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_connection_that_ends_as_soon_as_it_is_made_is_away(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
):
    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(lose_new_connection()) is StoreFault.AWAY
