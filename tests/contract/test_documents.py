"""Undocumented or unsnapshotted means failing; what a page shows is what the product answers, on both stores."""

from pathlib import Path
from typing import Any

import pytest

from commonplace.catalogue import CATALOGUE
from commonplace.edges.agent_tables import fill_tables
from commonplace.edges.docs import (
    ARCHITECTURE_PAGE,
    fill_rooms_table,
    name_room_page,
    register_sample_database,
    render_pages,
    render_room,
)
from commonplace.edges.documented_calls import CallRunner, run_in_process
from commonplace.room import Room
from team import Team

TOP = Path(__file__).parents[2]
PAGES = render_pages(CATALOGUE)
ROOM_PAGES = {name_room_page(room) for room in CATALOGUE.rooms}
GUIDES = sorted(path.name for path in (TOP / "docs/guides").glob("*.md"))
STORE_OF_PAGES = ('"kind": "postgresql"', '"kind": "sqlite"')
REGENERATE = "run `make docs` and look at the difference"


@pytest.fixture
def runner(team: Team) -> CallRunner:
    return CallRunner(run_in_process(team.calls), team.clock.advance)


@pytest.mark.parametrize("path", sorted(PAGES))
def test_generated_file_is_as_the_catalogue_says(path: str):
    assert (TOP / path).read_text() == PAGES[path], REGENERATE


def _mark_room(room: Room) -> Any:
    """An SQLite database of the operator is read in a process of its own."""
    marks = [pytest.mark.processes] if room.name == "databases" else []
    return pytest.param(room, id=room.name, marks=marks)


@pytest.mark.parametrize("room", [_mark_room(room) for room in CATALOGUE.rooms])
async def test_room_page_shows_what_each_operation_answers(runner: CallRunner, room: Room, tmp_path: Path):
    with register_sample_database(tmp_path / "shop.db"):
        page = await render_room(room, runner, TOP)
    assert (TOP / name_room_page(room)).read_text() == page.replace(*STORE_OF_PAGES), REGENERATE


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
