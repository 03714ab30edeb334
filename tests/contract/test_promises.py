"""The names that agents, prompts and scripts rely on, held by a table (promises.txt): renaming or dropping one fails here.

The table has the arguments of every tool and the fields of its reply; what the tools do is tested in tests/rooms.
"""

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commonplace import access
from commonplace.catalogue import CATALOGUE
from commonplace.edges.rest import openapi_document
from commonplace.operation import Operation, OperationFamily
from commonplace.tool_schema import input_schema
from team import Team

TABLE = Path(__file__).with_name("promises.txt").read_text()
SESSIONS = {"session_id", "agent_session"}
WITHOUT_SESSION = {"memory_start_session", "memory_list_projects", "memory_health", "upload_session"}
ARGUMENT = re.compile(
    r"(?P<names>[\w/]+)(?P<optional>\?)?(?:=(?P<default>\"[^\"]*\"|\w+))?"
    r"(?:\{(?P<words>[\w,]+)\})?(?::(?P<low>\d+)-(?P<high>\d+))?"
)
FIELD = re.compile(r"(?P<name>\w+)(?P<optional>\?)?|[()]")
Schema = dict[str, Any]


class Promise(NamedTuple):
    tool: str
    action: str
    arguments: str
    reply: str

    @property
    def operation(self) -> Operation:
        tool = CATALOGUE.tools[self.tool]
        return tool.actions[self.action] if isinstance(tool, OperationFamily) else tool


def read_table() -> Iterator[Promise]:
    for line in TABLE.splitlines():
        if not line.startswith("#"):
            name, arguments, reply = (part.strip() for part in line.split("|"))
            yield Promise(*name.partition(".")[::2], arguments, reply)


PROMISES = list(read_table())
every_promise = pytest.mark.parametrize(
    "promise", [pytest.param(each, id=f"{each.tool}.{each.action}".rstrip(".")) for each in PROMISES]
)


def test_every_tool_that_models_are_shown_has_its_line():
    newer = {
        "memory_resume",
        "memory_ask_person",
        "memory_checkout_status",
        "memory_rule_test",
        "get_session_audit",
        "memory_find_operation",
        "memory_call_operation",
    }
    assert {promise.tool for promise in PROMISES} == CATALOGUE.model_tools - newer


@every_promise
def test_arguments_are_named_and_bounded_as_promised(promise: Promise):
    operation = promise.operation
    fields, properties = operation.argument_model.model_fields, input_schema(operation)["properties"]
    required = set()
    for match in ARGUMENT.finditer(promise.arguments):
        name, *others = match["names"].split("/")
        assert {other: operation.aliases.get(other) for other in others} == dict.fromkeys(others, name)
        if match["default"]:
            assert fields[name].default == json.loads(match["default"]), name
        elif match["optional"]:
            assert fields[name].default in (None, "", []), name
        else:
            required.add(name)
        if match["words"]:
            assert set(properties[name]["enum"]) == set(match["words"].split(",")), name
        if match["low"]:
            bounds = (properties[name]["minimum"], properties[name]["maximum"])
            assert bounds == (int(match["low"]), int(match["high"])), name
    assert {name for name, field in fields.items() if field.is_required()} == required


@every_promise
def test_tools_take_the_session_of_their_caller(promise: Promise):
    fields = promise.operation.argument_model.model_fields
    assert SESSIONS & fields.keys() or promise.tool in WITHOUT_SESSION


@cache
def _read_schemas() -> Schema:
    return openapi_document(CATALOGUE)


def _list_choices(schema: Schema) -> Iterator[Schema]:
    """The objects that a reply or a field of it may be, or that are in its list."""
    if "$ref" in schema:
        schema = _read_schemas()["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    for choice in schema.get("anyOf", ()):
        yield from _list_choices(choice)
    if "items" in schema:
        yield from _list_choices(schema["items"])
    elif "properties" in schema:
        yield schema


def _find_missing(schema: Schema, fields: Iterator[re.Match[str]]) -> list[str]:
    """What an object lacks of the fields up to the next `)`; those inside a field follow it in brackets."""
    missing: list[str] = []
    name = ""
    for field in fields:
        if field[0] == ")":
            break
        if field[0] == "(":
            inside = list(_list_choices(schema.get("properties", {}).get(name, {})))
            missing += [f"{name}.{each}" for each in _find_missing(inside[0] if inside else {}, fields)]
            continue
        name = field["name"]
        has_it = name in schema.get("properties", {} if field["optional"] else ())
        if not has_it or (not field["optional"] and name not in schema.get("required", ())):
            missing.append(name)
    return missing


@every_promise
def test_the_reply_has_the_promised_fields(promise: Promise):
    responses = _read_schemas()["paths"][f"/api/{promise.tool}"]["post"]["responses"]
    schema = responses["200"]["content"]["application/json"]["schema"]
    lacking = [_find_missing(choice, FIELD.finditer(promise.reply)) for choice in _list_choices(schema)]
    assert min(lacking, key=len) == []


async def test_the_boot_pack_has_the_promised_fields_inside_its_sections(team: Team):
    bob = await team.agent("bob")
    await bob.record_learning(topic="Cart rounding", content="Round the totals of the cart at the end.")
    await bob.send_message(to_instance="bob", message="Read the cart spec", priority="urgent")
    await bob.lock_files(files=["src/cart.py"])
    await bob.add_backlog_item(title="Cart totals", assigned_to="alice")
    await team.anyone(access.OPERATOR).guidelines(action="set", name="money", rule="Use cents.", scope="shop")
    alice = await team.agent("alice")
    await bob.send_message(to_instance="alice", message="Is the cart ready? " * 20, priority="urgent")
    await alice.end_session(summary="half done", handoff_notes="The cart totals are next.")
    pack = (await team.agent("alice", task_description="round the totals in src/cart.py")).started
    assert list(pack)[:4] == ["guidelines", "project", "agent", "session_id"]
    assert pack["session_id"].startswith("shop_alice_")
    assert {"id", "from", "notes", "at"} <= pack["handoff"].keys()
    assert {"unread", "urgent", "top"} <= pack["messages"].keys()
    assert {"id", "title", "snippet", "age", "why"} <= pack["learnings"][0].keys()
    assert {"id", "title"} <= pack["backlog"][0].keys()
    assert {"agent"} <= pack["active_agents"][0].keys()
    assert {"name", "rule"} <= pack["guidelines"][0].keys()
    assert pack["relevant_locks"]
