"""SQL of agent memory. All entries of an agent are in one project, so that its usage is one row."""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.access import SHARED, Caller
from commonplace.store.database import Row, Tx

_IS_UNEXPIRED = "(expires_at is null or expires_at > $3)"
_SELECT_LISTED = "select key, session, version, size, updated_at, expires_at from context_memory"
_AGENTS_PER_SWEEP = 1000


@dataclass(frozen=True, slots=True)
class MemoryOwner:
    project: str
    agent: str


def find_memory_project(caller: Caller) -> str | None:
    """The project that stores this caller's agent memory: always the same one for the same key."""
    return SHARED if caller.sees_project(SHARED) else min(caller.projects, default=None)


async def add_usage(tx: Tx, owner: MemoryOwner, entries: int = 0, size: int = 0) -> tuple[int, int]:
    """Add to the agent's usage, return (entries, bytes), and row-lock the agent's memory until commit."""
    row = await tx.one(
        "insert into context_memory_usage (project, agent, entries, bytes) values ($1, $2, $3, $4)"
        " on conflict (project, agent) do update set entries = context_memory_usage.entries + excluded.entries,"
        " bytes = context_memory_usage.bytes + excluded.bytes returning entries, bytes",
        owner.project,
        owner.agent,
        entries,
        size,
    )
    return (row["entries"], row["bytes"]) if row else (entries, size)


async def load_stored_entry(tx: Tx, owner: MemoryOwner, session: str, key: str) -> Row | None:
    """Load the row, expired or not."""
    return await tx.one(
        "select version, size, expires_at, created_at from context_memory"
        " where project = $1 and agent = $2 and session = $3 and key = $4",
        owner.project,
        owner.agent,
        session,
        key,
    )


async def upsert_entry(
    tx: Tx,
    owner: MemoryOwner,
    session: str,
    key: str,
    value: str,
    metadata: str,
    size: int,
    version: int,
    created_at: int,
    now: int,
    expires_at: int | None,
) -> None:
    await tx.run(
        "insert into context_memory (project, agent, session, key, value, metadata, size, version, created_at,"
        " updated_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)"
        " on conflict (project, agent, session, key) do update set value = excluded.value,"
        " metadata = excluded.metadata, size = excluded.size, version = excluded.version,"
        " created_at = excluded.created_at, updated_at = excluded.updated_at, expires_at = excluded.expires_at",
        owner.project,
        owner.agent,
        session,
        key,
        value,
        metadata,
        size,
        version,
        created_at,
        now,
        expires_at,
    )


async def load_entry(tx: Tx, owner: MemoryOwner, session: str, key: str, now: int) -> Row | None:
    return await tx.one(
        "select key, session, value, metadata, version, created_at, updated_at, expires_at from context_memory"
        f" where project = $1 and agent = $2 and {_IS_UNEXPIRED} and session = $4 and key = $5",
        owner.project,
        owner.agent,
        now,
        session,
        key,
    )


async def list_entries(
    tx: Tx, owner: MemoryOwner, session: str | None, prefix: str, now: int
) -> Sequence[Row]:
    """List all unexpired entries of one scope (None = all scopes) whose keys have this prefix.

    There is no limit here because an agent's number of entries is limited.
    """
    return await tx.all(
        f"{_SELECT_LISTED} where project = $1 and agent = $2 and {_IS_UNEXPIRED}"
        " and (CAST($4 as text) is null or session = $4) and substr(key, 1, length($5)) = $5",
        owner.project,
        owner.agent,
        now,
        session,
        prefix,
    )


async def delete_entry(tx: Tx, owner: MemoryOwner, session: str, key: str) -> Row | None:
    return await tx.one(
        "delete from context_memory where project = $1 and agent = $2 and session = $3 and key = $4"
        " returning size, expires_at",
        owner.project,
        owner.agent,
        session,
        key,
    )


async def delete_expired_entries(tx: Tx, owner: MemoryOwner, now: int) -> tuple[int, int]:
    """Delete the agent's expired entries; return its usage after that."""
    deleted = await tx.all(
        "delete from context_memory where project = $1 and agent = $2 and expires_at <= $3 returning size",
        owner.project,
        owner.agent,
        now,
    )
    return await add_usage(tx, owner, -len(deleted), -sum(row["size"] for row in deleted))


async def count_expired_entries_of(tx: Tx, owner: MemoryOwner, now: int) -> int:
    row = await tx.one(
        "select count(*) as n from context_memory where project = $1 and agent = $2 and expires_at <= $3",
        owner.project,
        owner.agent,
        now,
    )
    return int(row["n"]) if row else 0


async def count_expired_entries(tx: Tx, project: str, now: int) -> int:
    row = await tx.one(
        "select count(*) as n from context_memory where project = $1 and expires_at <= $2", project, now
    )
    return int(row["n"]) if row else 0


async def list_owners_with_expired_entries(tx: Tx, projects: Sequence[str], now: int) -> list[MemoryOwner]:
    rows = await tx.all(
        "select distinct project, agent from context_memory where project = any($1)"
        " and expires_at is not null and expires_at <= $2 order by project, agent limit $3",
        projects,
        now,
        _AGENTS_PER_SWEEP,
    )
    return [MemoryOwner(row["project"], row["agent"]) for row in rows]


async def move_entries(tx: Tx, old: MemoryOwner, new: MemoryOwner) -> None:
    """Move all entries to another owner of the same project; of two with the same key the later one stays."""
    names = (old.project, old.agent, new.agent)
    columns = "session, key, value, metadata, size, version, created_at, updated_at, expires_at"
    changes = ", ".join(
        f"{column} = excluded.{column}" for column in columns.split(", ") if column not in ("session", "key")
    )
    await tx.run(
        f"insert into context_memory (project, agent, {columns})"
        f" select project, cast($3 as text), {columns} from context_memory where project = $1 and agent = $2"
        f" on conflict (project, agent, session, key) do update set {changes}"
        " where excluded.updated_at > context_memory.updated_at",
        *names,
    )
    await tx.run("delete from context_memory where project = $1 and agent = $2", *names[:2])
    await tx.run(
        "update context_memory_usage set (entries, bytes) = (select count(*), coalesce(sum(size), 0)"
        " from context_memory where project = $1 and agent = $2) where project = $1 and agent = $2",
        *(new.project, new.agent),
    )
    await tx.run("delete from context_memory_usage where project = $1 and agent = $2", *names[:2])
