"""A write that is sent again with its idempotency key is carried out once, and answered the same."""

import asyncio
from dataclasses import replace

import msgspec
import pytest

from commonplace import access, errors
from commonplace.catalogue import CATALOGUE
from commonplace.room import list_operations
from commonplace.server import delete_old_rows

KEY = "7c1f6a52-9f0e-4a6b-8f53-2f0f5a3f7a11"


async def list_titles(agent):
    return [item["title"] for item in (await agent.list_backlog())["items"]]


async def test_a_repeated_write_is_carried_out_once_and_answered_the_same(team):
    alice = await team.agent("alice")
    first = await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    again = await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    assert again == first
    assert await list_titles(alice) == ["pay"]


async def test_a_key_counts_in_every_place_where_it_can_be_sent(team):
    alice = await team.agent("alice")
    first = await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    alice.caller = replace(alice.caller, idempotency_key=KEY)
    assert await alice.add_backlog_item(title="pay") == first


async def test_a_key_with_other_arguments_is_refused_and_nothing_is_written(team):
    alice = await team.agent("alice")
    await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    with pytest.raises(errors.Conflict, match="other arguments"):
        await alice.add_backlog_item(title="refund", idempotency_key=KEY)
    assert await list_titles(alice) == ["pay"]


async def test_a_key_belongs_to_one_operation(team):
    alice = await team.agent("alice")
    await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    arguments = {"title": "pay", "content": "how to pay", "memory_type": "solution", "idempotency_key": KEY}
    assert await alice.store(**arguments) == await alice.store(**arguments)


async def test_a_key_belongs_to_its_caller(team):
    ann = access.Caller("agent", frozenset({"shop"}), "key-ann", agent="ann")
    ben = access.Caller("agent", frozenset({"shop"}), "key-ben", agent="ben")
    for caller in (ann, ben):
        await team.anyone(caller).call(
            "memory_add_backlog_item", project="shop", title="pay", idempotency_key=KEY
        )
    assert await list_titles(await team.agent("carl")) == ["pay", "pay"]


async def test_duplicates_that_run_at_the_same_time_run_once(team):
    alice = await team.agent("alice")
    answers = await asyncio.gather(
        *(alice.add_backlog_item(title="pay", idempotency_key=KEY) for _ in range(5))
    )
    assert all(answer == answers[0] for answer in answers)
    assert await list_titles(alice) == ["pay"]


async def test_a_refused_call_does_not_use_up_its_key(team):
    alice = await team.agent("alice")
    with pytest.raises(errors.NotFound):
        await alice.complete_backlog_item(item_id="none", idempotency_key=KEY)
    item = await alice.add_backlog_item(title="pay")
    with pytest.raises(errors.NotFound):
        await alice.complete_backlog_item(item_id="none", idempotency_key=KEY)
    await alice.complete_backlog_item(item_id=item["id"], idempotency_key=KEY)


async def test_a_key_is_forgotten_after_a_day(team):
    alice = await team.agent("alice")
    await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    team.clock.advance(days=1, seconds=-1)
    await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    assert await list_titles(alice) == ["pay"]
    team.clock.advance(seconds=1)
    await alice.add_backlog_item(title="refund", idempotency_key=KEY)
    assert await list_titles(alice) == ["pay", "refund"]
    team.clock.advance(days=1)
    await delete_old_rows(team.calls)
    rows = await team.database.read(lambda tx: tx.all("select id from idempotency where project = 'shop'"))
    assert rows == []


async def test_a_repeated_end_of_a_session_is_answered_although_the_session_is_gone(team):
    alice = await team.agent("alice")
    first = await alice.end_session(summary="done", idempotency_key=KEY)
    assert await alice.end_session(summary="done", idempotency_key=KEY) == first
    with pytest.raises(errors.SessionNotFound):
        await alice.end_session(summary="done", idempotency_key="another")


async def test_a_repeated_start_is_the_same_session_and_its_id_is_not_stored(team):
    somebody = team.anyone()
    arguments = {"project": "shop", "claude_instance": "alice", "idempotency_key": KEY}
    first = await somebody.call("memory_start_session", **arguments)
    assert await somebody.call("memory_start_session", **arguments) == first
    rows = await team.database.read(
        lambda tx: tx.all("select id, fingerprint, answer from idempotency where project = 'shop'")
    )
    assert len(rows) == 1
    stored = msgspec.json.encode([list(dict(row).values()) for row in rows]) + rows[0]["answer"]
    assert first["session_id"].encode() not in stored
    assert KEY.encode() not in stored


async def test_notices_of_a_lost_answer_are_in_the_repeated_one(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.send_message(to_instance="alice", message="the build is red", priority="urgent")
    lost = await alice.add_backlog_item(title="pay", idempotency_key=KEY)
    assert lost["_notice"]
    assert await alice.add_backlog_item(title="pay", idempotency_key=KEY) == lost


@pytest.mark.parametrize("key", ["x" * 101, "", 7, "a\nb"])
async def test_what_is_no_key_is_refused(team, key):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid, match="idempotency key"):
        await alice.add_backlog_item(title="pay", idempotency_key=key)
    assert await list_titles(alice) == []


async def test_a_read_ignores_a_key(team):
    alice = await team.agent("alice")
    before = await alice.list_backlog(idempotency_key=KEY)
    await alice.add_backlog_item(title="pay")
    assert await alice.list_backlog(idempotency_key=KEY) != before


def test_no_write_makes_its_answer_after_the_commit():
    """Its stored answer would then not be the one that was sent."""
    late = [
        operation.name
        for tool in CATALOGUE.tools.values()
        for operation in list_operations(tool)
        if operation.writes and operation.after_commit
    ]
    assert late == []
