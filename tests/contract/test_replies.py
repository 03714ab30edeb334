"""What every reply holds: found by walking the catalogue, not by a list."""

import typing
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from commonplace import access
from commonplace.catalogue import CATALOGUE
from commonplace.operation import Operation, OperationFamily

pytestmark = pytest.mark.sqlite_only

SECONDARY_LISTS = {
    "claimed": "the locks are what is read; claims on files are beside them",
    "answers": "an open request has none yet",
    "agents": "memory_project(action=get) also answers action=create",
    "nearest_names": "offered only where nothing was found",
    "nearest_titles": "offered only where nothing was found",
    "participants": "the messages of a blackboard name their agents",
    "projects": "the scope of a key",
    "tags": "a property of an item",
    "wanted_by": "the locks are what is read; who wants one is beside it",
    "your_locks": "a part of the locks",
}


def _read_operations() -> Iterator[tuple[str, str, Operation]]:
    """Every operation that reads, with its tool and its action."""
    for tool in CATALOGUE.tools.values():
        if isinstance(tool, OperationFamily):
            yield from ((tool.name, action, act) for action, act in tool.actions.items() if not act.writes)
        elif not tool.writes:
            yield tool.name, "", tool


def _list_fields(operation: Operation) -> Iterator[msgspec.structs.FieldInfo]:
    """The lists of the operation's reply that are not secondary."""
    returned = typing.get_type_hints(operation.function)["return"]
    for kind in typing.get_args(returned) or [returned]:
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            for field in msgspec.structs.fields(kind):
                if typing.get_origin(field.type) is list and field.name not in SECONDARY_LISTS:
                    yield field


@pytest.mark.parametrize(
    "operation",
    [pytest.param(operation, id=f"{name}-{action}") for name, action, operation in _read_operations()],
)
def test_a_list_that_is_read_is_never_left_out(operation: Operation):
    assert [field.name for field in _list_fields(operation) if not field.required] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "lists"),
    [
        ("memory_query", {"query": "cart"}, ["results"]),
        ("memory_search_global", {"query": "cart"}, ["results"]),
        ("memory_get_messages", {}, ["messages"]),
        ("memory_get_messages", {"wait_seconds": 1}, ["messages"]),
        ("memory_get_locks", {}, ["locks"]),
        ("memory_unlock_files", {}, ["released"]),
        ("memory_list_backlog", {"status": "done"}, ["items"]),
        ("memory_get_agent_status", {"instance": "nobody"}, ["agents"]),
        ("memory_list_agents", {"project": "nowhere"}, ["agents"]),
        (
            "memory_get_active_work",
            {"instance": "nobody"},
            ["currently_active", "blocked_agents", "recent_signals", "recent_work_items"],
        ),
        ("memory_list_specs", {}, ["specs"]),
        ("memory_find_function", {"query": "cart"}, ["results"]),
        ("memory_get_enrichment_queue", {}, ["items"]),
        ("memory_guidelines", {"action": "list"}, ["guidelines"]),
        ("memory_checklist", {"action": "list"}, ["checklists"]),
        ("memory_db", {"action": "list"}, ["databases"]),
    ],
)
async def test_an_empty_list_is_in_the_reply(team, tool: str, arguments: dict[str, Any], lists: list[str]):
    alice = await team.agent("alice")
    reply = await alice.call(tool, session_id=alice.session_id, **arguments)
    assert {name: reply.get(name) for name in lists} == {name: [] for name in lists}


@pytest.mark.parametrize(
    ("tool", "field"),
    [("list_sessions", "sessions"), ("list_memory", "entries"), ("list_workspaces", "workspaces")],
)
async def test_an_empty_list_is_in_the_reply_of_tools_without_a_session(team, tool: str, field: str):
    anyone = team.anyone(access.OPERATOR)
    assert (await anyone.call(tool))[field] == []


async def test_a_change_of_a_backlog_item_does_not_return_its_description(team):
    alice = await team.agent("alice")
    added = await alice.add_backlog_item(title="Cart", description="long " * 1000)
    changed = await alice.update_backlog_item(item_id=added["id"], priority="high")
    assert "description" not in added.keys() | changed.keys()
    assert (changed["priority"], len(repr(changed)) < 1000) == ("high", True)
