"""The instructions of the server: a map of what to call when, for the tools that the client has."""

import re
from typing import Any

import pytest

from commonplace import access
from commonplace.catalogue import CATALOGUE
from commonplace.edges.mcp.host import McpContext, ToolView
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.product_host import ProductHost
from team import Team

pytestmark = pytest.mark.sqlite_only

MAX_WORDS = 300


def _instructions(team: Team, view: ToolView) -> str:
    nothing: Any = None
    host = ProductHost(team.calls, nothing, Publisher())
    return host.instructions(
        McpContext(
            caller=access.LOCAL,
            view=view,
            version="2025-11-25",
            client="test",
            headers={},
            meta={},
            capabilities={},
            channel=nothing,
        )
    )


def _named_tools(text: str) -> set[str]:
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    return {name for line in lines for name in re.split(r", |: ", line)[1:] if name in CATALOGUE.tools}


async def test_instructions_are_a_map_of_less_than_three_hundred_words(team):
    text = _instructions(team, ToolView(frozenset({"all"})))
    assert len(text.split()) < MAX_WORDS
    assert {"memory_list_backlog", "memory_get_spec", "search_sessions"} <= _named_tools(text)


@pytest.mark.parametrize("toolset", sorted(CATALOGUE.toolsets))
async def test_instructions_recommend_only_tools_of_the_toolset(team, toolset: str):
    text = _instructions(team, ToolView(toolsets=frozenset({toolset})))
    assert _named_tools(text) <= set(CATALOGUE.toolsets[toolset])


async def test_instructions_of_an_unknown_toolset_have_no_map(team):
    assert "\n- " not in _instructions(team, ToolView(toolsets=frozenset({"nothing"})))
