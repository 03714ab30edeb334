"""Who waits for somebody: the one waited for is told, and the wait ends with what it names."""

import asyncio

import pytest

from commonplace.clock import iso
from patience import PATIENCE_SECONDS


async def list_blocked(agent):
    return [row["title"] for row in (await agent.get_active_work())["blocked_agents"]]


async def wait_for(agent, awaited, **more):
    return await agent.update_work(title="cart", status="blocked", blocked_by=awaited, **more)


async def test_agent_that_is_waited_for_is_told_once(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    reply = await wait_for(alice, "bob", blocked_reason="no API yet", waiting_for_signal="api_ready")
    assert reply["notified"] == ["bob"]
    assert (await bob.heartbeat())["_notice"] == [
        "alice waits for you: 'cart' is blocked (no API yet). The signal api_ready (memory_update_work) ends the wait."
    ]
    again = await wait_for(alice, "bob", notes="still")
    assert ("notified" in again, "_notice" in await bob.heartbeat()) == (False, False)


async def test_agent_that_is_away_is_told_at_its_next_start(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.end_session(summary="home")
    reply = await wait_for(alice, "bob")
    assert ("notified" in reply, reply["message"]) == (
        False,
        "bob has no live session and is told at the next start; so are you.",
    )


async def test_all_are_told_of_a_signal_that_nobody_is_named_for(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    reply = await alice.update_work(title="cart", status="blocked", waiting_for_signal="api_ready")
    assert reply["notified"] == ["bob", "carol"]
    assert "_notice" in await bob.heartbeat()
    assert "_notice" in await carol.heartbeat()


async def test_who_waits_for_their_own_task_is_told_that_it_is_theirs(team):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="API", assigned_to="alice"))["id"]
    reply = await wait_for(alice, item)
    assert ("notified" in reply, reply["message"]) == (False, f"{item}: your own, so nobody else was told.")


async def test_name_that_nothing_has_is_said(team):
    alice = await team.agent("alice")
    reply = await wait_for(alice, "the weather")
    assert "notified" not in reply
    assert reply["message"].startswith("Nobody was told")


async def test_publishing_the_spec_ends_the_wait_and_tells_the_waiter(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.define_spec(name="orders-api", content="GET /orders")
    await alice.heartbeat()
    assert (await wait_for(alice, "bob: orders-api"))["notified"] == ["bob"]
    published = await bob.define_spec(name="orders-api", content="GET /orders/{id}")
    assert published["notified"] == ["alice"]
    assert (
        "bob published spec orders-api 1.0.1: your work 'cart' no longer waits."
        in (await alice.heartbeat())["_notice"]
    )
    assert await list_blocked(alice) == []


async def test_signal_may_be_named_like_the_spec_that_is_waited_for(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.update_work(title="cart", status="blocked", waiting_for_signal="orders-api")
    await bob.define_spec(name="orders-api", content="GET /orders")
    assert await list_blocked(bob) == []


@pytest.mark.parametrize("single", [True, False])
async def test_completing_the_item_ends_the_wait_and_tells_the_waiter(team, single):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await bob.add_backlog_item(title="API", assigned_to="bob"))["id"]
    reply = await wait_for(alice, item)
    assert reply["notified"] == ["bob"]
    if single:
        assert (await bob.complete_backlog_item(item_id=item))["notified"] == ["alice"]
    else:
        await bob.update_backlog_item(item_id=item, status="done")
    assert (await alice.heartbeat())["_notice"] == [
        f"bob closed {item} (API) as done: your work 'cart' no longer waits."
    ]
    assert await list_blocked(bob) == []


@pytest.mark.parametrize("is_claimed", [True, False])
async def test_end_of_a_wait_names_what_the_backlog_item_still_depends_on(team, is_claimed):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    items = [{"title": "API"}, {"title": "Page"}, {"title": "cart", "depends_on": ["#0", "#1"]}]
    batch = await bob.batch_backlog(action="create", items=items)
    api, page, review = (item["id"] for item in batch["items"])
    await bob.update_backlog_item(item_id=review, assigned_to="alice")
    if is_claimed:
        await alice.update_backlog_item(item_id=review, claim=True, force=True)
    await wait_for(alice, api)
    await alice.heartbeat()
    await bob.complete_backlog_item(item_id=api)
    notices = (await alice.heartbeat())["_notice"]
    assert (
        f"bob closed {api} (API) as done: your work 'cart' no longer waits for that; its backlog item {review} is still"
        f" blocked by {page} (Page)."
    ) in notices


async def test_who_waits_filed_and_is_unblocked_gets_one_notice_of_the_closing(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="API", assigned_to="bob"))["id"]
    page = (await alice.add_backlog_item(title="Page", depends_on=[item], assigned_to="alice"))["id"]
    await wait_for(alice, item)
    assert (await bob.complete_backlog_item(item_id=item))["notified"] == ["alice"]
    assert (await alice.heartbeat())["_notice"] == [
        f"bob closed {item} (API) as done: your work 'cart' no longer waits. Unblocked: {page} (Page)."
    ]


async def test_item_that_is_closed_already_is_said(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await bob.add_backlog_item(title="API"))["id"]
    await bob.complete_backlog_item(item_id=item)
    assert (await wait_for(alice, item))["message"] == (
        f"{item} is already done. So this work is in progress, not blocked."
    )


async def test_message_of_the_agent_waited_for_ends_the_wait(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    await wait_for(alice, "bob")
    await carol.send_message(to_instance="alice", message="hello")
    assert await list_blocked(bob) == ["cart"]
    await bob.send_message(to_instance="alice", message="It is there.", priority="urgent")
    mail, wait = (await alice.heartbeat())["_notice"]
    assert mail.startswith('2 new messages (1 urgent) from bob, carol: bob: "It is there."')
    assert wait == "bob wrote to you: your work 'cart' no longer waits."
    assert await list_blocked(bob) == []


async def test_message_does_not_end_a_wait_that_names_more(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await wait_for(alice, "bob", waiting_for_signal="api_ready")
    await bob.send_message(to_instance="alice", message="Soon.")
    assert await list_blocked(bob) == ["cart"]


async def test_answer_to_the_message_that_is_named_ends_the_wait(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    question = (await alice.send_message(to_instance="bob", message="Which one?"))["message_id"]
    assert (await wait_for(alice, question))["notified"] == ["bob"]
    await bob.send_message(to_instance="alice", message="The red one.", reply_to=question)
    assert await list_blocked(bob) == []


async def test_own_wait_ends_without_a_notice(team):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="API"))["id"]
    await wait_for(alice, item)
    closed = await alice.complete_backlog_item(item_id=item)
    assert ("notified" in closed, "_notice" in closed, await list_blocked(alice)) == (False, False, [])


async def test_owner_of_what_is_waited_for_sees_it_at_the_next_start(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await bob.add_backlog_item(title="API", assigned_to="bob"))["id"]
    await bob.end_session(summary="home")
    await wait_for(alice, item)
    started = (await team.agent("bob", token_budget=5000)).started
    assert [(row["agent"], row["waiting_for"]) for row in started["blocking_others"]] == [("alice", item)]


async def test_who_waits_for_an_agent_is_told_when_its_last_session_ends(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    second = await team.agent("bob")
    await alice.update_work(title="Cart", status="blocked", blocked_by="bob")
    await bob.end_session(summary="Done", handoff_notes="Nothing is open.")
    assert "_notice" not in await alice.heartbeat()
    waiting = asyncio.create_task(alice.get_messages(wait_seconds=50))
    await second.end_session(summary="Done", handoff_notes="Nothing is open.")
    (notice,) = (await asyncio.wait_for(waiting, PATIENCE_SECONDS))["_notice"]
    assert notice.startswith("bob ended its session, and your work 'Cart' waits for it.")
    assert [work["agent"] for work in (await carol.get_active_work())["blocked_agents"]] == ["alice"]
    assert "_notice" not in await carol.heartbeat()
    returned = (await team.agent("bob")).started
    assert len(returned["blocking_others"]) == 1


async def test_nobody_is_told_of_a_wait_that_is_over(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    await alice.update_work(title="cart", status="blocked", waiting_for_signal="green")
    sent = await bob.update_work(title="CI", status="completed", signals=["green"])
    assert (sent["unblocked"], "_notice" in sent) == (["alice"], False)
    assert "_notice" not in await carol.heartbeat()
    await alice.heartbeat()
    await alice.update_work(title="cart", status="blocked", blocked_by="bob")
    await alice.update_work(title="cart", status="in_progress")
    assert "_notice" not in await bob.heartbeat()
    await alice.update_work(title="cart", status="blocked", blocked_by="bob")
    await alice.end_session(summary="done", handoff_notes="Nothing open")
    assert "_notice" not in await bob.heartbeat()


async def test_who_waits_is_told_once_that_the_agent_has_started_a_session(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.end_session(summary="home")
    await wait_for(alice, "bob")
    await team.agent("bob")
    assert (await alice.heartbeat())["_notice"] == [
        "bob, whom your work 'cart' waits for, has started a session."
    ]
    await team.agent("bob")
    assert "_notice" not in await alice.heartbeat()


async def test_who_waits_for_a_task_or_spec_is_told_that_its_agent_has_started_a_session(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="API", assigned_to="bob"))["id"]
    await bob.define_spec(name="cart-api", content="GET /cart")
    await bob.end_session(summary="home")
    await alice.heartbeat()
    await wait_for(alice, f"{item} and cart-api")
    await team.agent("carol")
    assert "_notice" not in await alice.heartbeat()
    await team.agent("bob")
    assert (await alice.heartbeat())["_notice"] == [
        f"bob, whom your work 'cart' waits for (its {item}, cart-api), has started a session."
    ]


async def test_what_a_session_waited_for_is_in_the_next_boot_pack(team, clock):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await wait_for(alice, "bob", blocked_reason="no API yet")
    await bob.end_session(summary="home")
    left_at = iso(clock.now)
    clock.advance(minutes=1)
    await alice.end_session(summary="waiting")
    [left] = (await team.agent("alice")).started["you_waited_for"]
    assert left == {
        "title": "cart",
        "waiting_for": "bob",
        "reason": "no API yet",
        "since": iso(clock.now),
        "now": f"bob is offline since {left_at}",
    }


async def test_a_wait_that_was_left_is_named_until_the_work_goes_on(team, clock):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await bob.add_backlog_item(title="API", assigned_to="bob"))["id"]
    await wait_for(alice, item)
    await alice.end_session(summary="waiting")
    await bob.complete_backlog_item(item_id=item)
    clock.advance(minutes=1)
    alice = await team.agent("alice")
    assert [left["now"] for left in alice.started["you_waited_for"]] == [f"{item} is done"]
    await alice.update_work(title="cart", status="in_progress")
    await alice.end_session(summary="done")
    assert "you_waited_for" not in (await team.agent("alice")).started


async def test_an_item_that_was_blocked_carries_the_reason_into_the_next_session(team, clock):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="Cart"))["id"]
    await alice.update_backlog_item(item_id=item, claim=True)
    await wait_for(alice, "bob", blocked_reason="no API yet")
    ended = await alice.end_session(summary="waiting")
    assert ended["returned_to_backlog"] == [
        {"id": item, "title": "Cart", "blocked": "waits for bob: no API yet"}
    ]
    clock.advance(minutes=1)
    [left] = (await team.agent("alice")).started["you_waited_for"]
    assert (left["item"], left["waiting_for"], left["reason"]) == (item, "bob", "no API yet")


async def test_nobody_is_blocked_on_a_spec_that_is_published_and_not_read_yet(team):
    vera, kofi = await team.agent("vera"), await team.agent("kofi")
    await vera.define_spec(name="item", content="name, amount")
    reported = await kofi.update_work(
        title="Shopping", status="blocked", blocked_by="item", blocked_reason="not published yet"
    )
    assert reported["message"] == (
        "item 1.0.0 is published: read it with memory_get_spec. So this work is in progress, not blocked."
    )
    assert (await vera.get_active_work())["blocked_agents"] == []
    assert not any("kofi waits" in line for line in (await vera.heartbeat()).get("_notice", []))
    await kofi.get_spec(name="item")
    await kofi.update_work(
        title="Shopping", status="blocked", blocked_by="item", blocked_reason="needs units"
    )
    assert [each["agent"] for each in (await vera.get_active_work())["blocked_agents"]] == ["kofi"]
