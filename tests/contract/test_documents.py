"""Undocumented or unsnapshotted means failing."""

from pathlib import Path

import pytest

from commonplace.catalogue import CATALOGUE
from commonplace.edges.docs import ARCHITECTURE_PAGE, fill_rooms_table, render_pages

TOP = Path(__file__).parents[2]
PAGES = render_pages(CATALOGUE)


@pytest.mark.parametrize("path", sorted(PAGES))
def test_generated_file_is_as_the_catalogue_says(path: str):
    assert (TOP / path).read_text() == PAGES[path], "run `make docs` and look at the difference"


def test_no_generated_file_is_left_over():
    there = {
        str(each.relative_to(TOP))
        for folder in ("docs/operations", "tests/snapshots")
        for each in (TOP / folder).iterdir()
    }
    assert there == set(PAGES)


def test_architecture_page_lists_the_rooms_of_the_catalogue():
    page = (TOP / ARCHITECTURE_PAGE).read_text()
    assert "| [locks](operations/locks.md) |" in page
    assert fill_rooms_table(page, CATALOGUE) == page, "run `make docs` and look at the difference"


def test_every_tool_is_described_in_few_words():
    assert [tool.name for tool in CATALOGUE.tools.values() if not 10 <= len(tool.description) <= 300] == []


def test_readme_is_short():
    assert len((TOP / "README.md").read_text().splitlines()) < 150
