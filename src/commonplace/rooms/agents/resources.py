"""agents://{project}: who is there."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.agents import store
from commonplace.rooms.agents.model import AgentStatus, Statuses
from commonplace.rooms.sessions.boot import LIVE_FOR


@operation("resource:agents", role="readonly", session=False)
async def read_agents(call: Call, project: str) -> Statuses:
    """Who is there and busy with what."""
    rows = await store.statuses(call.tx, project, None, call.now - LIVE_FOR, call.now)
    return Statuses(
        count=len(rows),
        total=rows[0]["total"] if rows else 0,
        agents=[AgentStatus.of(row, call.now) for row in rows],
    )


AGENTS = Resource("agents://{project}", "Agents of a project", read_agents)
