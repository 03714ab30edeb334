"""Subscriptions of older MCP clients in the store: made through any replica, they reach the stream on any other.

So does the end of a session (DELETE): its subscriptions go, and a row with an empty address stays for as long as the id
of the session would be valid.

A replica reads them when a stream opens, and again when another replica announces a change. What a subscription is
allowed to see is checked where the stream is (`mcp/legacy/legacy_http.py`).
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from commonplace import background
from commonplace.access import SHARED
from commonplace.clock import MINUTE, SECOND, Clock
from commonplace.edges.limits import ClientLimits
from commonplace.events import EventBus
from commonplace.store.database import Database, Tx

_CHANNEL = ":mcp-subscriptions"
"""Announced like a project; no project has such a name."""
_CHECK_SECONDS = 30.0
_CLEANUP_SECONDS = 3600.0
_LATE_COMMIT = MINUTE
_ENDED = ""
"""In the place of an address: the session has ended."""

OnSubscriptions = Callable[[frozenset[str]], None]


class SharedSubscriptions:
    def __init__(self, database: Database, bus: EventBus, clock: Clock) -> None:
        self._database, self._bus, self._clock = database, bus, clock
        self._followers: dict[str, tuple[OnSubscriptions, frozenset[str]]] = {}
        self._wake = asyncio.Event()
        self._on_ended: list[Callable[[str], None]] = []
        self._ended_read_until = 0
        self._works: list[background.BackgroundWork] = []

    def open(self) -> None:
        self._bus.watch_project(_CHANNEL, self._wake.set)
        self._works = [
            background.every(0, self._tell_followers, name="mcp subscriptions"),
            background.every(_CLEANUP_SECONDS, self._delete_old, name="mcp subscription cleanup"),
        ]

    async def close(self) -> None:
        for work in self._works:
            await background.stop(work)

    async def add(self, session: str, uri: str) -> None:
        await self._database.write(partial(_insert_subscription, session=session, uri=uri, now=self._clock()))
        self._bus.publish_committed({_CHANNEL})

    async def remove(self, session: str, uri: str | None = None) -> None:
        """Remove one subscription of a session, or all."""
        await self._database.write(partial(_delete_subscriptions, session=session, uri=uri))
        self._bus.publish_committed({_CHANNEL})

    async def end(self, session: str) -> None:
        """End a session for all replicas."""
        await self._database.write(partial(_end_session, session=session, now=self._clock()))
        self._bus.publish_committed({_CHANNEL})

    def watch_ended(self, on_ended: Callable[[str], None]) -> None:
        """Call this with every session that has ended, on whichever replica; it may be told more than once."""
        self._on_ended.append(on_ended)

    async def load(self, session: str) -> frozenset[str]:
        found = await self._database.read(partial(_list_subscriptions, sessions=[session]))
        return frozenset(found[session])

    async def follow(self, session: str, changed: OnSubscriptions) -> Callable[[], None]:
        """Call `changed` with all subscriptions of the session, at once and when they change; return how to stop it."""
        self._followers[session] = (changed, frozenset())
        try:
            uris = await self.load(session)
        except BaseException:
            self._forget_follower(session, changed)
            raise
        self._tell(session, uris)
        return lambda: self._forget_follower(session, changed)

    def _forget_follower(self, session: str, changed: OnSubscriptions) -> None:
        if session in self._followers and self._followers[session][0] is changed:
            del self._followers[session]

    async def _tell_followers(self) -> None:
        """Wait for a change; one statement reads the subscriptions of all streams of this replica."""
        if self._ended_read_until:  # not at the start
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CHECK_SECONDS):
                    await self._wake.wait()
        self._wake.clear()
        await self._tell_ended()
        if self._followers:
            found = await self._database.read(partial(_list_subscriptions, sessions=list(self._followers)))
            for session in list(self._followers):
                self._tell(session, frozenset(found[session]))

    async def _tell_ended(self) -> None:
        now, since = self._clock(), self._ended_read_until - _LATE_COMMIT
        ended = await self._database.read(partial(_list_ended_sessions, since=since))
        self._ended_read_until = now
        for session in ended:
            for on_ended in self._on_ended:
                on_ended(session)

    def _tell(self, session: str, uris: frozenset[str]) -> None:
        changed, known = self._followers.get(session, (None, uris))
        if changed is not None and uris != known:
            self._followers[session] = (changed, uris)
            changed(uris)

    async def _delete_old(self) -> None:
        """Sessions end after a week; what they were subscribed to goes with them."""
        before = self._clock() - ClientLimits().session_seconds * SECOND
        await self._database.write(partial(_delete_subscriptions_before, before=before))


async def _insert_subscription(tx: Tx, session: str, uri: str, now: int) -> None:
    await tx.run(
        "insert into mcp_subscription (project, session, uri, at) values ($1, $2, $3, $4)"
        " on conflict (project, session, uri) do nothing",
        SHARED,
        session,
        uri,
        now,
    )


async def _delete_subscriptions(tx: Tx, session: str, uri: str | None) -> None:
    statement = "delete from mcp_subscription where project = $1 and session = $2"
    if uri is None:
        await tx.run(statement, SHARED, session)
    else:
        await tx.run(f"{statement} and uri = $3", SHARED, session, uri)


async def _end_session(tx: Tx, session: str, now: int) -> None:
    await _delete_subscriptions(tx, session, None)
    await _insert_subscription(tx, session, _ENDED, now)


async def _list_ended_sessions(tx: Tx, since: int) -> list[str]:
    rows = await tx.all(
        "select session from mcp_subscription where project = $1 and at > $2 and uri = $3",
        SHARED,
        since,
        _ENDED,
    )
    return [row["session"] for row in rows]


async def _list_subscriptions(tx: Tx, sessions: list[str]) -> dict[str, set[str]]:
    rows = await tx.all(
        "select session, uri from mcp_subscription where project = $1 and session = any($2) and uri <> $3",
        SHARED,
        sessions,
        _ENDED,
    )
    found: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        found[row["session"]].add(row["uri"])
    return found


async def _delete_subscriptions_before(tx: Tx, before: int) -> None:
    await tx.run("delete from mcp_subscription where project = $1 and at < $2", SHARED, before)
