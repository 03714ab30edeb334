"""Register, list and delete projects, and edit their rosters. Status of agents: `rooms/agents`."""

import difflib
from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.access import ALL_PROJECTS, SHARED
from commonplace.arguments import AgentName, ProjectSpelling
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.identity.names import find_agent_spelling, require_unreserved
from commonplace.operation import OperationFamily, operation
from commonplace.project import (
    is_known_project,
    require_distinct_project_name,
)
from commonplace.rooms.agents.contributes import AGENT_CHANGED
from commonplace.rooms.agents.model import AgentTier
from commonplace.rooms.knowledge import store as knowledge
from commonplace.rooms.projects import model, store
from commonplace.rooms.projects.contributes import (
    PROJECT_CREATED,
    PROJECT_DELETED,
    load_project_with_roster,
)
from commonplace.store.database import Row
from commonplace.suggestions import suggest_project


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    example={"name": "shop", "display_name": "The shop"},
)
async def create_project(
    call: Call,
    name: model.ProjectName,
    display_name: model.DisplayName | None = None,
    ignore_case: bool = False,
) -> model.Project:
    """Register a project; unknown agents then start as pending."""
    project = _set_call_project(call, name)
    model.require_not_shared(project)
    await suggest_project(call, project)
    if not await is_known_project(call.tx, project):
        await require_distinct_project_name(call.tx, project)
    row = await store.register_project(call.tx, project, display_name, ignore_case, call.now)
    if row is None:
        raise errors.Duplicate(
            f"The project '{project}' is already registered.", hint="Set action='get' to read it."
        )
    call.subject = f"create {project}"
    call.emit(PROJECT_CREATED)
    return model.Project.from_row(row, "created")


@operation("memory_project", role="readonly", session="optional", example={"name": "shop"})
async def get_project(call: Call, name: model.ProjectName | None = None) -> model.Project:
    """Get a project with its roster; default: the session's project."""
    return await load_project_with_roster(call, _set_call_project(call, name))


@operation("memory_project", role="readonly", session="optional", example={})
async def list_project_registry(
    call: Call, limit: model.ProjectLimit = 100, offset: model.ProjectOffset = 0
) -> model.ProjectListing:
    """List the projects that you may see."""
    total, rows = await store.list_visible_projects(
        call.tx, _visible_project_names(call), SHARED, limit, offset
    )
    rosters = await store.summarize_rosters(call.tx, [row["name"] for row in rows])
    return model.ProjectListing(
        total=total,
        projects=[model.Project.from_row(row, count=_row_count(rosters.get(row["name"]))) for row in rows],
        next_offset=_next_offset(total, limit, offset),
    )


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    destroys=True,
    example={"name": "shop", "confirm": "shop"},
)
async def delete_project(
    call: Call,
    name: model.ProjectName,
    confirm: Annotated[ProjectSpelling, Field(description="Name again.")] = "",
) -> model.DeletedProject:
    """Delete a project with everything in it, except its audit log; confirm=name."""
    project = _set_call_project(call, name)
    model.require_not_shared(project)
    await store.load_project(call.tx, project)
    model.require_delete_confirmation(project, confirm)
    removed = await store.delete_project_rows(call.tx, project)
    call.subject = f"delete {project}: {sum(removed.values())} rows"
    call.emit(PROJECT_DELETED)
    return model.DeletedProject(status="deleted", name=project, removed=removed)


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    idempotent=True,
    example={"name": "shop", "agent": "alice", "tier": "admin", "path_patterns": ["/home/*/shop"]},
)
async def add_agent(
    call: Call,
    agent: AgentName,
    name: model.ProjectName | None = None,
    role_description: model.RoleDescription | None = None,
    tier: AgentTier | None = None,
    path_patterns: model.PathPatterns | None = None,
) -> model.RosterChange:
    """Add an agent to the roster, or admit a pending one."""
    project = _set_call_project(call, name)
    await store.load_project(call.tx, project)
    require_unreserved(agent)
    agent = await find_agent_spelling(call.tx, project, agent)
    await store.upsert_roster_member(call.tx, project, agent, tier, role_description, path_patterns, call.now)
    return await _complete_roster_change(call, project, agent, "added", "add_agent")


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    idempotent=True,
    example={"name": "shop", "agent": "alice", "role_description": "reviews"},
)
async def update_agent(
    call: Call,
    agent: AgentName,
    name: model.ProjectName | None = None,
    role_description: model.RoleDescription | None = None,
    tier: AgentTier | None = None,
    path_patterns: model.PathPatterns | None = None,
) -> model.RosterChange:
    """Change the given fields of an agent on the roster."""
    project = _set_call_project(call, name)
    await _require_roster_member(call, project, agent)
    await store.update_roster_member(call.tx, project, agent, tier, role_description, path_patterns)
    return await _complete_roster_change(call, project, agent, "updated", "update_agent")


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    destroys=True,
    example={"name": "shop", "agent": "alice"},
)
async def remove_agent(
    call: Call, agent: AgentName, name: model.ProjectName | None = None
) -> model.RosterChange:
    """Remove an agent from the roster."""
    project = _set_call_project(call, name)
    await _require_roster_member(call, project, agent)
    await store.delete_roster_member(call.tx, project, agent)
    _record_roster_change(call, project, agent, "remove_agent")
    return model.RosterChange(status="removed", project=project, agent=agent)


project = OperationFamily(
    "memory_project",
    "Manage a project and who belongs to it.",
    {
        "create": create_project,
        "get": get_project,
        "list": list_project_registry,
        "delete": delete_project,
        "add_agent": add_agent,
        "remove_agent": remove_agent,
        "update_agent": update_agent,
    },
    keywords="set up new project, add agent, team roster, roles, promote to admin, tier, delete",
)


@operation("memory_list_projects", role="readonly", session=False, example={})
async def list_projects(
    call: Call, limit: model.ProjectLimit = 100, offset: model.ProjectOffset = 0
) -> model.ProjectOverviewListing:
    """List the projects that you may see."""
    visible, since = _visible_project_names(call), call.now - SESSION_LIVE_MICROSECONDS
    total, rows = await store.list_visible_projects(call.tx, visible, SHARED, limit, offset)
    names = [row["name"] for row in rows]
    live = await store.summarize_live_sessions(call.tx, [*names, SHARED], since)
    rosters = await store.summarize_rosters(call.tx, names)
    documents = {row["project"]: row["n"] for row in await knowledge.list_document_counts(call.tx)}
    return model.ProjectOverviewListing(
        total=total,
        active_sessions=await store.count_active_sessions(call.tx, visible, since),
        shared=model.SharedOverview(
            active_sessions=_row_count(live.get(SHARED)), document_count=documents.get(SHARED, 0)
        ),
        projects=[
            _build_overview(
                row, live.get(row["name"]), rosters.get(row["name"]), documents.get(row["name"], 0)
            )
            for row in rows
        ],
        next_offset=_next_offset(total, limit, offset),
    )


def _build_overview(row: Row, live: Row | None, roster: Row | None, documents: int) -> model.ProjectOverview:
    activity_times = [row["created_at"], live and live["active_at"], roster and roster["seen_at"]]
    return model.ProjectOverview(
        project=row["name"],
        document_count=documents,
        agents=_row_count(roster),
        active_sessions=_row_count(live),
        last_activity=iso(max(time for time in activity_times if time)),
    )


def _set_call_project(call: Call, name: str | None) -> str:
    """Make the named project the call's own, so that the audit row is written there."""
    call.project = call.resolve_project(name)
    return call.project


def _visible_project_names(call: Call) -> list[str] | None:
    return None if ALL_PROJECTS in call.caller.projects else sorted(call.caller.projects)


def _row_count(row: Row | None) -> int:
    return int(row["n"]) if row else 0


def _next_offset(total: int, limit: int, offset: int) -> int | None:
    return offset + limit if offset + limit < total else None


async def _require_roster_member(call: Call, project: str, agent: str) -> None:
    if await store.find_roster_member(call.tx, project, agent) is not None:
        return
    names = [row["name"] for row in await store.list_roster_members(call.tx, project)]
    suggestions = difflib.get_close_matches(agent, names, n=3)
    raise errors.NotFound(
        f"'{agent}' is not on the roster of '{project}'.",
        hint=f"Did you mean {', '.join(suggestions)}?"
        if suggestions
        else "Set action='add_agent' to add it.",
    )


async def _complete_roster_change(
    call: Call, project: str, agent: str, status: str, action: str
) -> model.RosterChange:
    _record_roster_change(call, project, agent, action)
    row = await store.find_roster_member(call.tx, project, agent)
    return model.RosterChange(status=status, project=project, agent=agent, tier=row["tier"] if row else "")


def _record_roster_change(call: Call, project: str, agent: str, action: str) -> None:
    call.subject = f"{action} {agent}"
    call.emit(AGENT_CHANGED, project=project, agent=agent)
