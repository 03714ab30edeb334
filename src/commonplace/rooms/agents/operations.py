"""Report and read the status of agents. `memory_project` (rooms/projects) edits the roster."""

from typing import Annotated

from pydantic import Field

from commonplace.arguments import AgentName, ProjectOrAll
from commonplace.call import Call
from commonplace.call_request import MustWrite
from commonplace.clock import iso
from commonplace.identity import acting
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import operation
from commonplace.project import list_asked_projects
from commonplace.rooms.agents import store
from commonplace.rooms.agents.contributes import AGENT_CHANGED
from commonplace.rooms.agents.model import (
    AGENT_STALE_AFTER,
    AgentRoster,
    AgentStatusListing,
    HeartbeatReply,
    HeartbeatStatus,
    RosterAgent,
    TaskText,
    derive_status,
    total_of_rows,
)
from commonplace.rooms.locks import store as locks
from commonplace.rooms.messages import store as messages
from commonplace.store.database import Row
from commonplace.window import kind_of_window

_UNKNOWN_STATUS: Row = {"status": "idle", "status_at": None, "current_task": "", "has_worked": 0}


@operation(
    "memory_heartbeat",
    writes=True,
    idempotent=True,
    reads_when_bare=True,
    session_columns=f"{store.STATUS_OF_SESSION}, {store.ACTIVITY_OF_SESSION}"
    f", {messages.UNREAD_OF_SESSION}, {locks.LEASES_OF_SESSION_COLUMNS}",
    example={"status": "busy", "current_task": "cart"},
    keywords="keep alive, still here, busy, idle, renew locks",
)
async def heartbeat(
    call: Call, status: HeartbeatStatus | None = None, current_task: TaskText | None = None
) -> HeartbeatReply:
    """Set your status and say that you are alive; every other call does so too."""
    session, row = call.own_session, call.session_row
    calls = [window for window in call.caller.windows if kind_of_window(window) == "call"]
    if not call.writes and (calls or _is_news(row, call.now)):
        raise MustWrite
    if calls:
        await acting.bind_windows(call.tx, call.caller, calls, session, call.now)
    previous = _UNKNOWN_STATUS if row["status"] is None else row
    task = previous["current_task"] if current_task is None else current_task
    if call.writes:
        await store.record_heartbeat(call.tx, call.project, call.agent, status, task, call.now)
    known = {
        **previous,
        "current_task": task,
        "active_at": call.now,
        "locks": row["held"],
        "locked_until": None,
    }
    reported = status or derive_status(known, call.now)
    if (status or previous["status"], task) != (previous["status"], previous["current_task"]):
        call.emit(AGENT_CHANGED, agent=call.agent, status=reported, task=task)
    return HeartbeatReply(
        status="ok",
        agent=call.agent,
        agent_status=reported,
        timestamp=iso(call.now),
        unread=row["unread"],
        leases_renewed=await locks.renew_leases(call.tx, session, row, call.store_now),
    )


def _is_news(row: Row, now: int) -> bool:
    """Does a sign of life change anything for others? `row` is empty where no session acts."""
    return not row or bool(row["has_follow_up"]) or now - row["active_at"] > AGENT_STALE_AFTER


@operation(
    "memory_get_agent_status",
    role="readonly",
    keywords="who is online, active, running, around, last seen, idle, stale",
)
async def get_agent_status(
    call: Call,
    instance: Annotated[AgentName | None, Field(description="Agent.")] = None,
    project: ProjectOrAll | None = None,
) -> AgentStatusListing:
    """Show which agents are alive and what each does now."""
    since = call.now - SESSION_LIVE_MICROSECONDS
    pages = [
        await store.list_agent_statuses(call.tx, each, instance, since, call.now)
        for each in await list_asked_projects(call.tx, call.caller, project, call.project)
    ]
    rows = [_with_own_activity(call, row) for page in pages for row in page]
    listing = AgentStatusListing.from_rows(rows, call.now)
    listing.total = sum(map(total_of_rows, pages))
    return listing


def _with_own_activity(call: Call, row: Row) -> Row:
    """Count this call as activity of its agent; the store learns of a read up to a second later."""
    own_session = call.session
    is_caller = own_session and (row["project"], row["name"]) == (own_session.project, own_session.agent)
    return {**row, "active_at": call.now} if is_caller else row


@operation(
    "memory_list_agents",
    role="readonly",
    keywords="who is on the team, members, teammates, registered, responsibilities, expertise, belongs",
)
async def list_agents(
    call: Call,
    project: ProjectOrAll | None = None,
    query: Annotated[str, Field(max_length=200)] | None = None,
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
) -> AgentRoster:
    """List the agents of the project with their roles."""
    since = call.now - SESSION_LIVE_MICROSECONDS
    pages = [
        await store.search_agents(call.tx, each, query or "", since, limit)
        for each in await list_asked_projects(call.tx, call.caller, project, call.project)
    ]
    rows = sorted((row for page in pages for row in page), key=lambda row: -(row["last_seen_at"] or 0))[
        :limit
    ]
    return AgentRoster(
        count=len(rows),
        total=sum(map(total_of_rows, pages)),
        agents=[RosterAgent.from_row(row) for row in rows],
    )
