"""Events: declared types, stored rows, and the bus that delivers committed events to listeners. And the audit log.

The rows are the truth; notifications between processes only say "read the rows again". Operations emit events with
`call.emit`; `rooms/<room>/events.py` declares the types.
"""

import asyncio
import random
import secrets
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import msgspec

from commonplace import background, errors
from commonplace.access import Caller
from commonplace.clock import SECOND, Clock, read_wall_clock
from commonplace.resource import Resource
from commonplace.store.counters import add_to_counter
from commonplace.store.database import Database, Row, Tx

_POLL_SECONDS = 2.0
_PAGE_EVENTS = 500
_LAG_SHOWN_SECONDS = 60.0
_MAX_AUDIT_DETAIL_CHARACTERS = 500
# Ids of audit rows are no secrets; asking the system for each one lets go of the interpreter's lock in the writer.
_PROCESS = secrets.token_hex(8)
_audit_ids = random.Random(secrets.randbits(128))  # noqa: S311


class Event(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that became true. An empty `audience` means everyone who may read the project (`audience.py`)."""

    project: str
    kind: str
    uri: str
    at: int = 0
    n: int = 0
    actor: str = ""
    audience: str = ""
    body: dict[str, Any] = {}


EventListener = Callable[[Event], None]


@dataclass(frozen=True)
class EventType:
    """A kind of event, and the resource that it concerns: subscribers of that resource are notified.

    A room declares its types in `rooms/<room>/events.py` and lists them in its `Room`.
    """

    name: str
    resource: Resource
    item_resource: Resource | None = None
    """The resource of each single thing named by `id` or `ids` in the event's body; its subscribers are notified too."""

    def create_event(
        self,
        project: str,
        now: int,
        actor: str,
        body: dict[str, Any],
        address: Mapping[str, str] | None = None,
        audience: str = "",
    ) -> Event:
        """`address` fills the placeholders of the resource's template, besides `project`."""
        uri = self.resource.format_uri(**{"project": project} | dict(address or {}))
        return Event(project, self.name, uri, now, 0, actor, audience, body)

    def list_uris(self, event: Event) -> list[str]:
        """The addresses whose subscribers are notified of this event."""
        if self.item_resource is None:
            return [event.uri]
        (placeholder,) = self.item_resource.placeholders
        ids = [*event.body.get("ids", ()), *([event.body["id"]] if "id" in event.body else ())]
        return [event.uri, *(self.item_resource.format_uri(**{placeholder: identity}) for identity in ids)]


async def append_events(tx: Tx, events: list[Event]) -> None:
    """Number the events of each project without gaps, in the order of commits.

    Call it last: the project's counter is locked from here to the end of the transaction, which on PostgreSQL is one
    message if nothing is asked any more.
    """
    by_project: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        by_project[event.project].append(event)
    for project, project_events in sorted(by_project.items()):
        await add_to_counter(tx, project, "event", len(project_events))
        await tx.many(
            "insert into event (project, n, at, kind, uri, actor, audience, body)"
            " select project, n - $2, $3, $4, $5, $6, $7, $8 from counter where project = $1 and name = 'event'",
            [
                _row_from_event(event, later)
                for later, event in zip(range(len(project_events) - 1, -1, -1), project_events, strict=True)
            ],
        )


async def insert_audit_row(
    tx: Tx, project: str, now: int, operation: str, outcome: str, agent: str, caller: Caller, detail: str
) -> None:
    """Every write and every refusal leaves one row, in the transaction of the act itself."""
    await tx.queue(
        "insert into audit (project, at, id, operation, outcome, agent, key_id, role, detail)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        project,
        now,
        f"{_audit_ids.getrandbits(48):012x}",
        operation[:64],
        outcome,
        agent,
        caller.key,
        caller.role,
        detail[:_MAX_AUDIT_DETAIL_CHARACTERS],
    )


LATE_ROWS_SETTING = "audit_late_"


async def note_late_row(tx: Tx, now: int) -> None:
    """Tell who seals the audit log that a row has a stamp of a time that is sealed, because this clock was set back.

    It is in the transaction of the row: this process may be killed before it seals the row itself.
    """
    await tx.queue(
        "insert into setting (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
        f"{LATE_ROWS_SETTING}{_PROCESS}",
        f"{now} {_audit_ids.getrandbits(48):012x}",
    )


async def list_events_after(tx: Tx, project: str, n: int, limit: int = _PAGE_EVENTS) -> list[Event]:
    rows = await tx.all(
        "select project, n, at, kind, uri, actor, audience, body from event"
        " where project = $1 and n > $2 order by n limit $3",
        project,
        n,
        limit,
    )
    return [_event_from_row(row) for row in rows]


async def list_newest_events(
    tx: Tx, project: str, kinds: Sequence[str], since: int, limit: int
) -> list[Event]:
    """List events of these kinds since then, newest first."""
    rows = await tx.all(
        "select project, n, at, kind, uri, actor, audience, body from event"
        " where project = $1 and at > $2 and kind = any($3) order by at desc, n desc limit $4",
        project,
        since,
        list(kinds),
        limit,
    )
    return [_event_from_row(row) for row in rows]


async def load_last_event_number(tx: Tx, project: str) -> int:
    row = await tx.one("select n from counter where project = $1 and name = $2", project, "event")
    return int(row["n"]) if row else 0


class KeptNumbers(NamedTuple):
    """The numbers of the events of a project that are kept; `first` is after `last` if none is."""

    first: int
    last: int


async def load_kept_numbers(tx: Tx, project: str) -> KeptNumbers:
    """Load both in one statement: on PostgreSQL a read has no snapshot over several."""
    row = await tx.one(
        "select (select min(n) from event where project = $1) as first,"
        " (select n from counter where project = $1 and name = $2) as last",
        project,
        "event",
    )
    last = int(row["last"] or 0) if row else 0
    return KeptNumbers(int(row["first"]) if row and row["first"] else last + 1, last)


async def list_last_event_numbers(tx: Tx) -> dict[str, int]:
    """The number of the last event of every project."""
    rows = await tx.all("select project, n from counter where name = $1 -- every project", "event")
    return {row["project"]: int(row["n"]) for row in rows}


async def list_numbers_before(tx: Tx, projects: list[str], at: int) -> dict[str, int]:
    """The number of the last event of each project that is older than this time; 0 where none is."""
    rows = await tx.all(
        "select project, max(n) as n from event where project = any($1) and at < $2 group by project",
        projects,
        at,
    )
    return dict.fromkeys(projects, 0) | {row["project"]: int(row["n"]) for row in rows}


async def load_last_event_time(tx: Tx, projects: list[str]) -> int | None:
    """The time of the latest event of these projects; None if they have none."""
    row = await tx.one(
        "select max(event.at) as at from counter join event on event.project = counter.project and event.n = counter.n"
        " where counter.project = any($1) and counter.name = $2",
        projects,
        "event",
    )
    return row["at"] if row else None


class EventBus:
    """Delivers event rows to listeners, whichever replica wrote them."""

    def __init__(self, database: Database, clock: Clock = read_wall_clock) -> None:
        self._database, self._clock = database, clock
        self._last_lag_seconds, self._last_delivery = 0.0, 0.0
        self._waiting_since: float | None = None
        self._listeners: dict[str, set[EventListener]] = defaultdict(set)
        self._watchers: dict[str, list[Callable[[], None]]] = defaultdict(list)
        self._listeners_to_all: set[Callable[[], None]] = set()
        self._cursor: dict[str, int] = {}
        self._dirty: set[str] = set()
        self._wake = asyncio.Event()
        self._delivering: background.BackgroundWork | None = None

    @property
    def lag_seconds(self) -> float:
        """How late the events of the last minute were; while delivery fails, how long events have been waiting."""
        now = time.monotonic()
        waiting = now - self._waiting_since if self._waiting_since is not None else 0.0
        is_recent = now - self._last_delivery < _LAG_SHOWN_SECONDS
        return max(self._last_lag_seconds if is_recent else 0.0, waiting)

    async def open(self) -> None:
        await self._database.listen(self.wake_listeners)
        self._delivering = background.every(0, self._deliver_events, name="events", essential=True)

    async def close(self) -> None:
        await self._database.stop_listening()
        await background.stop(self._delivering)

    def publish_committed(self, projects: set[str]) -> None:
        """Tell listeners, here and in other replicas, that this process committed events of these projects."""
        if not projects:
            return
        self._database.announce(projects)
        self.wake_listeners(projects)

    def watch_project(self, project: str, callback: Callable[[], None]) -> None:
        """Call `callback` before the reply of the call is sent: for caches that must never be stale."""
        self._watchers[project].append(callback)

    def listen_to_all(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener` when any project may have new events; return a function that stops it."""
        self._listeners_to_all.add(listener)
        return lambda: self._listeners_to_all.discard(listener)

    def wake_listeners(self, projects: set[str] | None) -> None:
        """These projects have new events; None means that any project may have."""
        for listener in tuple(self._listeners_to_all):
            listener()
        projects = self._watchers.keys() | self._listeners.keys() if projects is None else projects
        for project in projects & self._watchers.keys():
            for callback in self._watchers[project]:
                callback()
        changed = projects & self._listeners.keys()
        if changed:
            self._waiting_since = self._waiting_since or time.monotonic()
            self._dirty |= changed
            self._wake.set()

    async def listen_to_project(self, project: str, listener: EventListener) -> Callable[[], None]:
        """Call `listener` for every event from now on; return a function that stops it."""
        if project not in self._listeners:
            self._cursor[project] = await self._database.read(lambda tx: load_last_event_number(tx, project))
        self._listeners[project].add(listener)
        return lambda: self._remove_listener(project, listener)

    def _remove_listener(self, project: str, listener: EventListener) -> None:
        self._listeners[project].discard(listener)
        if not self._listeners[project]:
            del self._listeners[project]
            self._cursor.pop(project, None)

    async def _deliver_events(self) -> None:
        """Wait until some project has news, or for the time of the poll, and deliver; an error keeps what is left."""
        try:
            async with asyncio.timeout(0 if self._dirty else _POLL_SECONDS):
                await self._wake.wait()
        except TimeoutError:
            self._dirty |= self._dirty or self._listeners.keys()
        self._wake.clear()
        for project in list(self._dirty):
            self._dirty.discard(project)
            try:
                await self._deliver_project(project)
            except errors.Unavailable:
                self._dirty.add(project)
                raise
        if not self._dirty:
            self._waiting_since = None

    async def _deliver_project(self, project: str) -> None:
        while project in self._listeners:
            since = self._cursor[project]
            events = await self._database.read(partial(list_events_after, project=project, n=since))
            if events:
                self._last_lag_seconds = max(0, self._clock() - events[0].at) / SECOND
                self._last_delivery = time.monotonic()
            for event in events:
                self._cursor[project] = event.n
                for listener in list(self._listeners.get(project, ())):
                    listener(event)
            if len(events) < _PAGE_EVENTS:
                return


def _row_from_event(event: Event, later: int) -> tuple[str | int, ...]:
    """`later` is how many events of the same transaction follow."""
    body = msgspec.json.encode(event.body).decode()
    return (event.project, later, event.at, event.kind, event.uri, event.actor, event.audience, body)


def _event_from_row(row: Row) -> Event:
    fields = {name: row[name] for name in ("project", "kind", "uri", "at", "n", "actor", "audience")}
    return Event(**fields, body=msgspec.json.decode(row["body"]))
