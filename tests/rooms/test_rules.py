"""Rules that hold: who may set one, what is refused, and what hooks are sent."""

from dataclasses import replace
from typing import Any

import pytest

from commonplace import access, errors
from commonplace.rooms.guidelines.rule_set import LOAD_RULES
from team import Agent, Team

NO_FORCE = {
    "on": "command",
    "match": {"command": "git push --force|-f"},
    "do": "deny",
    "reason": "The history of main was lost twice.",
}
HINT = {"on": "prompt", "match": {"text": "(?i)deploy"}, "do": "inject"}
ADMIN = access.Caller("admin", frozenset({"shop"}), "key_admin", agent="ann")
OWNER = access.Caller("owner", frozenset({"*"}), "key_owner", agent="olga")


async def set_rule(agent: Agent, enforce: dict[str, Any], name: str = "no-force", **more: Any) -> Any:
    return await agent.guidelines(
        action="set", name=name, rule="Do not force.", enforce=enforce, **{"scope": "shop"} | more
    )


async def load_rules(team: Team, known: str = "-", caller: access.Caller = access.LOCAL) -> Any:
    answer = await team.calls.run_operation(LOAD_RULES, {"project": "shop", "known": known}, caller)
    return answer.reply


async def test_rule_is_listed_with_its_author_reason_and_end(team: Team):
    await set_rule(team.anyone(ADMIN), NO_FORCE)
    (listed,) = (await team.anyone(ADMIN).guidelines(action="list", scope="shop"))["guidelines"]
    assert listed["enforced_by"] == "ann"
    assert listed["enforce"] == {
        "on": ["command"],
        "match": {"command": ["git push --force|-f"]},
        "do": "deny",
        "reason": "The history of main was lost twice.",
        "expires": "2028-01-15T08:00:00Z",
    }


@pytest.mark.parametrize("do", ["deny", "ask"])
async def test_program_without_a_key_sets_no_rule_that_prevents(team: Team, do: str):
    ann = await team.agent("ann")
    with pytest.raises(errors.Forbidden):
        await set_rule(ann, NO_FORCE | {"do": do})
    assert (await ann.guidelines(action="list"))["count"] == 0


@pytest.mark.parametrize("role", ["readonly", "agent", "sync"])
async def test_key_below_admin_sets_no_rule(team: Team, role: access.Role):
    caller = access.Caller(role, frozenset({"shop"}), "key_low", agent="lou")
    for enforce in (NO_FORCE, HINT):
        with pytest.raises(errors.Forbidden):
            await set_rule(team.anyone(caller), enforce)
    assert (await load_rules(team)).rules == []


async def test_key_of_a_read_only_view_sets_no_rule(team: Team):
    with pytest.raises(errors.Forbidden):
        await set_rule(team.anyone(access.Caller("readonly", frozenset({"*"}), "key_owner")), NO_FORCE)


@pytest.mark.parametrize(
    "caller", [ADMIN, OWNER, access.OPERATOR, access.Caller("owner", frozenset({"*"}), kind="person")]
)
async def test_admin_key_and_person_set_a_rule_that_denies(team: Team, caller: access.Caller):
    assert (await set_rule(team.anyone(caller), NO_FORCE))["status"] == "created"
    assert [rule.name for rule in (await load_rules(team)).rules] == ["no-force"]


async def test_program_without_a_key_cannot_weaken_a_rule(team: Team):
    await set_rule(team.anyone(access.OPERATOR), NO_FORCE)
    ann = await team.agent("ann")
    weaker = {"on": "command", "match": {"command": "git push"}, "do": "warn"}
    for act in (
        {"action": "delete", "name": "no-force", "scope": "shop"},
        {"action": "set", "name": "no-force", "scope": "shop", "rule": "Anything goes."},
        {"action": "set", "name": "no-force", "scope": "shop", "rule": "Anything goes.", "enforce": weaker},
    ):
        with pytest.raises(errors.Forbidden):
            await ann.guidelines(**act)
    (rule,) = (await load_rules(team)).rules
    assert (rule.rule, rule.enforce["do"], rule.author) == ("Do not force.", "deny", "operator")


async def test_rule_without_denial_may_be_set_by_a_program(team: Team):
    ann = await team.agent("ann")
    await set_rule(ann, HINT, name="deploys")
    assert [(rule.name, rule.author) for rule in (await load_rules(team)).rules] == [("deploys", "ann")]


async def test_global_rule_takes_an_owner(team: Team):
    with pytest.raises(errors.Forbidden):
        await set_rule(team.anyone(ADMIN), NO_FORCE, scope="global")
    await set_rule(team.anyone(OWNER), NO_FORCE, scope="global")
    assert [(rule.name, rule.scope) for rule in (await load_rules(team)).rules] == [("no-force", "global")]


async def test_guideline_of_a_project_does_not_replace_a_global_rule_of_its_name(team: Team):
    await set_rule(team.anyone(OWNER), NO_FORCE, scope="global")
    await team.anyone(ADMIN).guidelines(action="set", name="no-force", rule="Force is fine.", scope="shop")
    assert [rule.scope for rule in (await load_rules(team)).rules] == ["global"]


async def test_text_of_agents_never_becomes_a_rule(team: Team):
    ann = await team.agent("ann")
    said = '{"enforce": {"on": "edit", "match": {"path": "**"}, "do": "deny", "reason": "mine"}}'
    await ann.store(title="guideline: rules", content=said, memory_type="architecture")
    await ann.record_learning(title="rule", details=said)
    await ann.send_message(to_instance="ben", subject="enforce", message=said)
    await team.anyone(OWNER).guidelines(action="set", name="told", rule=said, scope="shop")
    assert (await load_rules(team)).rules == []


async def test_set_again_without_enforce_keeps_the_rule_and_its_author(team: Team):
    await set_rule(team.anyone(ADMIN), NO_FORCE)
    await team.anyone(OWNER).guidelines(action="set", name="no-force", rule="Never force.", scope="shop")
    (rule,) = (await load_rules(team)).rules
    assert (rule.rule, rule.author, rule.enforce["do"]) == ("Never force.", "ann", "deny")


async def test_version_changes_with_the_rules_and_only_with_them(team: Team):
    first = await load_rules(team)
    await team.anyone(OWNER).guidelines(action="set", name="kind", rule="Be kind.", scope="shop")
    assert (await load_rules(team, first.version)).version == ""
    seen = {first.version}
    for act in (
        lambda: set_rule(team.anyone(ADMIN), NO_FORCE),
        lambda: set_rule(team.anyone(OWNER), HINT, name="hint", scope="global"),
        lambda: team.anyone(ADMIN).guidelines(
            action="set", name="no-force", rule="Never.", scope="shop", enforce=NO_FORCE | {"hold": True}
        ),
        lambda: team.anyone(ADMIN).guidelines(action="delete", name="no-force", scope="shop"),
    ):
        await act()
        now = await load_rules(team)
        assert now.version not in seen
        assert (await load_rules(team, now.version)).version == ""
        seen.add(now.version)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({}, "on"),
        ({"on": "save"}, "edit"),
        ({"on": "command", "do": "forbid"}, "deny"),
        ({"on": "command", "do": "deny", "reason": "x"}, "match"),
        ({"on": "prompt", "do": "deny", "reason": "x"}, "inject"),
        ({"on": "stop", "do": "ask", "reason": "x"}, "warn"),
        ({"on": "commit", "match": {"command": "make"}, "do": "deny", "reason": "x"}, "path"),
        ({"on": "edit", "match": {"path": "../x"}, "do": "warn"}, "gitignore"),
        ({"on": "edit", "match": {"text": "(a)\\1"}, "do": "warn"}, "RE2"),
        ({"on": "edit", "match": {"text": "(x{999}){999}"}, "do": "warn"}, "RE2"),
        ({"on": "command", "match": {"command": "make; rm x"}, "do": "warn"}, "program"),
        ({"on": "command", "match": {"command": "make"}, "do": "deny"}, "reason"),
        ({"on": "stop", "do": "warn", "unless": {"ran": "make", "within": "soon"}}, "30m"),
        ({"on": "stop", "do": "warn", "unless": {"role": "king"}}, "owner"),
        ({"on": "stop", "do": "warn", "expires": "2020-01-01"}, "never"),
        ({"on": "stop", "do": "warn", "hold": "yes"}, "true"),
        ({"on": "stop", "do": "warn", "when": "always"}, "unless"),
        ({"on": ["stop"] * 30, "do": "warn"}, "20"),
    ],
)
async def test_invalid_rule_is_refused_with_a_hint_that_teaches(team: Team, wrong: dict[str, Any], said: str):
    with pytest.raises(errors.Invalid) as refused:
        await set_rule(team.anyone(ADMIN), wrong)
    assert said in refused.value.hint
    assert (await team.anyone(ADMIN).guidelines(action="list", scope="shop"))["count"] == 0


async def test_rule_test_says_what_would_fire(team: Team):
    await set_rule(team.anyone(ADMIN), NO_FORCE | {"unless": {"ran": "make check"}})
    await set_rule(
        team.anyone(ADMIN),
        {"on": ["edit", "command"], "match": {"path": "db/*.sql"}, "do": "warn"},
        name="migrations",
    )
    ann = await team.agent("ann")
    assert (await ann.rule_test(command="git -C x push origin main -uf"))["fires"] == [
        {
            "rule": "no-force",
            "scope": "shop",
            "do": "deny",
            "say": "Do not force.",
            "by": "ann",
            "reason": "The history of main was lost twice.",
            "unless": {"ran": ["make check"], "within": "1h"},
        }
    ]
    assert [rule["rule"] for rule in (await ann.rule_test(file="db/1.sql"))["fires"]] == ["migrations"]
    assert [rule["rule"] for rule in (await ann.rule_test(command="echo x > db/2.sql"))["fires"]] == [
        "migrations"
    ]
    assert (await ann.rule_test(command="git push"))["fires"] == []
    with pytest.raises(errors.Invalid):
        await ann.rule_test()


async def test_expired_rule_does_not_fire(team: Team):
    await set_rule(team.anyone(ADMIN), NO_FORCE | {"expires": "2d"})
    ann = await team.agent("ann")
    assert len((await ann.rule_test(command="git push -f"))["fires"]) == 1
    team.clock.advance(days=2)
    assert (await (await team.agent("ben")).rule_test(command="git push -f"))["fires"] == []


async def test_fired_rule_is_an_event_counted_and_shown_as_prevented(team: Team):
    await set_rule(team.anyone(ADMIN), NO_FORCE)
    await set_rule(team.anyone(OWNER), NO_FORCE, scope="global")
    ben = await team.agent("ben")
    await ben.report_prevented(kind="rule_fired", what="git push -f", rule="no-force", rule_scope="shop")
    await ben.report_prevented(kind="rule_fired", what="git push -f", rule="no-force", rule_scope="global")
    await ben.report_prevented(kind="rule_warned", what="git push", rule="no-force", rule_scope="shop")
    listed = (await ben.guidelines(action="list"))["guidelines"]
    assert {(each["scope"], each["hits"], each["last_hit"]) for each in listed} == {
        ("shop", 2, "2027-01-15T08:00:00Z"),
        ("global", 1, "2027-01-15T08:00:00Z"),
    }
    state = await ben.get_live_state(project="shop")
    assert state["prevented_counts"] == {"rules": 2}
    fired = [
        event for event in (await ben.list_events(project="shop"))["events"] if event["kind"] == "RuleFired"
    ]
    assert {event["body"]["rule"] for event in fired} == {"no-force"}


async def test_boot_pack_says_which_guidelines_are_enforced(team: Team):
    await set_rule(team.anyone(replace(ADMIN, kind="person")), NO_FORCE)
    ann = await team.agent("ann")
    assert ann.started["guidelines"] == [
        {"name": "no-force", "rule": "Do not force.", "by": "ann", "enforced": "deny"}
    ]
