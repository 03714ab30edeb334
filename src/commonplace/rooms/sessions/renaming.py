"""Gives the agent of a session another name: what it holds, its work, its backlog items and its mail follow."""

from commonplace.activity import AgentSession
from commonplace.call import Call
from commonplace.rooms.agents import store as agents
from commonplace.rooms.agents.events import AGENT_CHANGED
from commonplace.rooms.backlog import store as backlog
from commonplace.rooms.locks import store as locks
from commonplace.rooms.messages import store as messages
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.agent_identity import ResolvedAgent, SessionRequest
from commonplace.rooms.work import store as work


async def rename_agent(
    call: Call, session: AgentSession, agent: ResolvedAgent, request: SessionRequest
) -> None:
    """Mail and backlog items follow unless another session still works under the old name."""
    tx, project, old, new = call.tx, session.project, session.agent, agent.name
    await store.update_session_agent(tx, session, new)
    await locks.update_lease_agent(tx, session, new)
    await work.update_work_agent(tx, session, new)
    if not call.caller.has_role("agent"):
        return
    if await store.has_live_session(tx, project, old):
        await store.upsert_agent_of_session(tx, project, agent, request.task, call.now)
    else:
        await messages.move_mail(tx, project, old, new)
        await backlog.reassign_open_items(tx, project, old, new, call.now)
        await _move_roster_entry(call, session, agent, request)
    await _rename_seat(call, session, new)
    call.emit(AGENT_CHANGED, agent=new, status="renamed", task=request.task)


async def _rename_seat(call: Call, session: AgentSession, name: str) -> None:
    """The seat of the session, not of this request: only hooks know it, and mostly the model chooses the name."""
    tx, project = call.tx, session.project
    seat = await store.load_seat_of_session(tx, session)
    if session.agent in await store.list_seat_names(tx, project, seat):
        await store.delete_seat_name(tx, project, seat, session.agent)
        await store.remember_seat_name(tx, project, seat, name, call.now)


async def _move_roster_entry(
    call: Call, session: AgentSession, agent: ResolvedAgent, request: SessionRequest
) -> None:
    """Rename the entry, or count the session for the entry that the name has already."""
    tx, project = call.tx, session.project
    if agent.is_known:
        await agents.delete_agent(tx, project, session.agent)
        await store.upsert_agent_of_session(tx, project, agent, request.task, call.now)
    else:
        await agents.update_agent_name(tx, project, session.agent, agent.name)
