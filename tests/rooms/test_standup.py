"""The standup: what was done, by whom, with what proof, what is open; and the counts for one line of text."""

from datetime import UTC, datetime

import pytest

from commonplace import errors
from commonplace.access import Caller
from commonplace.client.people.standup import parse_since
from commonplace.rooms.live_state.standup import find_proof

PERSON = Caller("owner", frozenset({"*"}), agent="eve", kind="person")


async def test_standup_tells_who_did_what_with_what_proof(team):
    ann = await team.agent("ann")
    item = (await ann.add_backlog_item(title="Reverse charge"))["id"]
    await ann.complete_backlog_item(item_id=item, resolution="412 tests passed, commit 1f2e3d4c")
    await ann.update_work(title="Rates", status="in_progress", files_touched=["a.py", "b.py"])
    await ann.update_work(title="Rates", status="completed", notes="read from the file")
    root = {"machine": "laptop", "root": "/shop", "repository": "/shop", "branch": "main"}
    await ann.report_checkout(**root, head="9a8b7c6d5e4f3a2b1c0d")
    learned = await ann.record_learning(topic="Rates change on Mondays", content="In every country, at noon.")
    standup = await team.anyone(PERSON).get_standup(project="shop")
    (told,) = standup["agents"]
    assert [(done["kind"], done["title"], done.get("proof", [])) for done in told["done"]] == [
        ("item", "Reverse charge", ["412 tests passed", "1f2e3d4c"]),
        ("work", "Rates", []),
    ]
    assert told["learned"] == [f"Rates change on Mondays ({learned['id']})"]
    assert (told["commits"], told["files"]) == (["main 9a8b7c6d5e"], 2)
    assert f"- Reverse charge ({item}) [412 tests passed, 1f2e3d4c]" in standup["markdown"]
    assert "[no proof named]" in standup["markdown"]


async def test_standup_lists_what_is_open(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.ask_person(question="Ship it?", wait_seconds=0)
    await ben.update_work(title="VAT", status="blocked", blocked_by="ann", blocked_reason="needs rates")
    item = (await ann.add_backlog_item(title="Export"))["id"]
    await ann.update_backlog_item(item_id=item, claim=True)
    kinds = [
        (row["kind"], row["agent"]) for row in (await team.anyone(PERSON).get_standup(project="shop"))["open"]
    ]
    assert kinds == [("request", "ann"), ("blocked", "ben"), ("item", "ann")]


async def test_standup_leaves_out_what_is_older(team):
    ann = await team.agent("ann")
    item = (await ann.add_backlog_item(title="Old"))["id"]
    await ann.complete_backlog_item(item_id=item, resolution="done")
    team.clock.advance(days=2)
    assert (await team.anyone(PERSON).get_standup(project="shop"))["agents"] == []


async def test_words_of_agents_cannot_become_markup_of_the_standup(team):
    ann = await team.agent("ann")
    item = (await ann.add_backlog_item(title="x](javascript:alert(1)) <b> # h"))["id"]
    await ann.complete_backlog_item(item_id=item, resolution="\n# heading")
    markdown = (await team.anyone(PERSON).get_standup(project="shop"))["markdown"]
    assert r"x\](javascript:alert(1)) \<b\> \# h" in markdown


async def test_live_counts_count_what_waits_and_not_who_is_idle(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.ask_person(question="Ship it?", wait_seconds=0)
    await ben.report_request(kind="idle")
    await ann.lock_files(files=["a.py"])
    assert await team.anyone(PERSON).get_live_counts(project="shop") == {
        "needs_you": 1,
        "agents": 2,
        "active": 2,
        "locks": 1,
        "prevented": 0,
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("12 passed in 3 s", ["12 passed"]),
        ("All tests pass at deadbeef1", ["All tests pass", "deadbeef1"]),
        ("decade 1234567 defaced", []),
        ("", []),
    ],
)
def test_proof_is_a_commit_or_a_test_result(text, found):
    assert find_proof(text) == found


def test_since_is_a_time_or_a_span():
    now = datetime(2026, 1, 15, 12, tzinfo=UTC)
    assert parse_since("8h", now) == "2026-01-15T04:00:00+00:00"
    assert parse_since("2026-01-14T08:00:00+00:00", now) == "2026-01-14T08:00:00+00:00"
    with pytest.raises(errors.Invalid):
        parse_since("yesterday", now)
