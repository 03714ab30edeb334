"""What must be there for every room, tool and error code: found by walking the catalogue, not by a list."""

import importlib
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import commonplace
from commonplace import errors
from commonplace.catalogue import CATALOGUE
from commonplace.tool_schema import input_schema, tool_definition

TOP = Path(__file__).parents[2]
SHOWN_TO_MODELS = ("name", "description", "inputSchema")
BUDGETS: dict[str, int] = json.loads(Path(__file__).with_name("token_budgets.json").read_text())
CHARACTERS_PER_TOKEN = 4


@pytest.mark.parametrize("room", [room.name for room in CATALOGUE.rooms])
def test_every_room_has_its_test_file_and_its_page(room: str):
    assert (TOP / "tests" / "rooms" / f"test_{room}.py").is_file()
    assert (TOP / "docs" / "operations" / f"{room}.md").is_file()


@pytest.mark.parametrize("tool", sorted(CATALOGUE.tools))
def test_every_tool_has_a_snapshot_and_a_section(tool: str):
    snapshot = json.loads((TOP / "tests" / "snapshots" / f"{tool}.json").read_text())
    sections = [
        path.name
        for path in (TOP / "docs" / "operations").glob("*.md")
        if re.search(rf"^## {tool}$", path.read_text(), re.MULTILINE)
    ]
    assert (snapshot["name"], len(sections)) == (tool, 1)


def _refusal_classes(kind: type[errors.Refusal] = errors.Refusal) -> Iterator[type[errors.Refusal]]:
    yield kind
    for narrower in kind.__subclasses__():
        yield from _refusal_classes(narrower)


def test_errors_page_lists_every_code():
    source = Path(commonplace.__file__).parent
    for path in source.rglob("*.py"):
        if re.search(r"^class \w+\(.*(errors\.|Refusal)", path.read_text(), re.MULTILINE):
            parts = path.relative_to(source.parent).with_suffix("").parts
            importlib.import_module(".".join(parts).removesuffix(".__init__"))
    codes = {kind.code for kind in _refusal_classes() if kind.__module__.startswith("commonplace.")}
    page = (TOP / "docs" / "operations" / "errors.md").read_text()
    assert codes == set(re.findall(r"^\| `(\w+)` \|", page, re.MULTILINE))


def _count_tokens(names: Iterable[str], *, with_keywords: bool = False) -> int:
    """About as many as a model reads: annotations are for the client, keywords for one that searches the tools."""
    shown = [
        {
            key: value
            for key, value in tool_definition(CATALOGUE.tools[name], with_keywords=with_keywords).items()
            if key in SHOWN_TO_MODELS
        }
        for name in sorted(names)
    ]
    return len(msgspec.json.encode(shown)) // CHARACTERS_PER_TOKEN


@pytest.mark.parametrize("toolset", CATALOGUE.toolsets)
def test_toolset_stays_within_its_token_budget(toolset: str):
    """A new tool may need more: raise the budget in token_budgets.json in the same change."""
    assert _count_tokens(set(CATALOGUE.toolsets[toolset]) - CATALOGUE.unlisted) <= BUDGETS[toolset]


def test_all_tools_stay_within_their_token_budget():
    assert _count_tokens(CATALOGUE.listed_tools, with_keywords=True) <= BUDGETS["all"]


def test_every_budget_belongs_to_a_toolset():
    assert BUDGETS.keys() == {"all", *CATALOGUE.toolsets}


def test_toolsets_on_request_are_small_and_cost_other_clients_nothing():
    for name, tools in CATALOGUE.toolsets_on_request.items():
        assert name not in CATALOGUE.toolsets
        assert not CATALOGUE.model_tools & set(tools)
        assert _count_tokens(tools) <= 200


def _walk_arguments() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every argument of every tool, as programs are shown it."""
    for tool in CATALOGUE.tools.values():
        for name, kind in input_schema(tool)["properties"].items():
            yield tool.name, name, kind


def test_every_number_and_list_has_its_bounds():
    unbounded = [
        (tool, name)
        for tool, name, kind in _walk_arguments()
        if (kind.get("type") in ("integer", "number") and "minimum" not in kind)
        or (kind.get("type") == "array" and "maxItems" not in kind)
    ]
    assert unbounded == []


def test_models_are_shown_defaults_but_no_bound_of_a_long_list():
    properties = tool_definition(CATALOGUE.tools["memory_lock_files"])["inputSchema"]["properties"]
    assert "maxItems" not in properties["files"]
    assert {name: properties[name]["default"] for name in ("minutes", "mode")} == {
        "minutes": 30,
        "mode": "exclusive",
    }


@pytest.mark.parametrize(("tool", "most"), [("memory_get_messages", 60), ("memory_lock_files", 60)])
def test_schema_names_the_longest_wait(tool: str, most: int):
    properties = tool_definition(CATALOGUE.tools[tool])["inputSchema"]["properties"]
    assert properties["wait_seconds"]["maximum"] == most


def test_schema_of_a_batch_names_every_argument_of_its_items():
    items = tool_definition(CATALOGUE.tools["memory_batch_backlog"])["inputSchema"]["properties"]["items"]
    singles = ("memory_add_backlog_item", "memory_update_backlog_item", "memory_complete_backlog_item")
    arguments = {name for single in singles for name in input_schema(CATALOGUE.tools[single])["properties"]}
    assert items["items"]["properties"].keys() == arguments - {"session_id"}


def test_annotations_that_equal_the_defaults_of_the_protocol_are_not_sent():
    sent = {
        (name, hint)
        for tool in CATALOGUE.tools.values()
        for name, hint in tool_definition(tool)["annotations"].items()
    }
    assert sent == {
        ("readOnlyHint", True),
        ("destructiveHint", False),
        ("idempotentHint", True),
        ("openWorldHint", False),
    }


def test_core_opens_what_it_finds():
    assert {"memory_query", "memory_get_by_id"} <= set(CATALOGUE.toolsets["core"])
