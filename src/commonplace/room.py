"""What a room is: one frozen `Room(...)` value that names everything the room contributes, and the catalogue of rooms.

Each `rooms/<room>/__init__.py` defines its `ROOM`; `catalogue.py` lists them. Nothing is registered by importing a module.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from commonplace.activity import ActivityStep
from commonplace.agent_names import AgentColumn, OnRename
from commonplace.boot import BootSection
from commonplace.call import Call, Calls
from commonplace.events import EventType
from commonplace.file_changes import ListFileChanges
from commonplace.operation import Operation, Tool
from commonplace.resource import Resource
from commonplace.retention import RetentionRule
from commonplace.search.source import SearchSource
from commonplace.store.nouns import NounTable
from commonplace.store.row_hashes import HashedTable

Chore = Callable[[Calls], Awaitable[None]]
"""Periodic work that cannot run in one transaction."""

Finder = Callable[[Call, str, str], Awaitable[Mapping[str, Any] | None]]
"""Loads one thing of a project by its id, in the shape that memory_get_by_id returns."""


@dataclass(frozen=True, kw_only=True)
class Room:
    """One noun of the product: its operations and what it contributes to the other parts of the server."""

    name: str
    purpose: str
    toolset: str
    operations: tuple[Tool, ...]
    program_operations: tuple[Tool, ...] = ()
    """Operations for our own programs: reachable over REST, not shown to models."""
    borrowed_tools: tuple[str, ...] = ()
    """Names of other rooms' tools that this room's toolset shows too."""
    toolsets_on_request: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Toolsets for one kind of client, made of `program_operations`: shown only to a client that asks for them by name."""
    boot_sections: tuple[BootSection, ...] = ()
    retention: tuple[RetentionRule, ...] = ()
    chores: tuple[Chore, ...] = ()
    resources: tuple[Resource, ...] = ()
    events: tuple[EventType, ...] = ()
    finders: Mapping[str, Finder] = field(default_factory=dict)
    """By the prefix of the ids that each one finds."""
    search_sources: tuple[SearchSource, ...] = ()
    on_activity: tuple[ActivityStep, ...] = ()
    file_changes: tuple[ListFileChanges, ...] = ()
    agent_columns: tuple[AgentColumn, ...] = ()
    """Every column of the room's tables that holds the name of an agent."""
    on_rename: tuple[OnRename, ...] = ()
    nouns: tuple[NounTable[Any], ...] = ()
    """Tables whose columns are declared once (`store/nouns.py`)."""
    hashed_tables: tuple[HashedTable, ...] = ()
    """Tables whose rows have a hash, so that damage is found (`row_checks.py`)."""


@dataclass(frozen=True)
class Catalogue:
    """All rooms, and the lookups that edges and calls need."""

    rooms: tuple[Room, ...]
    core_toolset: tuple[str, ...] = ()
    unlisted: frozenset[str] = frozenset()
    """Tools of toolsets that can be called but are not in tools/list, where every tool costs each session tokens."""

    @cached_property
    def tools(self) -> Mapping[str, Tool]:
        tools: dict[str, Tool] = {}
        for room in self.rooms:
            for tool in (*room.operations, *room.program_operations):
                if tool.name in tools:
                    raise ValueError(f"{tool.name} is listed twice")
                tools[tool.name] = tool
        return tools

    @cached_property
    def toolsets(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the tools in each toolset; tools of `program_operations` are in none."""
        toolsets: dict[str, list[str]] = {"core": [name for name in self.core_toolset if name in self.tools]}
        for room in self.rooms:
            own = [tool.name for tool in room.operations]
            toolsets.setdefault(room.toolset, []).extend([*own, *room.borrowed_tools])
        return {name: tuple(names) for name, names in toolsets.items()}

    @cached_property
    def toolsets_on_request(self) -> Mapping[str, tuple[str, ...]]:
        """The toolsets that are no part of the whole."""
        return {name: tools for room in self.rooms for name, tools in room.toolsets_on_request.items()}

    @cached_property
    def model_tools(self) -> frozenset[str]:
        """The names of the tools that models are shown."""
        return frozenset(name for names in self.toolsets.values() for name in names)

    @cached_property
    def listed_tools(self) -> frozenset[str]:
        """The names of the tools of all rooms that a client is shown that looks for tools when it needs them."""
        return frozenset(tool.name for room in self.rooms for tool in room.operations) - self.unlisted

    @cached_property
    def boot_sections(self) -> tuple[BootSection, ...]:
        return tuple(section for room in self.rooms for section in room.boot_sections)

    @cached_property
    def file_changes(self) -> tuple[ListFileChanges, ...]:
        return tuple(changes for room in self.rooms for changes in room.file_changes)

    @cached_property
    def on_activity(self) -> tuple[ActivityStep, ...]:
        return tuple(step for room in self.rooms for step in room.on_activity)

    @cached_property
    def agent_columns(self) -> tuple[AgentColumn, ...]:
        return tuple(column for room in self.rooms for column in room.agent_columns)

    @cached_property
    def on_rename(self) -> tuple[OnRename, ...]:
        return tuple(callback for room in self.rooms for callback in room.on_rename)

    @cached_property
    def nouns(self) -> tuple[NounTable[Any], ...]:
        return tuple(noun for room in self.rooms for noun in room.nouns)

    @cached_property
    def hashed_tables(self) -> tuple[HashedTable, ...]:
        return tuple(table for room in self.rooms for table in room.hashed_tables)

    @cached_property
    def retention(self) -> tuple[RetentionRule, ...]:
        return tuple(rule for room in self.rooms for rule in room.retention)

    @cached_property
    def chores(self) -> tuple[Chore, ...]:
        return tuple(chore for room in self.rooms for chore in room.chores)

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        return tuple(resource for room in self.rooms for resource in room.resources)

    @cached_property
    def event_types(self) -> Mapping[str, EventType]:
        return {event.name: event for room in self.rooms for event in room.events}

    @cached_property
    def search_sources(self) -> tuple[SearchSource, ...]:
        return tuple(source for room in self.rooms for source in room.search_sources)

    @cached_property
    def finders(self) -> Sequence[tuple[str, Finder]]:
        """The prefixes of ids with what finds them; ids of two rooms may begin alike."""
        return [each for room in self.rooms for each in room.finders.items()]


def list_operations(tool: Tool) -> tuple[Operation, ...]:
    """The operation itself, or the operations that a family's `action` picks from."""
    return (tool,) if isinstance(tool, Operation) else tuple(tool.actions.values())
