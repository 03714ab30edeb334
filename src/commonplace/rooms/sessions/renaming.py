"""Gives the agent of a session another name, and everything that is stored under the old one with it.

What the rooms store under an agent's name, and how it follows: `agent_names.py` and `rooms/<room>/renames.py`.
"""

from commonplace.agent_names import AgentRename, move_agent_columns
from commonplace.audience import private_owner
from commonplace.call import Call
from commonplace.identity.session import AgentSession
from commonplace.project import list_all_project_names
from commonplace.rooms.agents.events import AGENT_CHANGED
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.agent_identity import ResolvedAgent, SessionRequest
from commonplace.rooms.sessions.seat import NAME_BUSY_MICROSECONDS


async def rename_agent(
    call: Call, session: AgentSession, agent: ResolvedAgent, request: SessionRequest
) -> None:
    """The whole agent gets the name, unless another window works under the old one or the roster registers it."""
    rename = await _plan_rename(call, session, agent.name)
    await move_agent_columns(call.tx, rename, call.catalogue.agent_columns)
    for move in call.catalogue.on_rename:
        await move(call.tx, rename)
    if not call.caller.has_role("agent"):
        return
    if not rename.moves_agent:
        await store.upsert_agent_of_session(
            call.tx, session.project, agent, session.key_id, request.task, call.now
        )
        await _add_seat_name(call, session, agent.name)
    call.emit(AGENT_CHANGED, agent=agent.name, status="renamed", task=request.task)


async def set_agent_aside(call: Call, name: str, key: str) -> None:
    """Free the name of an agent whose key is gone: what is stored under it stays with that key's agent."""
    rename = AgentRename(
        caller=call.caller,
        project=call.project,
        sessions=tuple(await store.list_sessions_of_name(call.tx, call.project, name)),
        old=name,
        new=f"{name[: 63 - len(key)]}:{key}",
        old_owner=f"{name}/{key}",
        new_owner=f"{name}/{key}",
        moves_agent=True,
        moves_private=False,
        now=call.now,
    )
    await move_agent_columns(call.tx, rename, call.catalogue.agent_columns)
    for move in call.catalogue.on_rename:
        await move(call.tx, rename)


async def _add_seat_name(call: Call, session: AgentSession, name: str) -> None:
    """The seat of the session, not of this request: only hooks know it, and mostly the model chooses the name."""
    seat = await store.load_seat_of_session(call.tx, session)
    if session.agent in await store.list_seat_names(call.tx, session.project, seat):
        await store.remember_seat_name(call.tx, session.project, seat, name, call.now)


async def _plan_rename(call: Call, session: AgentSession, name: str) -> AgentRename:
    tx, project, old, since = call.tx, session.project, session.agent, call.now - NAME_BUSY_MICROSECONDS
    moves_agent = (
        call.caller.has_role("agent")
        and not await store.has_other_busy_session(tx, session, [project], since)
        and not await store.is_registered_agent(tx, project, old)
    )
    elsewhere = [other for other in await list_all_project_names(tx) if other != project]
    is_used_elsewhere = await store.has_other_busy_session(tx, session, elsewhere, since, session.key_id)
    idle = await store.list_open_session_ids(tx, session) if moves_agent else []
    auth_on = call.settings.auth_on
    return AgentRename(
        caller=call.caller,
        project=project,
        sessions=tuple(dict.fromkeys([session.id, *idle])),
        old=old,
        new=name,
        old_owner=private_owner(call.caller, old, auth_on=auth_on),
        new_owner=private_owner(call.caller, name, auth_on=auth_on),
        moves_agent=moves_agent,
        moves_private=moves_agent and not is_used_elsewhere,
        now=call.now,
    )
