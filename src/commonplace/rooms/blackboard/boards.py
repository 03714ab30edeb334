"""Blackboards of one project, or of all that the caller sees; the most recently used first."""

from commonplace.access import EVERY
from commonplace.call import Call
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.reader import Reader


async def listed(
    call: Call, reader: Reader, project: str | None, active_only: bool, limit: int, offset: int
) -> model.Sessions:
    projects = await _projects(call, project)
    idle_since = model.idle_since(call.now, call.settings)
    total, rows = await store.sessions(call.tx, projects, active_only, idle_since, limit, offset)
    found = list({row["project"]: None for row in rows})
    tallies = await store.tallies(call.tx, found, [row["id"] for row in rows], reader.audiences())
    return model.Sessions(
        total=total, sessions=[model.Session.of(row, tallies[row["id"]], idle_since) for row in rows]
    )


async def _projects(call: Call, project: str | None) -> list[str]:
    if project is not None:
        return [project] if call.caller.sees(project) else []
    return (
        await store.every_project(call.tx) if EVERY in call.caller.projects else sorted(call.caller.projects)
    )
