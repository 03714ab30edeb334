"""What a start and an end do to other sessions: a start takes over what earlier sessions of its agent left, and tells others;
an end releases what the session, its sub-agents and windows that were abandoned hold. docs/guides/sessions.md has the
table of what ends when."""

from collections.abc import Sequence
from dataclasses import replace

from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS, list_superseded_sessions
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, move_notices, notify_agents, notify_sessions
from commonplace.rooms.agents.model import AGENT_STALE_AFTER
from commonplace.rooms.backlog.claims import release_claims_of_session
from commonplace.rooms.backlog.store import move_claims
from commonplace.rooms.locks import store as locks
from commonplace.rooms.locks.contributes import FILES_RELEASED
from commonplace.rooms.locks.waiting import (
    delete_waiters_of_session,
    drop_wanted_notices,
    move_waiters,
    tell_free_paths,
)
from commonplace.rooms.messages import sending
from commonplace.rooms.messages import store as messages
from commonplace.rooms.messages.contributes import MESSAGE_SENT
from commonplace.rooms.messages.model import PROJECT_ADMINS, MessageDraft
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.contributes import SESSION_ENDED, continue_following
from commonplace.rooms.sessions.model import ResolvedAgent
from commonplace.rooms.work import store as work
from commonplace.rooms.work.store import move_open_work
from commonplace.rooms.work.waits import announce_arrival, announce_departure
from commonplace.store.database import Row

_MAX_GENERATIONS = 5

_MAX_NOTIFIED_SESSIONS = 5


async def notify_session_start(call: Call, agent: ResolvedAgent, live_sessions: Sequence[Row]) -> None:
    """Notify live sessions with the same agent name, else who waits for it; and the admins if it is new and pending."""
    namesakes = [row["id"] for row in live_sessions if row["agent"] == agent.name]
    if namesakes:
        notice = Notice("namesake", {"agent": agent.name, "project": call.project})
        await notify_sessions(call.tx, call.project, namesakes[:_MAX_NOTIFIED_SESSIONS], notice, call.now)
    elif any(row["project_has_waits"] for row in live_sessions):
        await announce_arrival(call, agent.name)
    if agent.is_pending and not agent.is_known:
        await _mail_admins(call, agent)


async def _mail_admins(call: Call, agent: ResolvedAgent) -> None:
    """Send the admins a message, and a notice to those with a live session."""
    admins = await messages.list_admin_names(call.tx, call.project)
    if not admins:
        return
    text = (
        f"'{agent.name}' is not on the roster of {call.project} and is pending."
        " Admit it with memory_project, action='add_agent'."
    )
    row = await sending.insert_message(call.tx, _draft_registration_mail(call, agent, text), admins, call.now)
    await notify_agents(call.tx, call.project, admins, text, call.now)
    for admin in admins:
        call.emit(MESSAGE_SENT, {"agent": admin}, audience=f"inbox:{admin}", id=row["id"], priority="normal")


def _draft_registration_mail(call: Call, agent: ResolvedAgent, text: str) -> MessageDraft:
    return MessageDraft(
        project=call.project,
        sender=agent.name,
        sender_project=call.project,
        to=PROJECT_ADMINS,
        body=text,
        subject="",
        priority="normal",
        category="task",
        require_human=False,
    )


async def continue_earlier_sessions(call: Call, start: StartingSession) -> StartingSession:
    """Return the start with the dormant sessions that it continues; a sub-agent continues none."""
    session = call.own_session
    if start.previous_start is None or not call.caller.has_role("agent"):
        return start
    superseded = await list_superseded_sessions(call.tx, session, call.now)
    earlier = [each for each in superseded if each.is_dormant(call.now)]
    ids = [each.session.id for each in earlier]
    await continue_following(call.tx, session, call.now, ids)
    if ended := await store.list_ended_sessions(call.tx, session):
        await move_notices(call.tx, session, ended, only=["answer"])
    if ids:
        await move_notices(
            call.tx, session, ids, but=["mail", "post", "namesake"]
        )  # the boot pack shows these
        await move_claims(call.tx, session, ids)
        await move_open_work(call.tx, session, ids)
        await move_waiters(call.tx, session, ids)
    return replace(start, earlier_sessions=earlier)


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
        await tell_free_paths(call.tx, session.project, call.now)
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
