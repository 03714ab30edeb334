"""Undocumented or unsnapshotted means failing."""

from pathlib import Path

import msgspec
import pytest

from commonplace.catalogue import CATALOGUE
from commonplace.edges.docs import render_pages
from commonplace.edges.schema import tool_definition

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


def _tokens(names) -> int:
    return len(msgspec.json.encode([tool_definition(CATALOGUE.tools[name]) for name in names])) // 4


def test_the_whole_list_of_tools_costs_less_than_9000_tokens():
    assert _tokens(CATALOGUE.model_tools) < 9000


def test_the_core_set_costs_less_than_2000_tokens():
    assert _tokens(CATALOGUE.toolsets["core"]) < 2000


def test_every_tool_is_described_in_few_words():
    assert [tool.name for tool in CATALOGUE.tools.values() if not 10 <= len(tool.description) <= 300] == []


def test_readme_is_short():
    assert len((TOP / "README.md").read_text().splitlines()) < 150
