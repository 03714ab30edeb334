"""An address of several hosts: those that do not answer, or are not what is wanted, are passed over."""

import asyncio
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from commonplace.store.postgres import DEFAULT_TIMEOUTS
from commonplace.store.postgres_connection import PostgresHosts
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


@pytest.fixture
async def standby(tmp_path: Path) -> AsyncIterator[Path]:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        (length,) = struct.unpack("!i", await reader.readexactly(4))
        await reader.readexactly(length - 4)
        writer.write(STANDBY)
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
