"""The resource agents://{project}: the agents of a project and their status."""

from commonplace.call import Call
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.agents import store
from commonplace.rooms.agents.model import AgentStatusListing


@operation("resource:agents", role="readonly", session=False)
async def read_agents(call: Call, project: str) -> AgentStatusListing:
    """Agents of a project: status, current task, live sessions, locks."""
    rows = await store.list_agent_statuses(
        call.tx, project, None, call.now - SESSION_LIVE_MICROSECONDS, call.now
    )
    return AgentStatusListing.from_rows(rows, call.now)


AGENTS = Resource("agents://{project}", "Agents of a project", read_agents)
