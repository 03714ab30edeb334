"""SQL for keys, which are stored as SHA-256 of their secret, and for the audit log."""

import hashlib
import hmac
from collections.abc import Iterable, Sequence

import msgspec

from commonplace import errors
from commonplace.access import Caller
from commonplace.identity.names import find_alike, load_name_owners
from commonplace.identity.principal import choose_key_kind
from commonplace.store.database import Row, Tx

AUDIT_WINDOW_ROWS = 5000
"""A page reads at most this many audit rows, so that its cost does not grow with the log."""

_SELECT_KEY = (
    "select id, hash, name, role, projects, agent, agent_type, machines, workspaces, created_at, created_by,"
    " expires_at, revoked_at, last_used_at, person from api_key"
)
_IS_LIVE = "revoked_at is null and (expires_at is null or expires_at > $2)"
_MAX_LISTED_KEYS = 1000


def hash_secret(secret: str) -> str:
    # A secret from JSON may hold an unpaired surrogate: an unknown key, not an encoding error.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


async def find_caller_by_secret(tx: Tx, secret: str, now: int) -> Caller | None:
    """Return the caller of this key, or None if it is unknown, revoked or expired."""
    digest = hash_secret(secret)
    row = await tx.one(f"{_SELECT_KEY} where hash = $1 and {_IS_LIVE}", digest, now)
    if row is None or not hmac.compare_digest(row["hash"], digest):
        return None
    return _caller_from_key(row)


async def find_caller_by_key_id(tx: Tx, key_id: str, now: int) -> Caller | None:
    """Return the caller of a live key, for a session of the web page that was started with it."""
    row = await tx.one(f"{_SELECT_KEY} where id = $1 and {_IS_LIVE}", key_id, now)
    return _caller_from_key(row) if row else None


async def find_key_row(tx: Tx, key_id: str) -> Row | None:
    return await tx.one(f"{_SELECT_KEY} where id = $1", key_id)


def _caller_from_key(row: Row) -> Caller:
    return Caller(
        row["role"],
        decode_names(row["projects"]),
        row["id"],
        row["agent"],
        row["agent_type"] or "",
        machines=decode_names(row["machines"]),
        workspaces=decode_names(row["workspaces"]),
        kind=choose_key_kind(row["role"], row["agent"], is_persons_key=bool(row["person"])),
    )


def decode_names(encoded: str) -> frozenset[str]:
    return frozenset(msgspec.json.decode(encoded, type=list[str]))


async def insert_key(
    tx: Tx,
    id: str,
    secret: str,
    *,
    name: str,
    role: str,
    projects: Sequence[str],
    agent: str | None,
    agent_type: str | None,
    created_by: str,
    now: int,
    expires_at: int | None,
    machines: Sequence[str] = (),
    workspaces: Sequence[str] = (),
    is_person: bool = False,
) -> None:
    await tx.run(
        "insert into api_key (id, hash, name, role, projects, agent, agent_type, created_at, created_by, expires_at,"
        " machines, workspaces, person) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        id,
        hash_secret(secret),
        name,
        role,
        msgspec.json.encode(projects).decode(),
        agent,
        agent_type,
        now,
        created_by,
        expires_at,
        msgspec.json.encode(machines).decode(),
        msgspec.json.encode(workspaces).decode(),
        int(is_person),
    )


async def list_bound_names(tx: Tx, project: str, key: str, now: int) -> set[str]:
    """List the agent names of a project that belong to other keys than this one."""
    owners = await load_name_owners(tx, project, now)
    return {name for name, owner in owners.items() if key not in owner.keys}


async def require_free_agent_name(tx: Tx, agent: str, now: int) -> None:
    """Refuse to bind a key to a name that could be taken for the one of another key; the same name may have several."""
    rows = await tx.all(
        "select agent from api_key where agent <> '' and revoked_at is null"
        " and (expires_at is null or expires_at > $1)",
        now,
    )
    other = find_alike(agent, [row["agent"] for row in rows])
    if other not in (None, agent):
        raise errors.Conflict(
            f"The agent name '{agent}' looks the same as '{other}', which a key is bound to.",
            hint="Use that spelling if it is the same agent; else choose a name that looks different.",
        )


async def is_key_name_taken(tx: Tx, name: str, now: int) -> bool:
    return await tx.one(f"select 1 as yes from api_key where name = $1 and {_IS_LIVE}", name, now) is not None


async def has_other_owner_key(tx: Tx, id: str, now: int) -> bool:
    # A subject of access tokens (token_subjects.py) is an owner only as long as its issuer says so.
    owner = f"select 1 as yes from api_key where role = 'owner' and id <> $1 and hash <> id and {_IS_LIVE} limit 1"
    return await tx.one(owner, id, now) is not None


async def list_unrevoked_keys(tx: Tx, reference: str) -> Sequence[Row]:
    """List the keys that match a name, an id or the prefix of an id."""
    return await tx.all(
        f"{_SELECT_KEY} where revoked_at is null and (name = $1 or substr(id, 1, length($1)) = $1)"
        " order by created_at, id limit 20",
        reference,
    )


async def list_expiring_keys(tx: Tx, now: int, until: int) -> Sequence[Row]:
    """Keys that work now and no longer then."""
    return await tx.all(
        "select name, role, expires_at from api_key where revoked_at is null and expires_at > $1 and expires_at <= $2"
        " order by expires_at limit 20",
        now,
        until,
    )


async def list_all_keys(tx: Tx) -> Sequence[Row]:
    return await tx.all(f"{_SELECT_KEY} order by created_at desc, id limit $1", _MAX_LISTED_KEYS)


async def mark_key_revoked(tx: Tx, id: str, now: int) -> None:
    await tx.run("update api_key set revoked_at = $2 where id = $1 and revoked_at is null", id, now)


async def mark_keys_used(tx: Tx, uses: Iterable[tuple[str, int]]) -> None:
    await tx.many(
        "update api_key set last_used_at = $2 where id = $1 and (last_used_at is null or last_used_at < $2)",
        list(uses),
    )


async def list_audit_rows(
    tx: Tx,
    projects: Sequence[str] | None,
    before: tuple[int, str],
    event_type: str | None,
    agent: str | None,
    limit: int,
) -> Sequence[Row]:
    """List rows of the window before a position, newest first; `projects` None = all."""
    return await tx.all(
        "select project, at, id, operation, outcome, agent, key_id, role, detail from ("
        " select project, at, id, operation, outcome, agent, key_id, role, detail from audit"
        " where (at, id) < ($1, $2) order by at desc, id desc limit $3) as recent"
        " where ($4 = 1 or project = any($5))"
        " and (CAST($6 as text) is null or operation = $6 or outcome = $6"
        "  or substr(detail, 1, length($6) + 1) = $6 || ' ')"
        " and (CAST($7 as text) is null or agent = $7)"
        " order by at desc, id desc limit $8",
        *before,
        AUDIT_WINDOW_ROWS,
        int(projects is None),
        list(projects or ()),
        event_type,
        agent,
        limit,
    )


async def find_audit_window_end(tx: Tx, before: tuple[int, str]) -> tuple[int, str] | None:
    """Return where the window before a position ends, or None if no row is older."""
    row = await tx.one(
        "select at, id from audit where (at, id) < ($1, $2) order by at desc, id desc limit 1 offset $3"
        " -- every project",
        *before,
        AUDIT_WINDOW_ROWS - 1,
    )
    return (row["at"], row["id"]) if row else None


async def count_live_sessions_and_locks(tx: Tx, live_since: int, now: int) -> Row:
    row = await tx.one(
        "select"
        " (select count(*) from project cross join session where session.project = project.name"
        "   and session.ended_at is null and session.active_at > $1) as sessions,"
        " (select count(*) from project cross join lease where lease.project = project.name"
        "   and lease.expires_at > $2) as locks",
        live_since,
        now,
    )
    assert row is not None  # noqa: S101 - a select of scalars has one row
    return row


async def count_signals(tx: Tx, since: int) -> int:
    """The signals of all projects since a time."""
    row = await tx.one(
        "select count(*) as n from project cross join signal where signal.project = project.name and signal.at > $1",
        since,
    )
    return int(row["n"]) if row else 0
