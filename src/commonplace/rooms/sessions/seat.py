"""The name of an agent that gives none: its seat's, so that the next window on the same place is the same agent.

A seat is a key, a tool on a machine, and a working directory. Names that are given: `agent_identity.py`.
"""

import hashlib
import re
from collections.abc import Collection
from itertools import count

from commonplace.access import Caller
from commonplace.call import Call
from commonplace.clock import HOUR
from commonplace.rooms.admin import store as keys
from commonplace.rooms.sessions import store
from commonplace.store.counters import lock_project

NAME_BUSY_MICROSECONDS = HOUR
"""A window that was idle for longer may have been closed without an end: its name is given again."""

_DEFAULT_TOOL = "agent"
_MAX_TOOL_CHARACTERS = 40
_NOT_IN_NAMES = re.compile(r"[^\w.+-]+")


def seat_id(caller: Caller, working_directory: str) -> str:
    directory = working_directory.replace("\\", "/").rstrip("/")
    return hashlib.sha256(f"{caller.key}\0{caller.seat}\0{directory}".encode()).hexdigest()[:32]


async def pick_seat_name(call: Call, project: str, working_directory: str) -> str:
    """The seat's lowest name that no other window uses now, or a new one."""
    await lock_project(call.tx, project, "seat")
    seat, tool = seat_id(call.caller, working_directory), _tool_name(call.caller)
    busy = await store.list_busy_names(call.tx, project, call.now - NAME_BUSY_MICROSECONDS)
    reserved = await keys.list_bound_names(call.tx, project, call.caller.key, call.now)
    own_names = sorted(await store.list_seat_names(call.tx, project, seat), key=_name_order)
    for name in own_names:
        if name not in busy and name not in reserved:
            return name
    taken = busy | reserved | await store.list_taken_names(call.tx, project, tool)
    return _lowest_free_name(tool, taken)


def _tool_name(caller: Caller) -> str:
    tool = _NOT_IN_NAMES.sub("-", caller.seat.partition("@")[0].lower()).strip("-.+")
    return tool[:_MAX_TOOL_CHARACTERS] or _DEFAULT_TOOL


def _lowest_free_name(tool: str, taken: Collection[str]) -> str:
    return next(name for name in (tool if n == 1 else f"{tool}-{n}" for n in count(1)) if name not in taken)


def _name_order(name: str) -> tuple[int, str]:
    """`claude` before `claude-2` before `claude-10`."""
    number = name.rpartition("-")[2]
    return (int(number) if number.isdecimal() else 1, name)
