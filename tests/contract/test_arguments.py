"""What is wrong with an argument is told in words of our own, and null means that it was left out."""

from typing import Any

import pytest

from commonplace import access, errors

pytestmark = pytest.mark.sqlite_only

LAPTOP = {"machine": "laptop", "tool": "codex", "project": "shop"}
ID = "laptop-codex-shop"


async def refused(running: Any) -> errors.Refusal:
    with pytest.raises(errors.Refusal) as refusal:
        await running
    return refusal.value


@pytest.mark.parametrize(
    ("operation", "given", "hint"),
    [
        ("read_knowledge", {"workspace_id": ID, "path": "../x"}, "notes/cart.md"),
        ("list_sessions", {"workspace_id": ID, "since": "yesterday"}, "ISO 8601"),
        ("read_session", {"workspace_id": ID, "session_id": "a b"}, "[A-Za-z0-9]"),
        ("read_knowledge", {"workspace_id": ID}, "Pass path"),
        ("read_knowledge", {"workspace_id": ID, "path": "a.md", "limit": 0}, "limit"),
    ],
)
async def test_a_refused_argument_comes_with_the_rule_that_it_breaks(team, operation, given, hint):
    refusal = await refused(team.anyone().call(operation, **given))
    assert refusal.code == "invalid"
    assert hint in refusal.hint
    assert "Value error" not in refusal.message + refusal.hint


async def test_every_broken_rule_of_a_call_is_told_once(team):
    refusal = await refused(team.anyone().call("read_session", workspace_id=ID, session_id="?", offset=-1))
    assert refusal.message.count(";") == 1
    assert "session_id" in refusal.message
    assert "offset" in refusal.message


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("get_overview", {"workspace_id": None, "limit": None, "max_tokens": None}),
        ("list_workspaces", {"machine": None, "limit": None, "offset": None}),
        ("search_knowledge", {"query": "x", "mode": None, "case_sensitive": None, "context": None}),
        ("memory_admin", {"action": "list_keys", "limit": None, "name": None, "machines": None}),
    ],
)
async def test_null_means_the_default(team, operation, given):
    left_out = {name: value for name, value in given.items() if value is not None}
    anyone = team.anyone(access.OPERATOR)
    assert await anyone.call(operation, **given) == await anyone.call(operation, **left_out)


async def test_null_is_no_value_for_an_argument_that_is_needed_or_unknown(team):
    needed = await refused(team.anyone().register_workspace(**(LAPTOP | {"machine": None})))
    unknown = await refused(team.anyone().list_workspaces(machnie=None))
    assert (needed.code, unknown.code) == ("invalid", "unknown_argument")


async def test_a_list_may_be_given_as_json_text(team):
    alice = await team.agent("alice")
    locked = await alice.lock_files(files='["a.py", "b.py"]')
    assert [grant["file"] for grant in locked["locked"]] == ["a.py", "b.py"]
    made = await alice.batch_backlog(action="create", items='[{"title": "One", "tags": "[\\"cart\\"]"}]')
    assert (await alice.get_by_id(doc_id=made["items"][0]["id"]))["tags"] == ["cart"]


@pytest.mark.parametrize(
    "files",
    ["a.py", '["a.py', '{"a": 1}', "3", '["a\\u0000.py"]', "[" * 5000 + "]" * 5000, "[" * 900 + "]" * 900],
)
async def test_a_text_that_is_not_a_json_list_is_refused_as_before(team, files):
    alice = await team.agent("alice")
    assert (await refused(alice.lock_files(files=files))).code == "invalid"


async def test_a_text_argument_keeps_text_that_looks_like_a_list(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="Cart", content='["a", "b"]')
    assert (await alice.get_by_id(doc_id=made["id"]))["content"] == '["a", "b"]'


@pytest.mark.parametrize("name", ["session_id", "agent_session"])
async def test_session_is_ignored_where_none_is_needed(team, name):
    alice = await team.agent("alice")
    listed = await team.anyone().call("memory_list_projects", **{name: alice.session_id})
    assert [project["project"] for project in listed["projects"]] == ["shop"]
