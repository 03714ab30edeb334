"""One large project as the page would show it: rows as the operations write them, inserted in bulk.

The words of the documents are not indexed: no view searches when it opens, and bench.retrieval measures search.
"""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from commonplace.clock import DAY, HOUR, MINUTE, read_wall_clock
from commonplace.rooms.knowledge.store import compute_digest
from commonplace.store.database import Database, Tx

PROJECT = "shop"
BATCH = 2000
FILES = 3000
_TEXT = "The cart rounds each line half to even before it adds the tax of the country of delivery. " * 8
_KINDS = ("DocumentStored", "MessageSent", "BacklogChanged", "FilesLocked", "AgentChanged")

Fields = dict[str, Any]


@dataclass(frozen=True)
class PageSizes:
    documents: int = 100_000
    messages: int = 50_000
    items: int = 10_000
    agents: int = 200
    events: int = 200_000
    audited: int = 100_000


async def fill_store(database: Database, sizes: PageSizes) -> None:
    now, chance = read_wall_clock(), random.Random(7)
    project = {"name": PROJECT, "display_name": PROJECT, "registered": 1, "ignore_case": 0, "created_at": now}
    tables = (
        ("project", iter([project])),
        ("document", _make_documents(sizes, now, chance)),
        ("message", _make_messages(sizes, now)),
        ("delivery", _make_deliveries(sizes, now)),
        ("backlog", _make_items(sizes, now, chance)),
        ("agent", _make_agents(sizes, now)),
        ("session", _make_sessions(sizes, now)),
        ("lease", _make_leases(sizes, now)),
        ("touched", _make_touched_files(sizes, now, chance)),
        ("work", _make_work(sizes, now)),
        ("event", _make_events(sizes, now)),
        ("audit", _make_audit(sizes, now)),
        ("counter", iter([{"project": PROJECT, "name": "event", "n": sizes.events}])),
    )
    for table, rows in tables:
        await _insert_all(database, table, rows)


async def _insert_all(database: Database, table: str, rows: Iterator[Fields]) -> None:
    batch: list[Fields] = []
    for row in rows:
        batch.append(row)
        if len(batch) == BATCH:
            await _insert_batch(database, table, batch)
            batch = []
    if batch:
        await _insert_batch(database, table, batch)


async def _insert_batch(database: Database, table: str, rows: list[Fields]) -> None:
    names = list(rows[0])
    places = ", ".join(f"${n}" for n in range(1, len(names) + 1))
    statement = f"insert into {table} ({', '.join(names)}) values ({places})"
    values = [tuple(row.values()) for row in rows]

    async def insert(tx: Tx) -> None:
        await tx.many(statement, values)

    await database.write(insert)


def _agent(n: int) -> str:
    return f"agent{n:03}"


def _session(n: int) -> str:
    """The digest of a session, whose first letters tell it from others on the page."""
    return hashlib.sha256(f"session {n}".encode()).hexdigest()


def _make_documents(sizes: PageSizes, now: int, chance: random.Random) -> Iterator[Fields]:
    """One in a thousand is disputed, one in two thousand suspicious."""
    empty = ("derived_from", "interface_name", "interface_version", "interface_owner", "interface_schema")
    for n in range(sizes.documents):
        at = now - (sizes.documents - n) * 90 * DAY // sizes.documents
        yield {
            "project": PROJECT,
            "id": f"doc_{n:012x}",
            "type": ("learning", "pattern", "adr", "architecture")[n % 4],
            "title": f"Rounding of line {n}",
            "content": _TEXT[: chance.randrange(200, len(_TEXT))],
            "status": "conflicted" if n % 1000 == 1 else "active",
            "author": _agent(n % sizes.agents),
            "tags": f'["tax","area{n % 40}"]',
            "files": "[]",
            "flags": '["instructions"]' if n % 2000 == 2 else "[]",
            **dict.fromkeys(empty, ""),
            "derived_from": "[]",
            "superseded_by": "",
            "digest": compute_digest(f"Rounding of line {n}", ""),
            "version": 1,
            "opened": 0,
            "recalled": 0,
            **dict.fromkeys(("created_at", "changed_at", "updated_at"), at),
        }


def _make_messages(sizes: PageSizes, now: int) -> Iterator[Fields]:
    """Threads of five messages; one message in five hundred asks for a person."""
    for n in range(sizes.messages):
        yield {
            "project": PROJECT,
            "id": f"msg_{n:012x}",
            "n": n,
            "sender": _agent(n % sizes.agents),
            "sender_project": PROJECT,
            "addressed_to": _agent((n + 1) % sizes.agents),
            "subject": f"Question {n // 5}",
            "body": _TEXT[:300],
            "priority": "normal",
            "category": "question" if n % 3 == 0 else "info",
            "thread": f"msg_{n - n % 5:012x}",
            "reply_to": "",
            "chain_depth": n % 5,
            "require_human": int(n % 500 == 7),
            "recipients": 1,
            "fingerprint": f"{n:x}",
            "created_at": now - (sizes.messages - n) * 30 * DAY // sizes.messages,
        }


def _make_deliveries(sizes: PageSizes, now: int) -> Iterator[Fields]:
    """Nobody completed anything: every delivery is open, which costs most."""
    for n in range(sizes.messages):
        yield {
            "project": PROJECT,
            "message": f"msg_{n:012x}",
            "agent": _agent((n + 1) % sizes.agents),
            "n": n,
            "rank": 2,
            "thread": f"msg_{n - n % 5:012x}",
            "category": "question" if n % 3 == 0 else "info",
            "state": n % 3,
            "note": "",
            "changed_by": "",
            "changed_at": now,
        }


def _make_items(sizes: PageSizes, now: int, chance: random.Random) -> Iterator[Fields]:
    """Seven of ten are open."""
    for n in range(sizes.items):
        at = now - (sizes.items - n) * 60 * DAY // sizes.items
        closed = n % 10 > 6
        status = "done" if closed else chance.choices(("open", "in_progress", "needs_info"), (97, 2, 1))[0]
        rank = n % 4
        yield {
            "project": PROJECT,
            "id": f"bl_{n:012x}",
            "n": n,
            "title": f"Item {n}",
            "description": _TEXT[:400],
            "priority": ("critical", "high", "medium", "low")[rank],
            "rank": rank,
            "status": status,
            "closed": int(closed),
            "assigned_to": _agent(n % sizes.agents) if n % 5 == 0 else "",
            "tags": '["tax"]',
            **dict.fromkeys(("milestone", "deferred_reason", "resolution"), ""),
            "completed_by": _agent(n % sizes.agents) if closed else "",
            "completed_at": at + HOUR if closed else None,
            "created_by": _agent(n % sizes.agents),
            "created_at": at,
            "updated_at": at,
            "version": 1,
        }


def _make_agents(sizes: PageSizes, now: int) -> Iterator[Fields]:
    for n in range(sizes.agents):
        yield {
            "project": PROJECT,
            "name": _agent(n),
            "tier": "named",
            "role_description": "",
            "path_patterns": "[]",
            "status": "busy",
            "current_task": f"Line {n}",
            "last_task": "",
            "session_count": 1,
            "heartbeat_at": now,
            "last_seen_at": now,
            "created_at": now - DAY,
        }


def _make_sessions(sizes: PageSizes, now: int) -> Iterator[Fields]:
    """One live session of each agent, and fifty that have ended."""
    empty = ("agent_type", "key_id", "role_description", "spawned_by", "tmux_target")
    for n in range(sizes.agents * 51):
        is_live = n < sizes.agents
        at = now if is_live else now - n * MINUTE
        yield {
            "project": PROJECT,
            "id": _session(n),
            "agent": _agent(n % sizes.agents),
            **dict.fromkeys(empty, ""),
            "task": f"Line {n}",
            "working_directory": "/home/ann/shop",
            "started_at": at - HOUR,
            "active_at": at,
            "ended_at": None if is_live else at,
        }


def _make_leases(sizes: PageSizes, now: int) -> Iterator[Fields]:
    for n in range(2 * sizes.agents):
        yield {
            "project": PROJECT,
            "path": f"src/part{n % 50}/file{n}.py",
            "session": _session(n // 2),
            "prefix": "",
            "mode": "exclusive",
            "agent": _agent(n // 2),
            "token": n,
            "reason": "tax",
            "ttl": HOUR,
            "granted_at": now,
            "expires_at": now + HOUR,
        }


def _make_touched_files(sizes: PageSizes, now: int, chance: random.Random) -> Iterator[Fields]:
    """What each agent edited in the last day."""
    for n in range(sizes.agents):
        for file in chance.sample(range(FILES), 30):
            yield {
                "project": PROJECT,
                "path": f"src/part{file % 50}/file{file}.py",
                "session": _session(n),
                "prefix": "",
                "agent": _agent(n),
                "at": now - chance.randrange(DAY),
            }


def _make_work(sizes: PageSizes, now: int) -> Iterator[Fields]:
    """Twenty pieces of work of each agent; the last one of every tenth agent is blocked."""
    for n in range(20 * sizes.agents):
        agent, place = divmod(n, 20)
        is_blocked = place == 19 and agent % 10 == 0
        yield {
            "project": PROJECT,
            "id": f"work_{n:012x}",
            "session": _session(agent),
            "agent": _agent(agent),
            "title": f"Line {n}",
            "status": "blocked" if is_blocked else "completed",
            "files": "[]",
            "notes": "All tests passed, 3f2a9c1d0b.",
            "blocked_by": "",
            "blocked_reason": "",
            "waiting_for": "rates" if is_blocked else "",
            "created_at": now - n * MINUTE,
            "updated_at": now - n * MINUTE,
        }


def _make_events(sizes: PageSizes, now: int) -> Iterator[Fields]:
    """Of the last week."""
    for n in range(1, sizes.events + 1):
        yield {
            "project": PROJECT,
            "n": n,
            "at": now - (sizes.events - n) * 7 * DAY // sizes.events,
            "kind": _KINDS[n % len(_KINDS)],
            "uri": f"agents://{PROJECT}",
            "actor": _agent(n % sizes.agents),
            "audience": "",
            "body": f'{{"n":{n}}}',
        }


def _make_audit(sizes: PageSizes, now: int) -> Iterator[Fields]:
    """Of the last day; one call in two hundred was refused."""
    for n in range(sizes.audited):
        yield {
            "project": PROJECT,
            "at": now - (sizes.audited - n) * DAY // sizes.audited,
            "id": f"{n:012x}",
            "operation": "memory_store",
            "outcome": "conflict" if n % 200 == 0 else "ok",
            "agent": _agent(n % sizes.agents),
            "key_id": "",
            "role": "agent",
            "detail": "",
        }
