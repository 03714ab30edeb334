"""Names in a call that are unknown but close to a known one. The reply tells them in `did_you_mean`; nothing is refused.

`call.py` looks at the arguments of every call before it runs; refusals that list close names make their own hints.
"""

import difflib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from commonplace import access, errors
from commonplace.project import (
    is_known_agent,
    is_known_project,
    list_all_project_names,
    list_some_agent_names,
)
from commonplace.store.database import Tx, Work
from commonplace.store.shared_reads import run_together

if TYPE_CHECKING:
    from commonplace.call import Call

_SIMILARITY = 0.75
_PROJECT_ARGUMENTS = ("project", "to_project")
_AGENT_ARGUMENTS = ("assigned_to", "blocked_by", "claude_instance", "instance", "owner", "spawned_by")
_NAMING_ARGUMENTS = frozenset({*_PROJECT_ARGUMENTS, *_AGENT_ARGUMENTS})
_GROUPS = frozenset({access.SHARED, access.ALL_PROJECTS})
_LISTED_BY = "tools/list, or GET /openapi.json, lists all names."
_NUMBERING = "0123456789-_"


def may_name_others(arguments: Mapping[str, Any]) -> bool:
    """Is there an argument that can name a project or an agent?"""
    return not _NAMING_ARGUMENTS.isdisjoint(arguments)


def unknown_operation(name: str, known: Iterable[str], listed_by: str = _LISTED_BY) -> errors.NotFound:
    """The refusal of a call whose operation does not exist; `listed_by` says where all of them are."""
    near = difflib.get_close_matches(name, list(known), n=1)
    meant = f"Did you mean {near[0]}? " if near else ""
    return errors.NotFound(f"Unknown operation '{name[:80]}'.", hint=f"{meant}{listed_by}")


async def suggest_names(call: "Call", arguments: Mapping[str, Any]) -> None:
    """Note every project and agent of the arguments that does not exist but is close to one that does."""
    projects = _list_texts(arguments, _PROJECT_ARGUMENTS)
    agents = [agent for agent in _list_texts(arguments, _AGENT_ARGUMENTS) if agent != call.agent]
    works: list[Work[None]] = [partial(_suggest_project, call, project) for project in projects]
    works += [partial(_suggest_agent, call, agent) for agent in agents]
    await run_together(call.tx, works)


async def suggest_project(call: "Call", project: str) -> None:
    await _suggest_project(call, project, call.tx)


async def _suggest_agent(call: "Call", agent: str, tx: Tx) -> None:
    if not await is_known_agent(tx, call.project, agent):
        _note_suggestion(call, "agent", agent, await list_some_agent_names(tx, call.project))


async def _suggest_project(call: "Call", project: str, tx: Tx) -> None:
    if project in _GROUPS:
        return
    own_project = call.session.project if call.session else ""
    name = access.normalize_project_name(project)
    if name == own_project or await is_known_project(tx, name):
        return
    names = [known for known in await list_all_project_names(tx) if call.caller.sees_project(known)]
    earlier = access.join_words_without_marks(project)
    if earlier != name and earlier in names:
        call.suggestions[f"'{name}' is a new project; earlier versions kept it in '{earlier}'"] = None
    _note_suggestion(call, "project", name, names)


def find_close_name(name: str, known: Iterable[str]) -> str | None:
    """The known name that was probably meant; one that differs only in its number is another thing."""
    others = [other for other in known if other.rstrip(_NUMBERING) != name.rstrip(_NUMBERING)]
    swapped = [other for other in others if sorted(other) == sorted(name)]
    close = swapped or difflib.get_close_matches(name, others, n=1, cutoff=_SIMILARITY)
    return close[0] if close else None


def _list_texts(arguments: Mapping[str, Any], names: tuple[str, ...]) -> list[str]:
    values = [arguments.get(name) for name in names]
    return [value for value in values if isinstance(value, str) and value]


def _note_suggestion(call: "Call", kind: str, name: str, known: list[str]) -> None:
    close = find_close_name(name, known)
    if close:
        call.suggestions[
            f"{'new' if call.writes else 'unknown'} {kind} '{name}'; did you mean '{close}'?"
        ] = None
