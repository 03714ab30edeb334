"""Register projects, keep their rosters, see what there is."""

import difflib

from commonplace import errors
from commonplace.access import EVERY, SHARED
from commonplace.activity import SESSION_LIVE_MICROSECONDS
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import Family, operation
from commonplace.rooms.agents.model import AgentName, AgentTier
from commonplace.rooms.knowledge import store as knowledge
from commonplace.rooms.projects import model, store
from commonplace.store.database import Row


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    example={"name": "shop", "display_name": "The shop"},
)
async def create_project(
    call: Call, name: model.Name, display_name: model.DisplayName | None = None, ignore_case: bool = False
) -> model.Project:
    """Register a project: from then on unknown agents wait to be let in."""
    project = _enter(call, name)
    model.refuse_shared(project)
    row = await store.register(call.tx, project, display_name, ignore_case, call.now)
    if row is None:
        raise errors.Duplicate(f"The project '{project}' is registered already.", hint="get shows it.")
    call.subject = f"create {project}"
    call.emit("ProjectCreated", f"project://{project}")
    return model.Project.of(row, "created")


@operation("memory_project", role="readonly", session="optional", example={"name": "shop"})
async def get_project(call: Call, name: model.Name | None = None) -> model.Project:
    """One project with its roster; by default the session's own."""
    row = await _existing(call, _enter(call, name))
    members = tuple(map(model.Member.of, await store.members(call.tx, row["name"])))
    counted = await store.rosters(call.tx, [row["name"]])
    return model.Project.of(row, members=members, count=_count(counted.get(row["name"])))


@operation("memory_project", role="readonly", session="optional", example={})
async def list_registered(call: Call, limit: model.Limit = 100, offset: model.Offset = 0) -> model.Projects:
    """The projects that you may see."""
    total, rows = await store.visible(call.tx, _seen(call), SHARED, limit, offset)
    counted = await store.rosters(call.tx, [row["name"] for row in rows])
    return model.Projects(
        total=total,
        projects=[model.Project.of(row, count=_count(counted.get(row["name"]))) for row in rows],
        next_offset=_following(total, limit, offset),
    )


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    destroys=True,
    example={"name": "shop", "confirm": "shop"},
)
async def delete_project(call: Call, name: model.Name, confirm: str = "") -> model.Deleted:
    """Remove a project and all that is in it but its audit trail; confirm with its name."""
    project = _enter(call, name)
    model.refuse_shared(project)
    await _existing(call, project)
    model.require_confirmed(project, confirm)
    removed = await store.remove(call.tx, project)
    call.subject = f"delete {project}: {sum(removed.values())} rows"
    call.emit("ProjectDeleted", f"project://{project}")
    return model.Deleted(status="deleted", name=project, removed=removed)


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
    name: model.Name | None = None,
    role_description: model.RoleDescription | None = None,
    tier: AgentTier | None = None,
    path_patterns: model.PathPatterns | None = None,
) -> model.MemberChange:
    """Put an agent on the roster, or let one in that waits."""
    project = _enter(call, name)
    await _existing(call, project)
    await store.put_member(call.tx, project, agent, tier, role_description, path_patterns, call.now)
    return await _changed(call, project, agent, "added", "add_agent")


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
    name: model.Name | None = None,
    role_description: model.RoleDescription | None = None,
    tier: AgentTier | None = None,
    path_patterns: model.PathPatterns | None = None,
) -> model.MemberChange:
    """Change what was given of an agent on the roster."""
    project = _enter(call, name)
    await _require_member(call, project, agent)
    await store.change_member(call.tx, project, agent, tier, role_description, path_patterns)
    return await _changed(call, project, agent, "updated", "update_agent")


@operation(
    "memory_project",
    role="admin",
    writes=True,
    session="optional",
    destroys=True,
    example={"name": "shop", "agent": "alice"},
)
async def remove_agent(call: Call, agent: AgentName, name: model.Name | None = None) -> model.MemberChange:
    """Take an agent off the roster."""
    project = _enter(call, name)
    await _require_member(call, project, agent)
    await store.remove_member(call.tx, project, agent)
    _say(call, project, agent, "remove_agent")
    return model.MemberChange(status="removed", project=project, agent=agent)


project = Family(
    "memory_project",
    "Projects and their rosters; delete wants confirm=name.",
    {
        "create": create_project,
        "get": get_project,
        "list": list_registered,
        "delete": delete_project,
        "add_agent": add_agent,
        "remove_agent": remove_agent,
        "update_agent": update_agent,
    },
)


@operation("memory_list_projects", role="readonly", session=False, example={})
async def list_projects(call: Call, limit: model.Limit = 100, offset: model.Offset = 0) -> model.Overviews:
    """Projects that you may see."""
    seen, since = _seen(call), call.now - SESSION_LIVE_MICROSECONDS
    total, rows = await store.visible(call.tx, seen, SHARED, limit, offset)
    names = [row["name"] for row in rows]
    live = await store.live_sessions(call.tx, [*names, SHARED], since)
    rosters = await store.rosters(call.tx, names)
    documents = {row["project"]: row["n"] for row in await knowledge.counts(call.tx)}
    return model.Overviews(
        total=total,
        active_sessions=await store.active_sessions(call.tx, seen, since),
        shared=model.Shared(
            active_sessions=_count(live.get(SHARED)), document_count=documents.get(SHARED, 0)
        ),
        projects=[
            _overview(row, live.get(row["name"]), rosters.get(row["name"]), documents.get(row["name"], 0))
            for row in rows
        ],
        next_offset=_following(total, limit, offset),
    )


def _overview(row: Row, live: Row | None, roster: Row | None, documents: int) -> model.Overview:
    moments = [row["created_at"], live and live["active_at"], roster and roster["seen_at"]]
    return model.Overview(
        project=row["name"],
        document_count=documents,
        agents=_count(roster),
        active_sessions=_count(live),
        last_activity=iso(max(moment for moment in moments if moment)),
    )


def _enter(call: Call, name: str | None) -> str:
    """The project that the act is about becomes the call's own, so that its audit row stands there."""
    call.project = call.scope(name)
    return call.project


def _seen(call: Call) -> list[str] | None:
    return None if EVERY in call.caller.projects else sorted(call.caller.projects)


def _count(row: Row | None) -> int:
    return int(row["n"]) if row else 0


def _following(total: int, limit: int, offset: int) -> int | None:
    return offset + limit if offset + limit < total else None


async def _existing(call: Call, name: str) -> Row:
    row = await store.find(call.tx, name)
    if row is None:
        raise errors.NotFound(f"There is no project '{name}'.", hint="create it, or start a session in it.")
    return row


async def _require_member(call: Call, project: str, agent: str) -> None:
    if await store.member(call.tx, project, agent) is not None:
        return
    names = [row["name"] for row in await store.members(call.tx, project)]
    near = difflib.get_close_matches(agent, names, n=3)
    raise errors.NotFound(
        f"'{agent}' is not on the roster of '{project}'.",
        hint=f"Did you mean {', '.join(near)}?" if near else "add_agent puts an agent there.",
    )


async def _changed(call: Call, project: str, agent: str, status: str, act: str) -> model.MemberChange:
    _say(call, project, agent, act)
    row = await store.member(call.tx, project, agent)
    member = model.Member.of(row) if row else model.Member(agent=agent, tier="")
    return model.MemberChange(
        status=status,
        project=project,
        agent=agent,
        tier=member.tier,
        role_description=member.role_description,
        path_patterns=member.path_patterns,
    )


def _say(call: Call, project: str, agent: str, act: str) -> None:
    call.subject = f"{act} {agent}"
    call.emit("AgentChanged", f"agents://{project}", agent=agent)
