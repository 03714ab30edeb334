"""Undocumented or unsnapshotted means failing; what a page shows is what the product answers, on both stores."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from agent_tables import fill_tables
from commonplace.catalogue import CATALOGUE
from commonplace.edges.rest import openapi_document
from commonplace.room import Room
from documented_calls import CallRunner, run_in_process
from operation_docs import (
    ARCHITECTURE_PAGE,
    fill_rooms_table,
    name_room_page,
    register_sample_database,
    render_pages,
    render_room,
)
from team import Team

TOP = Path(__file__).parents[2]
PAGES = render_pages(CATALOGUE)
ROOM_PAGES = {name_room_page(room) for room in CATALOGUE.rooms}
GUIDES = sorted(path.name for path in (TOP / "docs/guides").glob("*.md"))
STORE_OF_PAGES = ('"kind": "postgresql"', '"kind": "sqlite"')
REGENERATE = "run `make docs` and look at the difference"


@pytest.fixture
def runner(team: Team) -> CallRunner:
    """Every reply that a page shows is also compared with the schema that openapi.json has for it."""
    run_call = run_in_process(team.calls)

    async def run_and_validate(agent: str, tool: str, arguments: dict[str, Any]) -> str:
        reply = await run_call(agent, tool, arguments)
        if "error" not in (fields := json.loads(reply)):
            _build_reply_validator(tool).validate(fields)
        return reply

    return CallRunner(run_and_validate, team.clock.advance)


@cache
def _build_reply_validator(tool: str) -> Any:
    document = openapi_document(CATALOGUE)
    responses = document["paths"][f"/api/{tool}"]["post"]["responses"]
    schema = responses["200"]["content"]["application/json"]["schema"]
    return jsonschema_rs.validator_for({"allOf": [schema], "components": document["components"]})


def test_every_reply_has_a_schema_with_fields():
    """A reply whose fields depend on the call (`anyOf`) has them in each of its choices."""
    document = openapi_document(CATALOGUE)
    components = document["components"]["schemas"]
    for path, item in document["paths"].items():
        if not path.startswith("/api/") or path == "/api/memory_call_operation":
            continue
        schema = item["post"]["responses"]["200"]["content"]["application/json"]["schema"]
        for choice in schema.get("anyOf", [schema]):
            name = choice["$ref"].rpartition("/")[2]
            assert components[name]["properties"] or name == "Reply", path


@pytest.mark.parametrize("path", sorted(PAGES))
def test_generated_file_is_as_the_catalogue_says(path: str):
    assert (TOP / path).read_text() == PAGES[path], REGENERATE


def _mark_room(room: Room) -> Any:
    """An SQLite database of the operator is read in a process of its own."""
    marks = [pytest.mark.processes] if room.name == "databases" else []
    return pytest.param(room, id=room.name, marks=marks)


@pytest.mark.slow
@pytest.mark.parametrize("room", [_mark_room(room) for room in CATALOGUE.rooms])
async def test_room_page_shows_what_each_operation_answers(runner: CallRunner, room: Room, tmp_path: Path):
    with register_sample_database(tmp_path / "shop.db"):
        page = await render_room(room, runner, TOP)
    assert (TOP / name_room_page(room)).read_text() == page.replace(*STORE_OF_PAGES), REGENERATE


@pytest.mark.slow
@pytest.mark.sqlite_only
@pytest.mark.parametrize("guide", GUIDES)
async def test_guide_shows_what_the_product_answers(runner: CallRunner, guide: str):
    page = (TOP / "docs/guides" / guide).read_text()
    assert fill_tables(await runner.render_page(page)) == page, REGENERATE


def test_no_generated_file_is_left_over():
    files = {
        str(path.relative_to(TOP))
        for folder in ("docs/operations", "tests/snapshots")
        for path in (TOP / folder).iterdir()
    }
    assert files == set(PAGES) | ROOM_PAGES


def test_architecture_page_lists_the_rooms_of_the_catalogue():
    page = (TOP / ARCHITECTURE_PAGE).read_text()
    assert "| [locks](operations/locks.md) |" in page
    assert fill_rooms_table(page, CATALOGUE) == page, REGENERATE


def test_every_tool_is_described_in_few_words():
    assert [tool.name for tool in CATALOGUE.tools.values() if not 10 <= len(tool.description) <= 300] == []


def test_readme_is_short():
    assert len((TOP / "README.md").read_text().splitlines()) < 150
