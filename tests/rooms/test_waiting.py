"""A call that waits is activity too."""

import asyncio

from patience import PATIENCE_SECONDS


async def test_waiting_for_a_lock_renews_the_locks_one_holds(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    await bob.lock_files(files=["b.py"], minutes=1)
    team.clock.advance(seconds=50)
    await asyncio.wait_for(bob.lock_files(files=["a.py"], wait_seconds=1), PATIENCE_SECONDS)
    await team.calls.activity.flush_pending()
    team.clock.advance(seconds=50)
    refused = await alice.lock_files(files=["b.py"])
    assert refused["success"] is False


async def test_waiting_for_a_lock_ends_when_it_is_free(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    waiting = asyncio.create_task(bob.lock_files(files=["a.py"], wait_seconds=50))
    await asyncio.sleep(0)
    await alice.unlock_files()
    assert (await asyncio.wait_for(waiting, PATIENCE_SECONDS))["success"] is True


async def test_waiting_for_mail_ends_with_news_of_another_kind(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    waiting = asyncio.create_task(bob.get_messages(wait_seconds=50))
    await asyncio.sleep(0)
    await alice.define_spec(name="orders-api", content="GET /orders")
    answer = await asyncio.wait_for(waiting, PATIENCE_SECONDS)
    assert (answer["count"], answer["message"], answer["_notice"]) == (
        0,
        "No new mail. The wait ended early, with other news: see _notice. Call again to go on waiting.",
        ["alice published spec orders-api 1.0.0: read it with memory_get_spec."],
    )
