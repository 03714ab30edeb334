"""Time limits of every connection to PostgreSQL, so that a frozen peer on either side stops nobody else.

Limits of a transaction are set with its BEGIN, in the same message: a pooler such as PgBouncer in transaction mode
refuses them as start-up parameters, and gives a session's own settings to other clients. Limits of a network connection
are set once on each socket; on the server's side they may stay on the connection of a pooler, where they do no harm.
"""

import socket
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import asyncpg

from commonplace.store.postgres_errors import DRIVER_ERRORS

_FIRST_VERSION_WITH_TRANSACTION_TIMEOUT: Final = 17
_CACHED_STATEMENTS: Final = 100
_KEEPALIVE_IDLE_SECONDS: Final = 15
_KEEPALIVE_INTERVAL_SECONDS: Final = 5
_KEEPALIVE_COUNT: Final = 3
_UNACKNOWLEDGED_MILLISECONDS: Final = 20_000
# By name: not every system has all of them.
_SOCKET_OPTIONS: Final = {
    "TCP_KEEPIDLE": _KEEPALIVE_IDLE_SECONDS,
    "TCP_KEEPINTVL": _KEEPALIVE_INTERVAL_SECONDS,
    "TCP_KEEPCNT": _KEEPALIVE_COUNT,
    "TCP_USER_TIMEOUT": _UNACKNOWLEDGED_MILLISECONDS,
}
_SERVER_SIDE: Final = (
    f"set tcp_keepalives_idle = {_KEEPALIVE_IDLE_SECONDS};"
    f" set tcp_keepalives_interval = {_KEEPALIVE_INTERVAL_SECONDS};"
    f" set tcp_keepalives_count = {_KEEPALIVE_COUNT};"
    f" set tcp_user_timeout = {_UNACKNOWLEDGED_MILLISECONDS}"
)


class PostgresConnection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg is untyped
    def get_reset_query(self) -> str:
        """No session state is used, so a release needs no reset query."""
        return ""


@dataclass(frozen=True)
class PostgresTimeouts:
    """How long to wait for the server before a call is refused as unavailable, and how long it waits for us.

    A replica that freezes in the middle of a transaction is rolled back after `idle_seconds`; whoever waits for its
    locks waits a little longer, so that its call succeeds.
    """

    connect_seconds: float = 4
    acquire_seconds: float = 4
    command_seconds: float = 6
    lock_seconds: float = 5
    idle_seconds: float = 3
    transaction_seconds: float = 30

    def connection_settings(self, *, pooled: bool) -> dict[str, Any]:
        return {
            "connection_class": PostgresConnection,
            "timeout": self.connect_seconds,
            "command_timeout": self.command_seconds,
            "statement_cache_size": 0 if pooled else _CACHED_STATEMENTS,
            "server_settings": {"application_name": "commonplace"},
        }

    def format_begin(self, connection: Any, begin: str) -> str:
        """BEGIN with the limits of the transaction; every transaction starts with this message."""
        limits = {"lock_timeout": self.lock_seconds, "idle_in_transaction_session_timeout": self.idle_seconds}
        if connection.get_server_version().major >= _FIRST_VERSION_WITH_TRANSACTION_TIMEOUT:
            limits["transaction_timeout"] = self.transaction_seconds
        settings = (f"set local {name} = {seconds * 1000:.0f}" for name, seconds in limits.items())
        return "; ".join((begin, *settings))


_DAY_SECONDS: Final = 86_400
MIGRATION_TIMEOUTS: Final = PostgresTimeouts(
    command_seconds=_DAY_SECONDS, lock_seconds=_DAY_SECONDS, idle_seconds=60, transaction_seconds=0
)
"""For migrations: no statement is cut off, and a server waits for another one that migrates."""


_READ_TRAITS: Final = "select pg_backend_pid() as pid, current_setting('citus.version', true) as citus"


@dataclass(frozen=True, slots=True)
class ServerTraits:
    """A pooler hands sessions around, and then says another process id. Citus sends a SET to its workers with the whole
    message that it stands in, so that it has to travel alone."""

    is_pooled: bool
    has_citus: bool


class PostgresHosts:
    """Connects to one of the hosts of an address, beginning with the one that answered last.

    asyncpg tries several hosts within one time limit, so that a host whose network is gone would use it up.
    """

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self._addresses = _split_hosts(dsn)

    async def connect(self, _dsn: object = None, *, timeout: float, **settings: Any) -> Any:  # noqa: ASYNC109 - asyncpg's
        failed: BaseException | None = None
        for address in tuple(self._addresses):
            try:
                connection = await asyncpg.connect(
                    address, timeout=timeout / len(self._addresses), **settings
                )
            except DRIVER_ERRORS as error:  # a standby, where one that takes writes is wanted, is among them
                failed = error
                continue
            self._addresses.remove(address)
            self._addresses.insert(0, address)
            return connection
        raise failed or ValueError("no host in the address")

    async def inspect_server(self, timeouts: PostgresTimeouts) -> ServerTraits:
        connection = await self.connect(**timeouts.connection_settings(pooled=True))
        try:
            row = await connection.fetchrow(_READ_TRAITS)
            return ServerTraits(row["pid"] != connection.get_server_pid(), bool(row["citus"]))
        finally:
            connection.terminate()


def _split_hosts(dsn: str) -> list[str]:
    """An address for each host of `//user@a:5432,b:5432/database`, or of `//user@/database?host=a,b&port=5432,5433`."""
    parts = urlsplit(dsn)
    user, at, hosts = parts.netloc.rpartition("@")
    if hosts:
        return [urlunsplit(parts._replace(netloc=f"{user}{at}{host}")) for host in hosts.split(",")]
    query = dict(parse_qsl(parts.query))
    names = query.get("host", "").split(",")
    ports = query.get("port", "").split(",")
    queries = [
        query | {"host": name, "port": ports[n] if len(ports) == len(names) else ports[0]}
        for n, name in enumerate(names)
    ]
    return [
        urlunsplit(parts._replace(query=urlencode({key: text for key, text in each.items() if text})))
        for each in queries
    ]


async def limit_network_silence(connection: Any) -> None:
    """Notice a peer that vanished without closing the connection, on both sides; for every new connection."""
    plain = connection._transport.get_extra_info("socket")  # noqa: SLF001 - asyncpg has no other way to it
    if plain is None or plain.family not in (socket.AF_INET, socket.AF_INET6):
        return
    try:
        _set_socket_options(plain)
    except ValueError as closed:  # of uvloop, where asyncio has an OSError
        raise ConnectionResetError("The connection was lost as soon as it was made.") from closed
    await connection.execute(_SERVER_SIDE)


def _set_socket_options(plain: Any) -> None:
    plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _SOCKET_OPTIONS.items():
        if option := getattr(socket, name, None):
            plain.setsockopt(socket.IPPROTO_TCP, option, value)
