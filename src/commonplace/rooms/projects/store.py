"""Projects and their rosters in the store."""

from collections.abc import Mapping, Sequence

import msgspec

from commonplace.store.database import Row, Tx
from commonplace.store.schema import project_tables

# The audit trail outlives what it tells of; counters give event numbers and fencing tokens that may never fall back,
# but for those that say how much is there.
_KEPT = frozenset({"audit", "counter"})
_AMOUNTS = ("documents", "entries", "entry_words")
_PROJECT = "select name, display_name, registered, ignore_case, created_at from project"
_MEMBER = "select project, name, tier, role_description, path_patterns, last_seen_at from agent"
_VISIBLE = "($1 = 1 or name = any($2))"
_MEMBERS = 200


async def register(tx: Tx, name: str, display_name: str | None, ignore_case: bool, now: int) -> Row | None:
    """The project, now registered; none if it was before."""
    return await tx.one(
        "insert into project (name, display_name, registered, ignore_case, created_at)"
        " values ($1, coalesce($2, $1), 1, $3, $4)"
        " on conflict (name) do update set registered = 1, ignore_case = excluded.ignore_case,"
        " display_name = coalesce($2, project.display_name) where project.registered = 0"
        " returning name, display_name, registered, ignore_case, created_at",
        name,
        display_name,
        int(ignore_case),
        now,
    )


async def find(tx: Tx, name: str) -> Row | None:
    return await tx.one(f"{_PROJECT} where name = $1", name)


async def visible(
    tx: Tx, names: Sequence[str] | None, without: str, limit: int, offset: int
) -> tuple[int, Sequence[Row]]:
    """How many projects there are among the names (none given = all), and one page of them."""
    seen = (int(names is None), list(names or ()), without)
    total = await tx.one(f"select count(*) as n from project where {_VISIBLE} and name <> $3", *seen)
    page = await tx.all(
        f"{_PROJECT} where {_VISIBLE} and name <> $3 order by name limit $4 offset $5", *seen, limit, offset
    )
    return (total["n"] if total else 0), page


async def members(tx: Tx, project: str) -> Sequence[Row]:
    return await tx.all(f"{_MEMBER} where project = $1 order by name limit $2", project, _MEMBERS)


async def member(tx: Tx, project: str, agent: str) -> Row | None:
    return await tx.one(f"{_MEMBER} where project = $1 and name = $2", project, agent)


async def put_member(
    tx: Tx,
    project: str,
    agent: str,
    tier: str | None,
    role_description: str | None,
    path_patterns: Sequence[str] | None,
    now: int,
) -> None:
    """On the roster with what was given; what was not stays. Who only waited to be let in is in."""
    await tx.run(
        "insert into agent (project, name, tier, role_description, path_patterns, status, current_task, last_task,"
        " session_count, created_at)"
        " values ($1, $2, coalesce($3, 'named'), coalesce($4, ''), coalesce($5, '[]'), 'idle', '', '', 0, $6)"
        " on conflict (project, name) do update set"
        " tier = coalesce($3, case when agent.tier = 'pending' then 'named' else agent.tier end),"
        " role_description = coalesce($4, agent.role_description),"
        " path_patterns = coalesce($5, agent.path_patterns)",
        project,
        agent,
        tier,
        role_description,
        _encoded(path_patterns),
        now,
    )


async def change_member(
    tx: Tx,
    project: str,
    agent: str,
    tier: str | None,
    role_description: str | None,
    path_patterns: Sequence[str] | None,
) -> None:
    await tx.run(
        "update agent set tier = coalesce($3, tier), role_description = coalesce($4, role_description),"
        " path_patterns = coalesce($5, path_patterns) where project = $1 and name = $2",
        project,
        agent,
        tier,
        role_description,
        _encoded(path_patterns),
    )


async def remove_member(tx: Tx, project: str, agent: str) -> bool:
    return await tx.run("delete from agent where project = $1 and name = $2", project, agent) > 0


async def remove(tx: Tx, project: str) -> dict[str, int]:
    """Everything that belongs to the project; how many rows of each table went."""
    removed = {}
    for table in await project_tables(tx):
        if table in _KEPT:
            continue
        row = await tx.one(f"select count(*) as n from {table} where project = $1", project)
        if row and row["n"]:
            await tx.run(f"delete from {table} where project = $1", project)
            removed[table] = int(row["n"])
    await tx.run("delete from counter where project = $1 and name = any($2)", project, _AMOUNTS)
    await tx.run("delete from project where name = $1", project)
    return removed


async def live_sessions(tx: Tx, projects: Sequence[str], live_since: int) -> Mapping[str, Row]:
    rows = await tx.all(
        "select project, count(*) as n, max(active_at) as active_at from session"
        " where project = any($1) and ended_at is null and active_at > $2 group by project",
        list(projects),
        live_since,
    )
    return {row["project"]: row for row in rows}


async def rosters(tx: Tx, projects: Sequence[str]) -> Mapping[str, Row]:
    rows = await tx.all(
        "select project, count(*) as n, max(last_seen_at) as seen_at from agent"
        " where project = any($1) group by project",
        list(projects),
    )
    return {row["project"]: row for row in rows}


async def active_sessions(tx: Tx, names: Sequence[str] | None, live_since: int) -> int:
    row = await tx.one(
        "select count(*) as n from project cross join session where ($1 = 1 or project.name = any($2))"
        " and session.project = project.name and session.ended_at is null and session.active_at > $3",
        int(names is None),
        list(names or ()),
        live_since,
    )
    return int(row["n"]) if row else 0


def _encoded(patterns: Sequence[str] | None) -> str | None:
    return None if patterns is None else msgspec.json.encode(patterns).decode()


_NAMES = 5000


async def names(tx: Tx) -> list[str]:
    return [row["name"] for row in await tx.all("select name from project order by name limit $1", _NAMES)]


async def beginning(
    tx: Tx,
    table: str,
    column: str,
    place: str,
    projects: Sequence[str],
    begun: str,
    limit: int,
    offered: str,
) -> list[str]:
    """What stands in a column of those of these projects' rows that are offered, and begins so."""
    rows = await tx.all(
        f"select distinct {column} as value from {table} where {place} = any($1)"
        f" and {offered} and substr({column}, 1, length($2)) = $2 order by {column} limit $3",
        projects,
        begun,
        limit,
    )
    return [row["value"] for row in rows]
