"""Who asked in vain for a lock is told when it comes free, and others see who waits. Who is next:
test_lock_reservations.py."""

import asyncio

import pytest

from team import Team


async def _wait_in_vain(team: Team, **more):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/"], minutes=10)
    assert not (await bob.lock_files(files=["src/cart.py", "docs/a.md"], **more))["success"]
    return alice, bob


_FREE = "src/cart.py is free and reserved for you until 08:01:00Z (60 s): lock it with memory_lock_files."


async def test_who_takes_the_lock_is_not_told_that_it_is_free(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/cart.py"])
    await bob.lock_files(files=["src/cart.py"])
    await alice.unlock_files()
    assert "_notice" not in await bob.lock_files(files=["src/cart.py"])
    assert "_notice" not in await bob.heartbeat()


async def test_a_released_lock_is_told_once_to_who_asked_for_it(team: Team):
    alice, bob = await _wait_in_vain(team)
    assert "_notice" not in await bob.list_backlog()
    assert (await alice.unlock_files())["notified"] == ["bob"]
    assert (await bob.list_backlog())["_notice"] == [_FREE]
    assert "_notice" not in await bob.list_backlog()
    assert "_notice" not in await alice.list_backlog()


@pytest.mark.slow
async def test_who_waited_in_vain_reads_so_and_is_told_when_the_lock_comes_free(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/"], minutes=10)
    refused = await bob.lock_files(files=["src/cart.py"], wait_seconds=1)
    assert (refused["success"], refused["conflicts"][0]["held_by"]) == (False, "alice")
    assert refused["message"].startswith("Waited 1 s in vain. ")
    assert refused["message"].endswith("call again to go on waiting.")
    await alice.unlock_files()
    assert (await bob.list_backlog())["_notice"] == [_FREE]


async def test_a_holder_that_releases_its_locks_is_not_told_that_they_are_wanted(team: Team):
    alice, _ = await _wait_in_vain(team)
    assert "_notice" not in await alice.unlock_files()
    carol, dora = await team.agent("carol"), await team.agent("dora")
    await carol.lock_files(files=["lib/a.py", "lib/b.py"])
    await dora.lock_files(files=["lib/a.py"])
    assert "_notice" in await carol.unlock_files(files=["lib/b.py"])
    await dora.unlock_files(files=["lib/a.py"])
    await dora.lock_files(files=["lib/a.py"])
    assert "_notice" not in await carol.end_session(summary="done")


async def test_the_end_of_the_holders_session_frees_its_locks(team: Team):
    alice, bob = await _wait_in_vain(team)
    await alice.end_session(summary="done")
    assert (await bob.list_backlog())["_notice"] == [_FREE]


async def test_a_lapsed_lock_is_told_on_the_next_activity(team: Team):
    _, bob = await _wait_in_vain(team)
    team.clock.advance(minutes=11)
    assert (await bob.heartbeat())["_notice"] == [_FREE.replace("08:01", "08:12")]


async def test_a_path_that_another_still_holds_is_not_told(team: Team):
    alice, carol = await team.agent("alice"), await team.agent("carol")
    bob = await team.agent("bob")
    for holder in (alice, carol):
        await holder.lock_files(files=["src/cart.py"], mode="shared")
    await bob.lock_files(files=["src/cart.py"])
    await alice.unlock_files()
    assert "_notice" not in await bob.list_backlog()
    await carol.unlock_files()
    assert (await bob.list_backlog())["_notice"] == [_FREE]


async def test_who_got_the_lock_meanwhile_is_not_told(team: Team):
    alice, bob = await _wait_in_vain(team)
    team.clock.advance(minutes=11)
    granted = await bob.lock_files(files=["src/cart.py"])
    assert (granted["success"], "_notice" in granted) == (True, False)
    assert "_notice" not in await bob.heartbeat()
    assert "wanted_by" not in await alice.get_locks()


async def test_get_locks_shows_who_waits(team: Team):
    alice, _ = await _wait_in_vain(team)
    assert (await alice.get_locks())["wanted_by"] == [
        {"file": "src/cart.py", "agent": "bob", "since": "2027-01-15T08:00:00Z"}
    ]


async def test_get_locks_of_a_path_shows_who_waits_for_it(team: Team):
    alice, bob = await _wait_in_vain(team)
    await alice.lock_files(files=["lib/a.py"])
    await bob.lock_files(files=["lib/a.py"])
    waiting = (await alice.get_locks(path_pattern="lib"))["wanted_by"]
    assert [(waiter["file"], waiter["agent"]) for waiter in waiting] == [("lib/a.py", "bob")]


async def test_who_got_a_lock_that_covers_the_path_does_not_wait_any_more(team: Team):
    alice, bob = await _wait_in_vain(team)
    team.clock.advance(minutes=11)
    granted = await bob.lock_files(files=["src/"])
    assert (granted["success"], "_notice" in granted) == (True, False)
    assert "_notice" not in await bob.heartbeat()
    assert "wanted_by" not in await alice.get_locks()


@pytest.mark.parametrize("wider", ["src/", "src", "src/*.py"])
async def test_who_takes_a_wider_lock_is_not_told_that_the_path_is_free(team: Team, wider):
    alice, bob = await _wait_in_vain(team)
    await alice.unlock_files()
    assert "_notice" not in await bob.lock_files(files=[wider])
    assert "_notice" not in await bob.heartbeat()


async def test_who_takes_one_of_several_free_paths_is_told_of_the_others(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py", "b.py", "c.py"])
    await bob.lock_files(files=["a.py", "b.py", "c.py"])
    await alice.unlock_files()
    assert (await bob.lock_files(files=["b.py"]))["_notice"] == [
        "a.py, c.py are free and reserved for you until 08:01:00Z (60 s): lock them with memory_lock_files."
    ]


async def test_who_gets_the_lock_through_a_wait_is_not_told_that_it_is_free(team: Team):
    alice, bob = await _wait_in_vain(team)
    team.clock.advance(minutes=1)
    waiting = asyncio.create_task(bob.lock_files(files=["src/cart.py"], wait_seconds=50))
    await alice.get_messages(wait_seconds=50)
    await alice.unlock_files()
    granted = await waiting
    assert (granted["success"], "_notice" in granted) == (True, False)
    assert "_notice" not in await bob.heartbeat()


async def test_who_withdraws_a_wish_for_a_lapsed_lock_is_not_told(team: Team):
    _, bob = await _wait_in_vain(team)
    team.clock.advance(minutes=11)
    assert "_notice" not in await bob.unlock_files()


async def test_who_shares_a_lock_and_wants_it_alone_is_told_when_the_others_are_gone(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    for holder in (alice, bob):
        await holder.lock_files(files=["src/cart.py"], mode="shared")
    assert not (await bob.lock_files(files=["src/cart.py"]))["success"]
    await alice.unlock_files()
    assert (await bob.list_backlog())["_notice"] == [_FREE]


async def test_a_session_that_ended_does_not_wait_any_more(team: Team):
    alice, bob = await _wait_in_vain(team)
    await bob.end_session(summary="done")
    assert "wanted_by" not in await alice.get_locks()
    rows = await team.database.read(
        lambda tx: tx.all("select path from lock_waiter where project = $1", "shop")
    )
    assert rows == []


async def test_waiting_ends_when_the_lease_that_was_met_would_have_lapsed_twice(team: Team):
    alice, bob = await _wait_in_vain(team)
    for _ in range(3):
        team.clock.advance(minutes=6)
        await alice.heartbeat()
    assert len((await alice.get_locks())["wanted_by"]) == 1
    team.clock.advance(minutes=3)
    assert "wanted_by" not in await alice.get_locks()
    await alice.unlock_files()
    assert "_notice" not in await bob.heartbeat()


_WANTED = "bob wants src/cart.py, which you have locked: memory_unlock_files when you are done."


async def test_the_holder_is_told_once_who_wants_its_file(team: Team):
    alice, bob = await _wait_in_vain(team)
    assert (await alice.list_backlog())["_notice"] == [_WANTED]
    await bob.lock_files(files=["src/cart.py"])
    assert "_notice" not in await alice.list_backlog()


async def test_the_holder_is_told_for_what_its_file_is_wanted(team: Team):
    alice, _bob = await _wait_in_vain(team, reason="round\nVAT")
    assert (await alice.list_backlog())["_notice"] == [
        _WANTED.replace("src/cart.py", 'src/cart.py for "round VAT"')
    ]


async def test_the_holder_is_told_when_somebody_begins_to_wait(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/cart.py"])
    waiting = asyncio.create_task(bob.lock_files(files=["src/cart.py"], wait_seconds=50))
    reply = await alice.get_messages(wait_seconds=50)
    assert reply["_notice"] == [_WANTED]
    await alice.unlock_files()
    granted = await waiting
    assert granted["success"]
    assert "_notice" not in granted


async def test_a_wait_for_a_lock_ends_with_urgent_mail_and_the_wish_stays(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/cart.py"])
    waiting = asyncio.create_task(bob.lock_files(files=["src/cart.py"], wait_seconds=50))
    await alice.get_messages(wait_seconds=50)
    await alice.send_message(to_instance="bob", message="I need it until noon", priority="urgent")
    reply = await waiting
    assert (reply["success"], len(reply["_notice"])) == (False, 1)
    assert reply["message"].startswith(
        "The wait ended early, without the lock: urgent mail came (see _notice). "
    )
    await alice.unlock_files()
    assert _FREE in (await bob.list_backlog())["_notice"]


async def test_a_wait_for_a_lock_outlasts_mail_and_other_news(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/cart.py"])
    waiting = asyncio.create_task(bob.lock_files(files=["src/cart.py"], wait_seconds=50))
    await alice.get_messages(wait_seconds=50)
    await alice.send_message(to_instance="bob", message="Nearly done")
    await alice.define_spec(name="orders-api", content="GET /orders")
    await alice.unlock_files()
    granted = await waiting
    assert (granted["success"], len(granted["_notice"])) == (True, 2)


async def test_two_agents_that_wait_for_each_other_are_told_at_once(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/cart.py"])
    await bob.lock_files(files=["src/tax.py"])
    await bob.lock_files(files=["src/cart.py"])
    reply = await alice.lock_files(files=["src/tax.py"], wait_seconds=50)
    assert reply["message"].startswith(
        "The wait ended early, without the lock: bob waits for a file that you have locked, "
    )
    assert reply["_notice"] == [_WANTED]


async def test_who_withdraws_its_wish_is_not_told(team: Team):
    alice, bob = await _wait_in_vain(team)
    assert (await bob.unlock_files(files=["src/cart.py"]))["withdrawn"] == ["src/cart.py"]
    assert "notified" not in await alice.unlock_files()
    assert "_notice" not in await bob.list_backlog()
