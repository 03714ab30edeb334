"""Who gets a message."""

import difflib

from commonplace import errors
from commonplace.call import Call
from commonplace.rooms.messages import store
from commonplace.rooms.messages.model import ADMINS, EVERYONE

_CLOSE_NAMES = 3
_CLOSENESS = 0.5


async def resolve(call: Call, project: str, to: str) -> tuple[str, list[str]]:
    """The address in its one spelling, and the agents that it stands for."""
    if to in (EVERYONE, ADMINS):
        names = await store.team(call.tx, project, call.now, admins=to == ADMINS)
        return to, [name for name in names if not _is_sender(call, project, name)]
    if await store.known_agent(call.tx, project, to):
        return to, [to]
    name = await _nearly_known(call, project, to)
    return name, [name]


async def _nearly_known(call: Call, project: str, to: str) -> str:
    """A name in another case, or any name at all where there is no roster yet; else refused."""
    names = await store.known_agents(call.tx, project)
    in_other_case = [name for name in names if name.casefold() == to.casefold()]
    if len(in_other_case) == 1:
        return in_other_case[0]
    others = [name for name in names if not _is_sender(call, project, name)]
    if not others and not await store.registered(call.tx, project):
        return to
    close = difflib.get_close_matches(to, names, n=_CLOSE_NAMES, cutoff=_CLOSENESS)
    hint = f"Did you mean {' or '.join(close)}?" if close else "memory_list_agents names them."
    raise errors.NotFound(f"There is no agent '{to}' in '{project}'.", hint=hint, close=close)


def _is_sender(call: Call, project: str, name: str) -> bool:
    return name == call.agent and call.session is not None and project == call.session.project
