"""Loads what decides which agent a starting session is: keys that own names, the roster, live windows, the seat.

The decision about tier, role and worker names is in `agent_identity.py`, which reads no store.
"""

import secrets
from dataclasses import replace
from typing import Any

from commonplace import errors
from commonplace.call import Call
from commonplace.identity.names import (
    find_agent_spelling,
    is_owned_by_other_key,
    is_taken,
    load_name_owners,
    require_unreserved,
)
from commonplace.identity.session import AgentSession
from commonplace.project import ensure_project
from commonplace.rooms.sessions import agent_identity, store
from commonplace.rooms.sessions.agent_identity import ResolvedAgent, SessionRequest
from commonplace.rooms.sessions.model import UNKNOWN_AGENT
from commonplace.rooms.sessions.renaming import set_agent_aside
from commonplace.rooms.sessions.seat import NAME_BUSY_MICROSECONDS, pick_seat_name
from commonplace.store.database import Work
from commonplace.store.shared_reads import run_together


async def resolve_starting_agent(
    call: Call, request: SessionRequest, continued: AgentSession | None
) -> ResolvedAgent:
    """The agent of a new session, or of one that is continued, perhaps under another name."""
    project_is_registered = await ensure_project(call.tx, call.project, call.now)
    name = agent_identity.resolve_requested_name(call.caller, request.agent)
    if name != UNKNOWN_AGENT:
        name = await find_agent_spelling(call.tx, call.project, name)
    refused_name = ""
    if continued is not None and name != continued.agent:
        is_free = request.gives_name and await _is_free_name(call, name, continued)
        name, refused_name = (name, "") if is_free else (continued.agent, name if request.gives_name else "")
    elif continued is None:
        name = await _choose_new_name(call, name, request)
    worker_names = agent_identity.generate_worker_names() if request.spawned_by and not continued else []
    names = [name, request.spawned_by, *worker_names]
    works: list[Work[Any]] = [
        lambda tx: store.load_agents_by_name(
            tx, call.project, names, call.now, continued.id if continued else ""
        ),
    ]
    (roster,) = await run_together(call.tx, works)
    agent = agent_identity.resolve_agent(
        name,
        request if continued is None else replace(request, spawned_by=""),
        call.caller,
        roster,
        worker_names,
        project_is_registered=project_is_registered,
    )
    return replace(agent, refused_name=refused_name)


async def _choose_new_name(call: Call, name: str, request: SessionRequest) -> str:
    """The given name if this key may use it, else the seat's. Workers get their name from `agent_identity.py`."""
    if name != UNKNOWN_AGENT:
        await _require_usable_name(call, name)
        return name
    if request.spawned_by:
        return name
    if not call.caller.has_role("agent"):
        return f"reader-{secrets.token_hex(2)}"
    return await pick_seat_name(call, call.project, request.working_directory)


async def _require_usable_name(call: Call, name: str) -> None:
    require_unreserved(name)
    if await _belongs_to_other_key(call, name):
        raise errors.Forbidden(
            f"The name '{name}' belongs to another key.",
            hint="Leave claude_instance out, choose another name, or use the key that is bound to it.",
        )
    if not call.caller.has_role("agent") and await store.load_agents_by_name(
        call.tx, call.project, [name], call.now
    ):
        raise errors.Forbidden(
            f"A readonly key cannot act as the known agent '{name}'.",
            hint="Leave claude_instance out, or choose a name that no agent of the project has.",
        )


async def _is_free_name(call: Call, name: str, session: AgentSession) -> bool:
    """May the agent of this session take the name? Not if a key owns it or another window works under it."""
    if await _belongs_to_other_key(call, name):
        return False
    if not call.caller.has_role("agent"):
        return not await store.load_agents_by_name(call.tx, call.project, [name], call.now)
    since = call.now - NAME_BUSY_MICROSECONDS
    return not await store.is_name_busy(call.tx, session.project, name, since)


async def _belongs_to_other_key(call: Call, name: str) -> bool:
    owners = await load_name_owners(call.tx, call.project, call.now)
    if is_taken(owners, name, call.caller):
        return True
    row = (await store.load_agents_by_name(call.tx, call.project, [name], call.now)).get(name)
    if row is None or not is_owned_by_other_key(row, call.caller):
        return False
    if not row["key_is_live"]:
        await set_agent_aside(call, name, row["key_id"])
    return bool(row["key_is_live"])
