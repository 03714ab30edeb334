"""Every operation within reach of a model that is shown only a few: one tool finds operations by words, one calls any.

BM25 over name, description, keywords and arguments; tests/contract/test_intents.py measures it on phrases that no
description was written for.
"""

import math
from collections import Counter
from functools import cache
from typing import Annotated, Any

from pydantic import Field

from commonplace.call import Call
from commonplace.operation import Reply, Tool, operation
from commonplace.room import Catalogue, list_operations
from commonplace.search.text import tokenize
from commonplace.tool_schema import tool_definition

_MAX_FOUND = 5
_SATURATION = 1.2
_LENGTH_WEIGHT = 0.75


class FoundOperation(Reply):
    name: str
    description: str
    arguments: dict[str, Any]


class FoundOperations(Reply):
    operations: list[FoundOperation]


@cache
def _count_words(tool: Tool) -> Counter[str]:
    shown = tool_definition(tool)
    return Counter(
        tokenize(f"{tool.name} {shown['description']} {' '.join(shown['inputSchema']['properties'])}")
    )


def rank_tools(catalogue: Catalogue, words: str) -> list[Tool]:
    """The tools that models may call and that have any of the words, best first."""
    documents = {catalogue.tools[name]: _count_words(catalogue.tools[name]) for name in catalogue.model_tools}
    tools_with = Counter(word for counts in documents.values() for word in counts)
    mean_length = sum(counts.total() for counts in documents.values()) / len(documents)
    asked = set(tokenize(words))

    def score_tool(counts: Counter[str]) -> float:
        length = _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * counts.total() / mean_length)
        return sum(
            math.log(1 + (len(documents) - tools_with[word] + 0.5) / (tools_with[word] + 0.5))
            * (counts[word] * (_SATURATION + 1) / (counts[word] + length))
            for word in asked & counts.keys()
        )

    scores = {tool: score_tool(counts) for tool, counts in documents.items()}
    return sorted((tool for tool in scores if scores[tool]), key=lambda tool: (-scores[tool], tool.name))


@operation(
    "memory_find_operation", role="readonly", session=False, example={"query": "add a task to the backlog"}
)
async def find_operation(
    call: Call,
    query: Annotated[str, Field(max_length=500, description="What you want to do.")],
) -> FoundOperations:
    """Find more operations: tasks, specs, checklists, projects, databases, past sessions, notes. Use it when no tool here fits."""
    usable = [
        tool
        for tool in rank_tools(call.catalogue, query)
        if any(call.caller.has_role(act.role) for act in list_operations(tool))
    ]
    return FoundOperations(operations=[_describe_tool(tool) for tool in usable[:_MAX_FOUND]])


def _describe_tool(tool: Tool) -> FoundOperation:
    shown = tool_definition(tool, with_keywords=False)
    return FoundOperation(
        name=tool.name, description=" ".join(shown["description"].split()), arguments=shown["inputSchema"]
    )


@operation(
    "memory_call_operation",
    role="readonly",
    writes=True,
    destroys=True,
    session=False,
    verbatim=("*",),
    runs_another=True,
    example={"name": "memory_list_projects", "arguments": {}},
)
async def call_operation(
    call: Call, name: Annotated[str, Field(max_length=200)], arguments: dict[str, Any]
) -> dict[str, Any]:
    """Call an operation by its name. Use it after memory_find_operation."""
    del call, arguments
    raise AssertionError(f"{name} runs in place of this operation, see Calls.run.")
