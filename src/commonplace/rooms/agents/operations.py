"""Say that you are there, and see who is."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import operation
from commonplace.rooms.agents import store
from commonplace.rooms.agents.model import (
    Agent,
    AgentName,
    AgentStatus,
    Heartbeat,
    Roster,
    Status,
    Statuses,
    Task,
)
from commonplace.rooms.locks import store as locks
from commonplace.rooms.messages import store as messages
from commonplace.rooms.sessions.boot import LIVE_FOR
from commonplace.store.database import Row


@operation(
    "memory_heartbeat", writes=True, idempotent=True, example={"status": "busy", "current_task": "cart"}
)
async def heartbeat(call: Call, status: Status = "idle", current_task: Task | None = None) -> Heartbeat:
    """Say what you are doing; renews locks, counts unread mail."""
    before = await store.doing(call.tx, call.project, call.agent)
    task = before.task if current_task is None else current_task
    await store.beat(call.tx, call.project, call.agent, status, task, call.now)
    if (status, task) != (before.status, before.task):
        call.emit("AgentChanged", f"agents://{call.project}", agent=call.agent, status=status, task=task)
    return Heartbeat(
        status="ok",
        agent_status=status,
        timestamp=iso(call.now),
        unread=await messages.unread_count(call.tx, call.project, call.agent),
        leases_renewed=await locks.renew(call.tx, call.own_session, await call.tx.clock()),
    )


@operation("memory_get_agent_status", role="readonly")
async def get_agent_status(
    call: Call, instance: AgentName | None = None, project: str | None = None
) -> Statuses:
    """Who is there and busy with what."""
    rows = await store.statuses(call.tx, call.project, instance, call.now - LIVE_FOR, call.now)
    return Statuses(
        count=len(rows), total=_total(rows), agents=[AgentStatus.of(row, call.now) for row in rows]
    )


@operation("memory_list_agents", role="readonly")
async def list_agents(
    call: Call,
    project: str | None = None,
    query: Annotated[str, Field(max_length=200)] | None = None,
    limit: Annotated[int, Field(ge=1, le=200)] = 50,
) -> Roster:
    """Known agents; query matches names and roles."""
    rows = await store.roster(call.tx, call.project, query or "", limit)
    return Roster(count=len(rows), total=_total(rows), agents=[Agent.of(row) for row in rows])


def _total(rows: Sequence[Row]) -> int:
    return rows[0]["total"] if rows else 0
