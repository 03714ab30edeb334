"""SQL for the sessions of the web page and the one-time links that start them; both are stored as digests."""

from commonplace.access import ALL_PROJECTS, SHARED, Caller
from commonplace.identity.names import find_alike, name_key_holder
from commonplace.rooms.admin.store import decode_names, hash_secret
from commonplace.store.database import Row, Tx

_MAX_NAME_CHARACTERS = 64
_KEY_PREFIX = "key_"
_ADMIN_ROLES = frozenset({"admin", "owner"})


async def insert_browser_secret(
    tx: Tx, kind: str, secret: str, key_id: str, agent: str, now: int, expires_at: int
) -> None:
    await tx.run(
        "insert into browser_session (project, hash, kind, key_id, agent, created_at, expires_at)"
        " values ($1, $2, $3, $4, $5, $6, $7)",
        SHARED,
        hash_secret(secret),
        kind,
        key_id,
        agent,
        now,
        expires_at,
    )


async def find_browser_secret(tx: Tx, kind: str, secret: str, now: int) -> Row | None:
    """The key and agent that a live link or session belongs to."""
    return await tx.one(
        "select key_id, agent from browser_session where project = $1 and hash = $2 and kind = $3 and expires_at > $4",
        SHARED,
        hash_secret(secret),
        kind,
        now,
    )


async def delete_browser_secret(tx: Tx, kind: str, secret: str) -> bool:
    """Whether it existed: of two callers that use one link at once, one gets True."""
    row = await tx.one(
        "delete from browser_session where project = $1 and hash = $2 and kind = $3 returning hash",
        SHARED,
        hash_secret(secret),
        kind,
    )
    return row is not None


async def delete_browser_sessions_of_key(tx: Tx, key_id: str) -> int:
    rows = await tx.all(
        "delete from browser_session where project = $1 and key_id = $2 returning kind", SHARED, key_id
    )
    return sum(row["kind"] == "session" for row in rows)


async def list_people(tx: Tx, project: str, now: int) -> dict[str, bool]:
    """The people who are signed in to the web page and may use this project, and whether each administers it."""
    rows = await tx.all(
        "select distinct agent, key_id from browser_session where project = $1 and kind = 'session' and expires_at > $2",
        SHARED,
        now,
    )
    keys = await tx.all(
        "select id, role, projects from api_key where id = any($1) and revoked_at is null"
        " and (expires_at is null or expires_at > $2)",
        [row["key_id"] for row in rows],
        now,
    )
    key_by_id = {key["id"]: key for key in keys}
    people: dict[str, bool] = {}
    for row in rows:
        key = key_by_id.get(row["key_id"])
        if key is None and row["key_id"].startswith(_KEY_PREFIX):
            continue
        if key is None or decode_names(key["projects"]) & {project, ALL_PROJECTS}:
            people[row["agent"]] = key is None or key["role"] in _ADMIN_ROLES
    return people


async def name_person(tx: Tx, caller: Caller, now: int) -> str:
    """The agent that a person acts as: the agent of the key, else the name of the key.

    A name that another key is bound to stays that key's: the id of the own key then tells the two apart.
    """
    if caller.agent:
        return caller.agent
    row = await tx.one("select name from api_key where id = $1", caller.key)
    name = name_key_holder(row["name"] if row else caller.key)
    rows = await tx.all(
        "select agent from api_key where agent <> '' and id <> $1 and revoked_at is null"
        " and (expires_at is null or expires_at > $2)",
        caller.key,
        now,
    )
    taken = find_alike(name, [row["agent"] for row in rows]) is not None
    return f"{name[: _MAX_NAME_CHARACTERS - len(caller.key) - 1]}:{caller.key}" if taken or not name else name
