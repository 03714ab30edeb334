"""Ends sessions and releases what they hold: their own end, that of their sub-agents, and windows that were abandoned.

`operations.py` ends a session on request and stores its handoff; docs/guides/sessions.md has the table of what ends when.
"""

from collections.abc import Sequence

from commonplace.call import Call
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.identity.session import AgentSession
from commonplace.rooms.agents.model import AGENT_STALE_AFTER
from commonplace.rooms.backlog.claims import release_claims_of_session
from commonplace.rooms.locks import store as locks
from commonplace.rooms.locks.events import FILES_RELEASED
from commonplace.rooms.locks.reservations import offer_in_project
from commonplace.rooms.locks.waiters import delete_waiters_of_session, drop_wanted_notices
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.events import SESSION_ENDED
from commonplace.rooms.work import store as work
from commonplace.rooms.work.waits import announce_departure

_MAX_GENERATIONS = 5


async def release_holdings(
    call: Call, session: AgentSession, handoff_id: str = "", dormant: Sequence[AgentSession] = ()
) -> list[str]:
    """Close the work of a session that has ended, and of those that it continued, release their locks, and announce its
    end; return the released paths."""
    now, released, had_reservation = await call.tx.clock(), list[str](), False
    for each in (session, *dormant):
        await work.close_work_of_session(call.tx, each.project, each.id, call.now)
        released += await locks.release_leases_of_session(call.tx, each.project, each.id, now)
        had_reservation |= await delete_waiters_of_session(call.tx, each.project, each.id)
    await drop_wanted_notices(call.tx, session)
    if await store.mark_agent_idle(call.tx, session, call.now - SESSION_LIVE_MICROSECONDS, call.now):
        await announce_departure(call, session)
    call.emit(SESSION_ENDED, project=session.project, agent=session.agent, handoff_id=handoff_id)
    if released or had_reservation:
        await offer_in_project(call.tx, session.project, call.now)
    if released:
        call.emit(FILES_RELEASED, project=session.project, agent=session.agent, files=released)
    return released


async def end_subagents(call: Call, session: AgentSession) -> list[str]:
    """End the sub-agents of a session, and theirs; one that has just called goes on by itself."""
    ended: list[str] = []
    parents: Sequence[str] = [session.id]
    for _ in range(_MAX_GENERATIONS):
        children = await store.list_subagent_sessions(
            call.tx, session.project, parents, call.now - AGENT_STALE_AFTER
        )
        if not children:
            break
        for child in children:
            await _end_silently(call, child)
        ended += [child.agent for child in children]
        parents = [child.id for child in children]
    return ended


async def end_abandoned_sessions(call: Call, sessions: Sequence[AgentSession]) -> None:
    """End windows that were closed without an end, when the next window of their seat takes their name."""
    for session in sessions:
        await _end_silently(call, session)


async def _end_silently(call: Call, session: AgentSession) -> None:
    if await store.mark_session_ended(call.tx, session, call.now):
        await release_claims_of_session(call, session)
        await release_holdings(call, session)
