"""Notifications between replicas: "read the events of these projects again". Hints only, and lost without harm.

NOTIFY inside a transaction serialises commits, so hints go out on a connection of their own, a few milliseconds apart.
Both directions are background work that reconnects for ever. Behind a pooler LISTEN hears nothing: there the listeners
are woken every second instead.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from commonplace import background
from commonplace.store.postgres_connection import PostgresHosts, PostgresTimeouts, limit_network_silence
from commonplace.store.postgres_errors import DRIVER_ERRORS, postgres_refusal

Heard = Callable[[set[str] | None], None]

_CHANNEL = "commonplace"
_NOTIFY_APART_SECONDS = 0.005
_MAX_PAYLOAD_BYTES = 7500
_NOTIFY = "begin; set local synchronous_commit = off; "
_CHECK_SECONDS = 5.0
_POLL_SECONDS = 1.0


class PostgresNotifications:
    def __init__(self, hosts: PostgresHosts, timeouts: PostgresTimeouts, *, pooled: bool) -> None:
        self._hosts, self._timeouts, self._pooled = hosts, timeouts, pooled
        self._dirty: set[str] = set()
        self._wake = asyncio.Event()
        self._tried = asyncio.Event()
        self._has_listened = False
        self._sender: Any = None
        self._receiver: Any = None
        self._callbacks: list[Heard] = []
        self._works: list[background.BackgroundWork] = []

    async def open(self, heard: Heard) -> None:
        """Start both directions; return when the first attempt to listen has ended."""
        self._callbacks.append(heard)
        if not self._works:
            self._tried.clear()
            self._has_listened = False
            listening = (
                background.every(_POLL_SECONDS, self._poll, name="event poll", first_after=0, essential=True)
                if self._pooled
                else background.every(0, self._guard(self._receive), name="notifications in", essential=True)
            )
            self._works = [listening, background.every(0, self._guard(self._send), name="notifications out")]
        await self._tried.wait()

    async def close(self) -> None:
        works, self._works = self._works, []
        for work in works:
            await background.stop(work)
        self._callbacks.clear()
        self._drop_connections()

    def announce(self, projects: set[str]) -> None:
        self._dirty |= projects
        self._wake.set()

    def _guard(self, act: Callable[[], Awaitable[None]]) -> background.Act:
        """Every error of the driver becomes a refusal, but for bugs."""

        async def guarded() -> None:
            try:
                await act()
            except DRIVER_ERRORS as error:
                refusal = postgres_refusal(error, self._hosts.dsn)
                if refusal is None:
                    raise
                raise refusal from error
            finally:
                self._tried.set()

        return guarded

    def _tell(self, projects: set[str] | None) -> None:
        for heard in self._callbacks:
            heard(projects)

    async def _poll(self) -> None:
        self._tell(None)
        self._tried.set()

    async def _send(self) -> None:
        """Send what waits; return now and then in any case."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                await self._wake.wait()
        if not self._dirty:
            self._wake.clear()
            return
        if self._sender is None or self._sender.is_closed():
            self._sender = await self._connect()
        self._wake.clear()
        projects, self._dirty = self._dirty, set()
        try:
            for payload in _split_payloads(projects):
                await self._sender.execute(
                    _NOTIFY + f"select pg_notify('{_CHANNEL}', {_quote(payload)}); commit"
                )
        except DRIVER_ERRORS:
            self.announce(projects)
            self._sender.terminate()
            raise
        await asyncio.sleep(_NOTIFY_APART_SECONDS)

    async def _receive(self) -> None:
        """Listen for a while. After a reconnect any project may have news: what was announced meanwhile is lost."""
        if self._receiver is None or self._receiver.is_closed():
            self._receiver = await self._connect()
            await self._receiver.add_listener(_CHANNEL, lambda *got: self._tell(set(got[3].split(","))))
            if self._has_listened:
                self._tell(None)
            self._has_listened = True
            self._tried.set()
        try:
            await _wait_for_termination(self._receiver)
            await self._receiver.execute("select 1")
        except DRIVER_ERRORS:
            self._receiver.terminate()
            raise

    async def _connect(self) -> Any:
        """Connect; a cancelled caller does not leave the connection open."""
        connecting = asyncio.ensure_future(
            self._hosts.connect(**self._timeouts.connection_settings(pooled=self._pooled))
        )
        try:
            connection = await asyncio.shield(connecting)
            await limit_network_silence(connection)
        except BaseException:
            with contextlib.suppress(*DRIVER_ERRORS):
                (await connecting).terminate()
            raise
        return connection

    def _drop_connections(self) -> None:
        for connection in (self._sender, self._receiver):
            if connection is not None and not connection.is_closed():
                connection.terminate()


async def _wait_for_termination(connection: Any) -> None:
    """Until the connection ends, at most until it is due for a check."""
    ended = asyncio.Event()

    def end(*_: object) -> None:
        ended.set()

    connection.add_termination_listener(end)
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_CHECK_SECONDS):
                await ended.wait()
    finally:
        connection.remove_termination_listener(end)


def _quote(payload: str) -> str:
    """A literal: one message to the server, where a parameter would need a prepared statement."""
    return "'" + payload.replace("'", "''") + "'"


def _split_payloads(projects: set[str]) -> list[str]:
    """Payloads of less than 8 kB, the limit of NOTIFY."""
    payloads: list[str] = []
    for project in sorted(projects):
        if payloads and len(f"{payloads[-1]},{project}".encode()) <= _MAX_PAYLOAD_BYTES:
            payloads[-1] += "," + project
        else:
            payloads.append(project)
    return payloads
