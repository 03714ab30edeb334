"""A noun's fields are declared once: every field of every noun is on each surface that shows the noun."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from commonplace.backup.pages import format_backlog_item
from commonplace.catalogue import CATALOGUE
from commonplace.client.people.backlog import list_more_fields
from commonplace.clock import iso
from commonplace.rooms.backlog.model import BACKLOG
from commonplace.store.database import Row
from commonplace.store.nouns import NounColumn, NounTable
from commonplace.tool_schema import input_schema
from team import Team

Surface = Callable[[Team, Row], Awaitable[Mapping[str, Any]]]
"""Returns what a surface shows of the row."""


async def _load_by_id(team: Team, row: Row) -> Mapping[str, Any]:
    shown = await (await team.agent("reader")).get_by_id(doc_id=row["id"])
    return shown | shown["facts"] | {"created_by": shown["author"], "description": shown["content"]}


async def _list_backlog(team: Team, row: Row) -> Mapping[str, Any]:
    (item,) = (await (await team.agent("reader")).list_backlog(include_done=True))["items"]
    return item | {"created": iso(row["created_at"])}  # a list has the age instead


async def _start_session(team: Team, row: Row) -> Mapping[str, Any]:
    (item,) = (await team.agent(row["assigned_to"])).started["backlog"]
    shown = BACKLOG.describe(row)
    return {name: shown[name] for name in ("project", "version", "created", "updated", "tags")} | item


async def _write_page(_: Team, row: Row) -> Mapping[str, Any]:
    _, page = format_backlog_item(row)
    shown = BACKLOG.describe(row)
    return {name: value for name, value in shown.items() if name in page or str(value) in page}


SURFACES: dict[str, tuple[Surface, ...]] = {
    "backlog": (_load_by_id, _list_backlog, _start_session, _write_page),
}


def _make_row(noun: NounTable[Any], now: int) -> dict[str, Any]:
    """A row with a value in every field that is shown."""

    def fill(column: NounColumn) -> Any:
        return [column.name] if column.is_list else now if column.is_time else f"{column.name} text"

    return {column.name: fill(column) for column in noun.fields}


def _make_backlog_row(now: int) -> dict[str, Any]:
    fixed = {"project": "shop", "id": "backlog_0123456789ab", "assigned_to": "bob", "version": 7}
    return _make_row(BACKLOG, now) | fixed | {"status": "in_progress", "priority": "high"}


@pytest.mark.parametrize("noun", CATALOGUE.nouns, ids=lambda noun: noun.name)
async def test_every_field_of_a_noun_is_on_each_of_its_surfaces(team: Team, noun: NounTable[Any]):
    await team.agent("alice")
    row = await team.database.write(lambda tx: noun.insert(tx, _make_backlog_row(team.clock())))
    expected = noun.describe(row)
    assert expected.keys() == {column.field for column in noun.fields}
    for surface in SURFACES[noun.name]:
        shown = await surface(team, row)
        assert (surface.__name__, expected.keys() - shown.keys()) == (surface.__name__, set())


def test_what_callers_may_set_is_an_argument_of_the_writes_and_of_the_batch():
    set_by_completion = {"resolution"}
    for name in ("memory_add_backlog_item", "memory_update_backlog_item"):
        arguments = input_schema(CATALOGUE.tools[name])["properties"].keys()
        by_status = {"status"} if name == "memory_add_backlog_item" else set()
        assert set(BACKLOG.editable) - set_by_completion - by_status - arguments == set()
    items = input_schema(CATALOGUE.tools["memory_batch_backlog"])["properties"]["items"]["items"][
        "properties"
    ]
    assert set(BACKLOG.editable) - items.keys() == set()


def test_the_table_of_the_command_line_has_a_column_for_what_it_does_not_know():
    assert list_more_fields([{"id": "backlog_1", "title": "Cart", "due": "2027-01-01"}]) == ["due"]
