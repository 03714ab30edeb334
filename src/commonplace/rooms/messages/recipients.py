"""Resolve the address of a message to the agents that receive it."""

import difflib

from commonplace import errors
from commonplace.call import Call
from commonplace.project import is_registered_project
from commonplace.rooms.messages import store
from commonplace.rooms.messages.model import ALL_AGENTS, PROJECT_ADMINS

_MAX_SUGGESTIONS = 3
_SUGGESTION_CUTOFF = 0.5


async def resolve_recipients(call: Call, project: str, to: str) -> tuple[str, list[str]]:
    """Return the address with the agent's exact name, and the names of the agents that receive the message."""
    if to in (ALL_AGENTS, PROJECT_ADMINS):
        names = await store.list_roster_names(call.tx, project, call.now, admins=to == PROJECT_ADMINS)
        return to, [name for name in names if not _is_sender(call, project, name)]
    if await store.is_known_agent(call.tx, project, to):
        return to, [to]
    name = await _match_agent_name(call, project, to)
    return name, [name]


async def _match_agent_name(call: Call, project: str, to: str) -> str:
    """Match a name ignoring case. A project without a roster accepts any name; others refuse unknown ones."""
    names = await store.list_agent_names(call.tx, project)
    case_matches = [name for name in names if name.casefold() == to.casefold()]
    if len(case_matches) == 1:
        return case_matches[0]
    others = [name for name in names if not _is_sender(call, project, name)]
    if not others and not await is_registered_project(call.tx, project):
        return to
    suggestions = difflib.get_close_matches(to, names, n=_MAX_SUGGESTIONS, cutoff=_SUGGESTION_CUTOFF)
    hint = (
        f"Did you mean {' or '.join(suggestions)}?"
        if suggestions
        else "Call memory_list_agents for the names."
    )
    raise errors.NotFound(f"Unknown agent '{to}' in project '{project}'.", hint=hint, close=suggestions)


def _is_sender(call: Call, project: str, name: str) -> bool:
    return name == call.agent and call.session is not None and project == call.session.project
