"""A name that is unknown but close to a known one is told in `did_you_mean`; nothing is refused for it."""

import pytest

from commonplace import access, errors
from commonplace.suggestions import find_close_name
from team import Team

pytestmark = pytest.mark.sqlite_only


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("webstor", "webstore"),
        ("bne", "ben"),
        ("alcie", "alice"),
        ("webstore2", None),
        ("claude-2", None),
        ("ann", None),
    ],
)
def test_close_names(name: str, close: str | None):
    assert find_close_name(name, ["webstore", "ben", "alice", "claude", "dan"]) == close


async def test_an_unknown_operation_names_one_that_is_close(team: Team):
    with pytest.raises(errors.NotFound) as refused:
        await team.calls.run("memory_list_bakclog", {}, access.LOCAL)
    assert refused.value.hint == (
        "Did you mean memory_list_backlog? tools/list, or GET /openapi.json, lists all names."
    )


def test_a_refusal_for_the_role_of_a_reader_names_what_is_read():
    uploader = access.Caller("sync", frozenset({"shop"}), "key_1")
    with pytest.raises(errors.Forbidden, match=r"^Reading all events requires the role readonly"):
        access.require_role(uploader, "readonly", "resource:all_events")


async def test_a_new_project_like_a_known_one_is_told_once(team: Team):
    await team.agent("alice", "webstore")
    first = await team.agent("alice", "webstor")
    second = await team.agent("bob", "webstor")
    assert first.started["did_you_mean"] == ["new project 'webstor'; did you mean 'webstore'?"]
    assert "did_you_mean" not in second.started


async def test_an_unknown_project_of_a_read_is_told(team: Team):
    alice = await team.agent("alice", "webstore")
    found = await alice.query(query="cart", project="web-stor")
    assert (found["results"], found["did_you_mean"]) == (
        [],
        ["unknown project 'web_stor'; did you mean 'webstore'?"],
    )
    assert "did_you_mean" not in await alice.query(query="cart", project="webstore")


async def test_projects_that_the_caller_may_not_see_are_not_suggested(team: Team):
    await team.agent("alice", "webstore")
    caller = access.Caller("agent", frozenset({"webstor"}), key="key_1")
    bob = await team.agent("bob", "webstor", caller=caller)
    assert "did_you_mean" not in bob.started


async def test_an_assignee_like_a_known_agent_is_told(team: Team):
    alice, _ = await team.agent("alice"), await team.agent("ben")
    told = ["new agent 'bne'; did you mean 'ben'?"]
    item = await alice.add_backlog_item(title="Cart", assigned_to="bne")
    changed = await alice.update_backlog_item(item_id=item["id"], assigned_to="ben")
    many = await alice.batch_backlog(action="create", items=[{"title": "One", "assigned_to": "bne"}] * 2)
    listed = await alice.list_backlog(assigned_to="bne")
    assert (item["did_you_mean"], many["did_you_mean"]) == (told, told)
    assert "did_you_mean" not in changed
    assert listed["did_you_mean"] == ["unknown agent 'bne'; did you mean 'ben'?"]


async def test_an_agent_that_starts_under_nearly_a_known_name_is_told(team: Team):
    await team.agent("backend")
    started = (await team.agent("bakcend")).started
    assert started["did_you_mean"] == ["new agent 'bakcend'; did you mean 'backend'?"]


async def test_a_scope_and_a_registered_project_are_told(team: Team):
    alice = await team.agent("alice", "webstore", caller=access.OPERATOR)
    rule = await alice.guidelines(action="set", name="tests", rule="Run them.", scope="webstor")
    made = await alice.project(action="create", name="websotre")
    assert rule["did_you_mean"] == ["new project 'webstor'; did you mean 'webstore'?"]
    assert made["did_you_mean"] == ["new project 'websotre'; did you mean 'webstore'?"]


async def test_a_refusal_names_the_spec_and_the_checklist_that_were_meant(team: Team):
    alice = await team.agent("alice")
    await alice.define_spec(name="cart-api", content="GET /cart")
    await alice.checklist(action="create", name="release", items=["build"])
    with pytest.raises(errors.NotFound) as spec:
        await alice.get_spec(name="cart_api")
    with pytest.raises(errors.NotFound) as checklist:
        await alice.checklist(action="get", name="relaese")
    assert (spec.value.hint, checklist.value.hint) == (
        "Did you mean 'cart-api'?",
        "Did you mean 'release'?",
    )


async def test_groups_are_names_of_no_project(team: Team):
    alice = await team.agent("alice", "webstore", caller=access.OPERATOR)
    rule = await alice.guidelines(action="set", name="tests", rule="Run them.")
    found = await alice.query(query="cart", project="shared")
    listed = await alice.list_backlog(project="*")
    assert rule["scope"] == "global"
    assert not any("did_you_mean" in reply for reply in (rule, found, listed))
