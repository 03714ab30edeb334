"""The projects that this server knows, and who administers them: what every room may ask.

Editing projects and rosters is `rooms/projects`; what a key may do in a project is `access.py`.
"""

from commonplace import errors
from commonplace.access import ALL_PROJECTS, SHARED, Caller, join_words, join_words_without_marks
from commonplace.arguments import AllProjects
from commonplace.look_alikes import looks_like
from commonplace.store.database import Tx

_MAX_VISIBLE_PROJECTS = 500


async def ensure_project(tx: Tx, project: str, now: int) -> bool:
    """Insert the project if it is unknown; return whether it is registered."""
    row = await tx.one("select registered from project where name = $1", project)
    if row is None:
        await require_distinct_project_name(tx, project)
        await tx.run(
            "insert into project (name, display_name, registered, ignore_case, created_at)"
            " values ($1, $1, 0, 0, $2) on conflict (name) do nothing",
            project,
            now,
        )
    return bool(row and row["registered"])


async def require_distinct_project_name(tx: Tx, project: str) -> None:
    """Refuse the name of a new project that looks like another one's; the other is not named, it may be secret."""
    if any(looks_like(project, name) for name in await list_all_project_names(tx)):
        raise errors.Conflict(
            f"The project name '{project}' looks the same as that of another project.",
            hint="Type the name again in one script, or choose another name.",
        )


async def is_registered_project(tx: Tx, project: str) -> bool:
    row = await tx.one("select registered from project where name = $1", project)
    return bool(row and row["registered"])


async def list_all_project_names(tx: Tx) -> list[str]:
    return [row["name"] for row in await tx.all("select name from project order by name")]


async def list_visible_project_names(tx: Tx, caller: Caller) -> list[str]:
    """The projects that the caller may see, for views of several at once; of very many, the first by name."""
    if ALL_PROJECTS in caller.projects:
        return (await list_all_project_names(tx))[:_MAX_VISIBLE_PROJECTS] or [SHARED]
    return sorted(caller.projects)[:_MAX_VISIBLE_PROJECTS]


async def list_asked_projects(tx: Tx, caller: Caller, asked: object, own: str) -> list[str]:
    """The projects of a list: every one that the caller may see for `*`, else that of the call."""
    return await list_visible_project_names(tx, caller) if isinstance(asked, AllProjects) else [own]


async def list_old_spellings(tx: Tx) -> list[tuple[str, str]]:
    """Projects that were named with marks or signs which earlier versions dropped: (stored name, name from now on)."""
    rows = await tx.all("select name, display_name from project order by name")
    pairs = [(row["name"], join_words(row["display_name"], "_")) for row in rows]
    return [
        (name, now)
        for (name, now), row in zip(pairs, rows, strict=True)
        if now not in ("", name) and join_words_without_marks(row["display_name"]) == name
    ]


async def is_known_project(tx: Tx, project: str) -> bool:
    return await tx.one("select 1 as yes from project where name = $1", project) is not None


async def is_known_agent(tx: Tx, project: str, name: str) -> bool:
    row = await tx.one("select 1 as yes from agent where project = $1 and name = $2", project, name)
    return row is not None


async def list_some_agent_names(tx: Tx, project: str) -> list[str]:
    """Enough of the names to compare an unknown one with."""
    rows = await tx.all("select name from agent where project = $1 order by name limit 1000", project)
    return [row["name"] for row in rows]


async def is_project_admin(tx: Tx, project: str, caller: Caller, agent: str) -> bool:
    """Is this caller, acting as this agent, an admin of the project?

    A key has the rights of its role. The agent's tier on the roster counts only if the key is bound to that name,
    or if the server runs without keys: otherwise anybody could claim the name.
    """
    if caller.operator or (caller.key and caller.has_role("admin")):
        return True
    if caller.key and caller.agent != agent:
        return False
    row = await tx.one("select tier from agent where project = $1 and name = $2", project, agent)
    return row is not None and row["tier"] == "admin"
