"""Resolve the address of a message to the agents that receive it."""

import difflib
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from commonplace import errors
from commonplace.call import Call
from commonplace.project import is_registered_project, list_all_project_names
from commonplace.rooms.admin import store as keys
from commonplace.rooms.admin.browser_sessions import list_people
from commonplace.rooms.messages import store
from commonplace.rooms.messages.model import ALL_AGENTS, PROJECT_ADMINS

_MAX_SUGGESTIONS = 3
_SUGGESTION_CUTOFF = 0.5


@dataclass(frozen=True, slots=True)
class Recipients:
    """`address`: the exact name of the agent, or the group. `not_addressed`: agents of the group whose windows are gone.
    `people`: those of the names that are signed in to the page, where they read mail without a session."""

    address: str
    names: list[str]
    people: frozenset[str] = frozenset()
    not_addressed: Sequence[str] = ()
    is_stranger: bool = False
    """No agent of this name has been in the project; it gets the message if one starts there."""
    lives_in: str = ""
    """The only other project in which a stranger is known."""

    def list_offline(self, live_agents: Collection[str]) -> list[str]:
        return [name for name in self.names if name not in live_agents and name not in self.people]


async def resolve_recipients(call: Call, project: str, to: str) -> Recipients:
    """The recipients behind a group, or behind a name that is not exactly that of an agent."""
    if to == ALL_AGENTS:
        return await _resolve_everyone(call, project)
    if to == PROJECT_ADMINS:
        people = await list_people(call.tx, project, call.now)
        admins = dict.fromkeys(await store.list_admin_names(call.tx, project))
        admins |= dict.fromkeys(name for name, is_admin in people.items() if is_admin)
        names = [name for name in admins if not _is_sender(call, project, name)]
        return Recipients(to, names, frozenset(people))
    if to in await list_people(call.tx, project, call.now):
        return Recipients(to, [to], frozenset([to]))
    name = await _match_agent_name(call, project, to)
    if name:
        return Recipients(name, [name])
    return Recipients(to, [to], is_stranger=True, lives_in=await _find_only_project(call, project, to))


async def _resolve_everyone(call: Call, project: str) -> Recipients:
    """Who is alive or known to come back, as a name that a key is bound to and a person who is signed in."""
    people = await list_people(call.tx, project, call.now)
    known = list(dict.fromkeys([*await store.list_agent_names(call.tx, project), *people]))
    reachable = set(await store.list_reachable_names(call.tx, project, call.now))
    reachable |= people.keys() | await keys.list_bound_names(call.tx, project, "", call.now)
    others = [name for name in known if not _is_sender(call, project, name)]
    names = [name for name in others if name in reachable]
    left_out = [name for name in others if name not in reachable]
    return Recipients(ALL_AGENTS, names, frozenset(people), left_out)


async def _match_agent_name(call: Call, project: str, to: str) -> str:
    """Match a name ignoring case. A project without a roster accepts any name, which is empty here; others refuse
    unknown ones."""
    names = await store.list_agent_names(call.tx, project)
    case_matches = [name for name in names if name.casefold() == to.casefold()]
    if len(case_matches) == 1:
        return case_matches[0]
    others = [name for name in names if not _is_sender(call, project, name)]
    if not others and not await is_registered_project(call.tx, project):
        return ""
    elsewhere = await _find_only_project(call, project, to)
    suggestions = difflib.get_close_matches(to, names, n=_MAX_SUGGESTIONS, cutoff=_SUGGESTION_CUTOFF)
    hint = "Call memory_list_agents for the names."
    if elsewhere:
        hint = f"'{to}' is an agent of the project '{elsewhere}': pass to_project='{elsewhere}'."
    elif suggestions:
        hint = f"Did you mean {' or '.join(suggestions)}?"
    raise errors.NotFound(
        f"Unknown agent '{to}' in project '{project}'.",
        hint=hint,
        close=suggestions,
        **({"to_project": elsewhere} if elsewhere else {}),
    )


async def _find_only_project(call: Call, project: str, name: str) -> str:
    """The one other project that the caller may see in which an agent has this name; empty if none or several have."""
    others = [
        each
        for each in await list_all_project_names(call.tx)
        if each != project and call.caller.sees_project(each)
    ]
    statement = "select project from agent where project = $1 and name = $2"
    found = await call.tx.together(*((statement, each, name) for each in others)) if others else []
    projects = [rows[0]["project"] for rows in found if rows]
    return projects[0] if len(projects) == 1 else ""


def _is_sender(call: Call, project: str, name: str) -> bool:
    return name == call.agent and (call.session is None or project == call.session.project)
