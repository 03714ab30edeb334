"""What is stored at the end of a run, read past all code of the product."""

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw
import asyncpg

_QUERIES = {
    "document": "select project, id, title, type from document where project like $1",
    "message": "select project, id, subject as title, 'message' as type from message where project like $1",
    "backlog": "select project, id, title, 'backlog' as type from backlog where project like $1",
}
_KINDS = {"adr": "store", "learning": "learning", "message": "message", "backlog": "backlog"}
_EVENTS = (
    "select project, n, kind, actor, audience, body from event where project like $1 order by project, n"
)
_AUDIT = (
    "select operation, count(*) as n from audit where project like $1 and outcome = 'ok' group by operation"
)


@dataclass(slots=True)
class StoredEvent:
    number: int
    kind: str
    actor: str
    body: dict[str, Any]
    is_for_everyone: bool
    """Followers without an agent, on a server without keys, see every inbox as well."""


@dataclass(slots=True)
class StoredState:
    ids: dict[str, dict[str, list[str]]] = field(default_factory=dict)
    """By table and marker (title or subject)."""
    rows_of_kind: Counter[str] = field(default_factory=Counter)
    audited: Counter[str] = field(default_factory=Counter)
    events: dict[str, list[StoredEvent]] = field(default_factory=dict)
    damage: list[str] = field(default_factory=list)


def build_state(rows: dict[str, list[Any]]) -> StoredState:
    state = StoredState()
    for table in _QUERIES:
        ids: dict[str, list[str]] = defaultdict(list)
        for row in rows[table]:
            ids[row["title"]].append(row["id"])
            state.rows_of_kind[_KINDS[row["type"]]] += 1
        state.ids[table] = dict(ids)
    state.audited = Counter({row["operation"]: row["n"] for row in rows["audit"]})
    events: dict[str, list[StoredEvent]] = defaultdict(list)
    for row in rows["event"]:
        is_visible = row["audience"].partition(":")[0] in ("", "inbox")
        events[row["project"]].append(
            StoredEvent(row["n"], row["kind"], row["actor"], json.loads(row["body"]), is_visible)
        )
    state.events = dict(events)
    return state


def read_sqlite(database: Path, projects: str) -> StoredState:
    """Open the file of a server that has stopped; `projects` is a pattern of LIKE."""
    connection = apsw.Connection(str(database))
    try:
        rows = {
            name: _fetch(connection, sql, projects)
            for name, sql in (_QUERIES | {"event": _EVENTS, "audit": _AUDIT}).items()
        }
        state = build_state(rows)
        found = connection.execute("pragma quick_check").fetchall()
        state.damage = [f"quick_check: {line}" for (line,) in found if line != "ok"]
        return state
    finally:
        connection.close()


def _fetch(connection: apsw.Connection, sql: str, projects: str) -> list[dict[str, Any]]:
    cursor = connection.cursor()
    cursor.row_trace = lambda tracing, row: dict(
        zip((column[0] for column in tracing.get_description()), row, strict=True)
    )
    return list(cursor.execute(sql.replace("$1", "?1"), (projects,)))


async def read_postgres(dsn: str, projects: str) -> StoredState:
    connection = await asyncpg.connect(dsn)
    try:
        queries = _QUERIES | {"event": _EVENTS, "audit": _AUDIT}
        return build_state({name: await connection.fetch(sql, projects) for name, sql in queries.items()})
    finally:
        await connection.close()
