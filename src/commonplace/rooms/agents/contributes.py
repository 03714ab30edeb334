"""What the room contributes to other parts of the server: a resource, an event, and what a rename does to the roster."""

from commonplace.agent_names import AgentRename
from commonplace.call import Call
from commonplace.events import EventType
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.agents import store
from commonplace.rooms.agents.model import AgentStatusListing
from commonplace.store.database import Tx


@operation("resource:agents", role="readonly", session=False)
async def read_agents(call: Call, project: str) -> AgentStatusListing:
    """Agents of a project: status, current task, live sessions, locks."""
    rows = await store.list_agent_statuses(
        call.tx, project, None, call.now - SESSION_LIVE_MICROSECONDS, call.now
    )
    return AgentStatusListing.from_rows(rows, call.now)


AGENTS = Resource("agents://{project}", "Agents of a project", read_agents)


AGENT_CHANGED = EventType("AgentChanged", AGENTS)


async def rename_roster_entry(tx: Tx, rename: AgentRename) -> None:
    """Rename the entry, or add it to the one that the name has already: that keeps its tier, role and patterns."""
    if not rename.moves_agent:
        return
    names = (rename.project, rename.old, rename.new)
    merged = await tx.run(
        "update agent set session_count = agent.session_count + other.session_count, status = other.status,"
        " status_at = other.status_at, current_task = other.current_task, heartbeat_at = other.heartbeat_at,"
        " last_task = case when other.last_task = '' then agent.last_task else other.last_task end,"
        " last_seen_at = other.last_seen_at"
        " from agent as other where agent.project = $1 and agent.name = $3"
        " and other.project = $1 and other.name = $2",
        *names,
    )
    if merged:
        await tx.run("delete from agent where project = $1 and name = $2", rename.project, rename.old)
    else:
        await tx.run("update agent set name = $3 where project = $1 and name = $2", *names)
