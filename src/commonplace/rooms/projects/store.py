"""SQL for projects and their rosters. The roster is the `agent` table; heartbeats are in `rooms/agents`."""

from collections.abc import Mapping, Sequence

import msgspec

from commonplace import errors
from commonplace.identity.liveness import is_live
from commonplace.search.words import ENTRY_COUNTER, WORD_COUNTER
from commonplace.store.database import Row, Tx
from commonplace.store.schema import project_tables

# The audit log outlives its project. Event numbers and fencing tokens must never decrease, so their counters stay;
# counters of amounts are reset.
_KEPT_TABLES = frozenset({"audit", "audit_seal", "counter"})
_AMOUNT_COUNTERS = ("documents", ENTRY_COUNTER, WORD_COUNTER)
_SELECT_PROJECT = "select name, display_name, registered, ignore_case, created_at from project"
_SELECT_MEMBER = "select project, name, tier, role_description, path_patterns, last_seen_at from agent"
_IS_VISIBLE = "($1 = 1 or name = any($2))"
_MAX_MEMBERS = 200


async def register_project(
    tx: Tx, name: str, display_name: str | None, ignore_case: bool, now: int
) -> Row | None:
    """Register the project; return None if it was already registered."""
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


async def load_project(tx: Tx, name: str) -> Row:
    row = await tx.one(f"{_SELECT_PROJECT} where name = $1", name)
    if row is None:
        raise errors.NotFound(
            f"Unknown project '{name}'.",
            hint="Call memory_list_projects for the names, or memory_project with action='create' to register it.",
        )
    return row


async def list_visible_projects(
    tx: Tx, names: Sequence[str] | None, excluded: str, limit: int, offset: int
) -> tuple[int, Sequence[Row]]:
    """Return the number of projects among `names` (None = all) and one page of them."""
    filters = (int(names is None), list(names or ()), excluded)
    total = await tx.one(f"select count(*) as n from project where {_IS_VISIBLE} and name <> $3", *filters)
    page = await tx.all(
        f"{_SELECT_PROJECT} where {_IS_VISIBLE} and name <> $3 order by name limit $4 offset $5",
        *filters,
        limit,
        offset,
    )
    return (total["n"] if total else 0), page


async def list_roster_members(tx: Tx, project: str) -> Sequence[Row]:
    return await tx.all(f"{_SELECT_MEMBER} where project = $1 order by name limit $2", project, _MAX_MEMBERS)


async def find_roster_member(tx: Tx, project: str, agent: str) -> Row | None:
    return await tx.one(f"{_SELECT_MEMBER} where project = $1 and name = $2", project, agent)


async def upsert_roster_member(
    tx: Tx,
    project: str,
    agent: str,
    tier: str | None,
    role_description: str | None,
    path_patterns: Sequence[str] | None,
    now: int,
) -> None:
    """Add an agent or update the given fields. A pending agent becomes named unless a tier is given."""
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
        _encode_patterns(path_patterns),
        now,
    )


async def update_roster_member(
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
        _encode_patterns(path_patterns),
    )


async def delete_roster_member(tx: Tx, project: str, agent: str) -> bool:
    return await tx.run("delete from agent where project = $1 and name = $2", project, agent) > 0


async def delete_project_rows(tx: Tx, project: str) -> dict[str, int]:
    """Delete everything that belongs to the project; return the number of deleted rows per table."""
    removed = {}
    for table in await project_tables(tx):
        if table in _KEPT_TABLES:
            continue
        row = await tx.one(f"select count(*) as n from {table} where project = $1", project)
        if row and row["n"]:
            await tx.run(f"delete from {table} where project = $1", project)
            removed[table] = int(row["n"])
    await tx.run("delete from counter where project = $1 and name = any($2)", project, _AMOUNT_COUNTERS)
    for counter in (ENTRY_COUNTER, WORD_COUNTER):
        await tx.run("delete from counter where project = $1 and name like $2", project, f"{counter}@%")
    await tx.run("delete from project where name = $1", project)
    return removed


async def summarize_live_sessions(tx: Tx, projects: Sequence[str], live_since: int) -> Mapping[str, Row]:
    rows = await tx.all(
        "select project, count(*) as n, max(active_at) as active_at from session"
        f" where project = any($1) and {is_live('$2', 'session.project')} group by project",
        list(projects),
        live_since,
    )
    return {row["project"]: row for row in rows}


async def summarize_rosters(tx: Tx, projects: Sequence[str]) -> Mapping[str, Row]:
    rows = await tx.all(
        "select project, count(*) as n, max(last_seen_at) as seen_at from agent"
        " where project = any($1) group by project",
        list(projects),
    )
    return {row["project"]: row for row in rows}


async def count_active_sessions(tx: Tx, names: Sequence[str] | None, live_since: int) -> int:
    row = await tx.one(
        "select count(*) as n from project cross join session where ($1 = 1 or project.name = any($2))"
        f" and session.project = project.name and {is_live('$3', 'session.project')}",
        int(names is None),
        list(names or ()),
        live_since,
    )
    return int(row["n"]) if row else 0


def _encode_patterns(patterns: Sequence[str] | None) -> str | None:
    return None if patterns is None else msgspec.json.encode(patterns).decode()


async def list_completions(
    tx: Tx,
    table: str,
    column: str,
    project_column: str,
    projects: Sequence[str],
    prefix: str,
    limit: int,
    condition: str,
) -> list[str]:
    """List the values of a column that start with `prefix`, in rows of these projects that meet `condition`."""
    rows = await tx.all(
        f"select distinct {column} as value from {table} where {project_column} = any($1)"
        f" and {condition} and substr({column}, 1, length($2)) = $2 order by {column} limit $3",
        projects,
        prefix,
        limit,
    )
    return [row["value"] for row in rows]
