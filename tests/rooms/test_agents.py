"""Agents: heartbeats, status and the roster, and who may see them."""

import msgspec
import pytest

from commonplace import access, errors
from commonplace.clock import iso
from team import Team


async def _list_agent_changes(team: Team) -> list[tuple[str, dict]]:
    rows = await team.database.read(
        lambda tx: tx.all(
            "select uri, body from event where project = 'shop' and kind = 'AgentChanged' order by n"
        )
    )
    return [(row["uri"], msgspec.json.decode(row["body"])) for row in rows]


async def test_heartbeat_sets_status_and_current_task(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    assert await alice.heartbeat(status="busy", current_task="cart") == {
        "status": "ok",
        "agent": "alice",
        "agent_status": "busy",
        "timestamp": iso(team.clock.now),
        "unread": 0,
        "leases_renewed": 0,
    }
    assert await bob.get_agent_status(instance="alice") == {
        "count": 1,
        "total": 1,
        "agents": [
            {
                "instance": "alice",
                "project": "shop",
                "status": "busy",
                "stale": False,
                "sessions": 1,
                "locks": 0,
                "current_task": "cart",
                "last_heartbeat": iso(team.clock.now),
            }
        ],
    }


async def test_heartbeat_without_a_task_keeps_the_task_and_an_empty_one_clears_it(team: Team):
    alice = await team.agent("alice")
    await alice.heartbeat(status="busy", current_task="cart")
    await alice.heartbeat(status="idle")
    assert (await alice.get_agent_status())["agents"][0]["current_task"] == "cart"
    await alice.heartbeat(current_task="")
    assert "current_task" not in (await alice.get_agent_status())["agents"][0]
    assert (await alice.list_agents())["agents"][0]["last_task"] == "cart"


async def test_heartbeat_emits_an_event_only_when_something_changed(team: Team):
    alice = await team.agent("alice")
    for _ in range(3):
        await alice.heartbeat(status="busy", current_task="cart")
    await alice.heartbeat(status="error")
    assert await _list_agent_changes(team) == [
        ("agents://shop", {"agent": "alice", "status": "busy", "task": "cart"}),
        ("agents://shop", {"agent": "alice", "status": "error", "task": "cart"}),
    ]


async def test_heartbeat_counts_unread_mail(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    for text in ("one", "two"):
        await alice.send_message(to_instance="bob", message=text)
    assert (await bob.heartbeat())["unread"] == 2
    await bob.get_messages()
    assert (await bob.heartbeat())["unread"] == 0


async def test_heartbeat_renews_the_locks_of_its_session_alone(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["cart.py", "tax.py"], minutes=10)
    await bob.lock_files(files=["bank.py"], minutes=10)
    team.clock.advance(minutes=6)
    assert (await alice.heartbeat())["leases_renewed"] == 2
    team.clock.advance(minutes=6)
    locks = {agent["instance"]: agent["locks"] for agent in (await alice.get_agent_status())["agents"]}
    assert locks == {"alice": 2, "bob": 0}


@pytest.mark.parametrize("wrong", [{"status": "asleep"}, {"current_task": "x" * 501}, {"task": "cart"}])
async def test_heartbeat_refuses_invalid_arguments(team: Team, wrong):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid):
        await alice.heartbeat(**wrong)


async def test_heartbeat_does_not_add_a_removed_agent_again(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await team.database.write(
        lambda tx: tx.run("delete from agent where project = 'shop' and name = 'alice'")
    )
    await alice.heartbeat(status="busy")
    assert [agent["instance"] for agent in (await bob.list_agents())["agents"]] == ["bob"]


async def _status_by_agent(agent) -> dict[str, tuple[str, bool]]:
    listed = (await agent.get_agent_status())["agents"]
    return {entry["instance"]: (entry["status"], entry["stale"]) for entry in listed}


async def test_an_agent_that_calls_is_busy_and_not_stale_without_any_heartbeat(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(minutes=10)
    await alice.record_learning(topic="Carts", content="Totals are in cents.")
    assert await _status_by_agent(bob) == {"alice": ("busy", False), "bob": ("busy", False)}
    team.clock.advance(minutes=5)
    assert await _status_by_agent(bob) == {"alice": ("busy", False), "bob": ("busy", False)}
    team.clock.advance(seconds=1)
    assert await _status_by_agent(bob) == {"alice": ("idle", True), "bob": ("busy", False)}


async def test_a_silent_agent_stays_busy_and_is_shown_with_its_silence(team: Team):
    finn, bob = await team.agent("finn"), await team.agent("bob")
    await finn.update_work(title="VAT", status="completed")
    await finn.lock_files(files=["vat.py"], minutes=2)
    team.clock.advance(minutes=1)
    await bob.heartbeat()
    [status] = (await bob.get_agent_status(instance="finn"))["agents"]
    assert "silent_for" not in status
    team.clock.advance(minutes=2)
    [status] = (await bob.get_agent_status(instance="finn"))["agents"]
    assert (status["status"], status["stale"], status["silent_for"], status["locks"]) == (
        "busy",
        False,
        "3min",
        0,
    )
    team.clock.advance(minutes=3)
    [status] = (await bob.get_agent_status(instance="finn"))["agents"]
    assert (status["status"], status["stale"], status["silent_for"]) == ("busy", True, "6min")
    await finn.heartbeat()
    [status] = (await bob.get_agent_status(instance="finn"))["agents"]
    assert (status["status"], "silent_for" in status) == ("idle", False)


async def test_a_silent_agent_keeps_its_task_and_the_status_that_it_reported(team: Team):
    alice, bob = await team.agent("alice", task_description="cart"), await team.agent("bob")
    carol = await team.agent("carol")
    await bob.heartbeat(status="busy")
    team.clock.advance(minutes=20)
    statuses = await _status_by_agent(carol)
    assert (statuses["alice"], statuses["bob"]) == (("busy", True), ("busy", True))
    await alice.end_session(summary="done")
    [status] = (await carol.get_agent_status(instance="alice"))["agents"]
    assert (status["status"], "silent_for" in status) == ("offline", False)


async def test_the_caller_is_not_silent_in_what_it_reads(team: Team):
    alice = await team.agent("alice")
    team.clock.advance(minutes=3)
    [status] = (await alice.get_agent_status())["agents"]
    [active] = (await alice.get_active_work())["currently_active"]
    assert "silent_for" not in status
    assert (active["last_active"], "silent_for" in active) == (iso(team.clock.now), False)


async def test_a_read_counts_as_activity_too(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(minutes=10)
    await alice.list_backlog()
    await team.calls.activity.flush_pending()
    assert (await _status_by_agent(bob))["alice"] == ("busy", False)


async def _count_heartbeats_in_audit(team: Team) -> int:
    row = await team.database.read(
        lambda tx: tx.one("select count(*) as n from audit where operation = 'memory_heartbeat'")
    )
    return row["n"]


async def test_a_heartbeat_with_nothing_to_record_counts_as_activity_like_a_read(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(minutes=5)
    assert (await alice.heartbeat())["timestamp"] == iso(team.clock.now)
    assert await _count_heartbeats_in_audit(team) == 0
    await team.calls.activity.flush_pending()
    [status] = (await bob.get_agent_status(instance="alice"))["agents"]
    assert (status["stale"], status["last_heartbeat"]) == (False, iso(team.clock.now))


async def test_a_heartbeat_of_a_stale_agent_is_recorded_at_once(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(minutes=6)
    await alice.heartbeat()
    assert (await _status_by_agent(bob))["alice"] == ("busy", False)


async def test_a_heartbeat_that_renews_locks_or_claims_or_has_a_key_is_recorded(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.heartbeat(idempotency_key="once")
    assert await _count_heartbeats_in_audit(team) == 1
    await alice.lock_files(files=["cart.py"])
    await alice.heartbeat()
    assert await _count_heartbeats_in_audit(team) == 2
    item = (await bob.add_backlog_item(title="Cart"))["id"]
    await bob.update_backlog_item(item_id=item, claim=True)
    await bob.heartbeat()
    assert await _count_heartbeats_in_audit(team) == 3


async def test_a_heartbeat_without_a_status_changes_none(team: Team):
    alice = await team.agent("alice")
    await alice.heartbeat(status="error", current_task="cart")
    assert (await alice.heartbeat())["agent_status"] == "error"
    assert (await _status_by_agent(alice))["alice"] == ("error", False)
    await alice.heartbeat(status="idle")
    assert (await alice.heartbeat())["agent_status"] == "idle"
    assert (await _status_by_agent(alice))["alice"] == ("idle", False)


async def test_calls_after_a_reported_idle_show_the_agent_busy_again(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.heartbeat(status="idle")
    team.clock.advance(minutes=6)
    await alice.record_learning(topic="Carts", content="Totals are in cents.")
    assert (await _status_by_agent(bob))["alice"] == ("busy", False)


async def test_an_agent_is_idle_when_its_work_is_done_and_no_task_is_shown(team: Team):
    alice, bob = await team.agent("alice", task_description="vouchers"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="Voucher endpoint"))["id"]
    assert (await _status_by_agent(bob))["alice"] == ("busy", False)
    await alice.update_backlog_item(item_id=item, claim=True)
    await alice.heartbeat(status="busy")
    await bob.complete_backlog_item(item_id=item)
    assert (await _status_by_agent(bob))["alice"] == ("idle", False)
    assert (await alice.heartbeat())["agent_status"] == "idle"
    carol = await team.agent("carol")
    [entry] = [entry for entry in carol.started["active_agents"] if entry["agent"] == "alice"]
    assert entry == {"agent": "alice", "active": "just now"}


async def test_an_agent_that_holds_a_lock_or_has_other_work_is_busy(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.update_work(title="Tax", status="in_progress")
    await alice.update_work(title="Review of the mail room", status="in_progress")
    await alice.update_work(title="Review of the mail room", status="completed")
    [status] = (await bob.get_agent_status(instance="alice"))["agents"]
    assert (status["status"], status["current_task"]) == ("busy", "Tax")
    await alice.update_work(title="Tax", status="abandoned")
    await alice.lock_files(files=["tax.py"])
    [status] = (await bob.get_agent_status(instance="alice"))["agents"]
    assert (status["status"], status.get("current_task")) == ("busy", None)
    await alice.unlock_files()
    assert (await _status_by_agent(bob))["alice"] == ("idle", False)


async def test_an_agent_whose_sessions_ended_is_offline(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.heartbeat(status="busy")
    await alice.end_session(summary="done")
    assert (await _status_by_agent(bob))["alice"] == ("offline", False)
    team.clock.advance(minutes=6)
    assert (await _status_by_agent(bob))["alice"] == ("offline", True)


async def test_agent_status_counts_live_sessions(team: Team):
    alice, _ = await team.agent("alice"), await team.agent("alice")
    assert (await alice.get_agent_status())["agents"][0]["sessions"] == 2


async def test_agent_status_and_list_of_an_unknown_project_or_agent_are_empty_and_create_nothing(
    team: Team,
):
    alice = await team.agent("alice")
    empty = {"count": 0, "total": 0, "agents": []}
    assert await alice.get_agent_status(instance="nobody") == empty
    assert await alice.get_agent_status(project="moon") == empty
    assert await alice.list_agents(project="moon") == empty
    rows = await team.database.read(lambda tx: tx.all("select name from project"))
    assert [row["name"] for row in rows] == ["shop"]


async def test_agents_of_another_project_are_visible_only_with_access(team: Team):
    await team.agent("carl", project="bank")
    alice = await team.agent("alice")
    for listing in (await alice.list_agents(project="Bank"), await alice.get_agent_status(project="bank")):
        assert [(agent["instance"], agent["project"]) for agent in listing["agents"]] == [("carl", "bank")]
    bound = await team.agent("bob", caller=access.Caller("agent", frozenset({"shop"}), "key_b"))
    for call in (bound.list_agents(project="bank"), bound.get_agent_status(project="bank")):
        with pytest.raises(errors.Forbidden):
            await call
    assert [agent["instance"] for agent in (await bound.list_agents())["agents"]] == ["alice", "bob"]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("ALI", ["alice"]),
        ("tests", ["bob"]),
        ("b", ["bob"]),
        ("%", ["carl_100%"]),
        ("l_1", ["carl_100%"]),
        ("_", ["carl_100%"]),
        ("!", []),
        ("zoe", []),
    ],
)
async def test_list_agents_query_matches_a_literal_part_of_name_or_role(team: Team, query, names):
    await team.agent("alice")
    bob = await team.agent("bob", role_description="Runs the Tests")
    await team.agent("carl_100", role_description="")
    await team.database.write(
        lambda tx: tx.run("update agent set name = 'carl_100%' where project = 'shop' and name = 'carl_100'")
    )
    assert [agent["instance"] for agent in (await bob.list_agents(query=query)).get("agents", [])] == names


async def test_list_agents_is_bounded_and_shows_the_last_seen_first(team: Team):
    for name in ("alice", "bob", "carl"):
        team.clock.advance(seconds=1)
        carl = await team.agent(name)
    listed = await carl.list_agents(limit=2)
    assert [agent["instance"] for agent in listed["agents"]] == ["carl", "bob"]
    assert (listed["count"], listed["total"]) == (2, 3)
    for limit in (0, 201):
        with pytest.raises(errors.Invalid):
            await carl.list_agents(limit=limit)


async def test_agents_are_listed_without_any_session_id(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    replies = msgspec.json.encode(
        [await bob.list_agents(), await bob.get_agent_status(), await bob.heartbeat()]
    ).decode()
    digest = await team.database.read(
        lambda tx: tx.one("select id from session where project = 'shop' and agent = 'alice'")
    )
    assert alice.session_id not in replies
    assert digest["id"] not in replies


async def test_list_agents_shows_when_a_live_agent_last_called(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    team.clock.advance(minutes=3)
    await alice.record_learning(topic="Carts", content="Totals are in cents.")
    seen = {agent["instance"]: agent["last_seen"] for agent in (await bob.list_agents())["agents"]}
    assert list(seen) == ["alice", "bob"]
    assert seen["alice"] > seen["bob"]
