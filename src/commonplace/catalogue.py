"""The explicit list of rooms and their operations; the toolsets made of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any

from commonplace.activity import OnActivity
from commonplace.operation import Family, Operation, Tool
from commonplace.resource import Resource
from commonplace.rooms import (
    admin,
    agent_memory,
    agents,
    archives,
    backlog,
    blackboard,
    checklists,
    databases,
    functions,
    guidelines,
    knowledge,
    locks,
    messages,
    projects,
    sessions,
    specs,
    work,
    workspaces,
)

ROOMS: tuple[ModuleType, ...] = (
    sessions,
    knowledge,
    agents,
    messages,
    projects,
    guidelines,
    admin,
    locks,
    work,
    backlog,
    blackboard,
    agent_memory,
    specs,
    checklists,
    functions,
    databases,
    workspaces,
    archives,
)

# A dozen tools that every agent needs on every day; each other set is the operations of its rooms.
CORE = (
    "memory_start_session",
    "memory_end_session",
    "memory_query",
    "memory_store",
    "memory_record_learning",
    "memory_lock_files",
    "memory_unlock_files",
    "memory_get_locks",
    "memory_send_message",
    "memory_get_messages",
    "memory_heartbeat",
    "memory_update_work",
)


@dataclass(frozen=True)
class Catalogue:
    rooms: tuple[ModuleType, ...] = ROOMS

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        listed: dict[str, Tool] = {}
        for room in self.rooms:
            for tool in (*room.OPERATIONS, *getattr(room, "PROGRAMS", ())):
                if tool.name in listed:
                    raise ValueError(f"{tool.name} is listed twice")
                listed[tool.name] = tool
        return listed

    @cached_property
    def toolsets(self) -> Mapping[str, tuple[str, ...]]:
        """What models are given. Operations in a room's PROGRAMS are for our own commands, which call them over REST."""
        sets: dict[str, list[str]] = {"core": [name for name in CORE if name in self.tools]}
        for room in self.rooms:
            own = [tool.name for tool in room.OPERATIONS]
            sets.setdefault(room.TOOLSET, []).extend([*own, *getattr(room, "SHOWS", ())])
        return {name: tuple(names) for name, names in sets.items()}

    @cached_property
    def for_models(self) -> frozenset[str]:
        return frozenset(name for names in self.toolsets.values() for name in names)

    @cached_property
    def boot_sections(self) -> tuple[Any, ...]:
        return self._offered("BOOT_SECTIONS")

    @cached_property
    def on_activity(self) -> tuple[OnActivity, ...]:
        return self._offered("ON_ACTIVITY")

    @cached_property
    def on_session_end(self) -> tuple[Any, ...]:
        return self._offered("ON_SESSION_END")

    @cached_property
    def sweeps(self) -> tuple[Any, ...]:
        return self._offered("SWEEPS")

    @cached_property
    def chores(self) -> tuple[Any, ...]:
        return self._offered("CHORES")

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        return self._offered("RESOURCES")

    @cached_property
    def searched(self) -> tuple[Any, ...]:
        return self._offered("SEARCHED")

    @cached_property
    def finders(self) -> Mapping[str, Any]:
        """How to find a thing by the beginning of its id."""
        return {prefix: find for room in self.rooms for prefix, find in getattr(room, "FINDERS", {}).items()}

    def _offered(self, name: str) -> tuple[Any, ...]:
        return tuple(offer for room in self.rooms for offer in getattr(room, name, ()))


def operations(tool: Tool) -> tuple[Operation, ...]:
    """The operation, or those that a family's action picks from."""
    return tuple(tool.actions.values()) if isinstance(tool, Family) else (tool,)
