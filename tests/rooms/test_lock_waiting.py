"""Who was refused a lock is told once when it is free, and for 20 s nobody who waited less gets it."""

import asyncio

import pytest

from commonplace.rooms.locks.model import TAKEOVER_DELAY
from team import Agent, Team

FILE = "src/cart.py"


async def _start_queue(team: Team, *names: str, file: str = FILE) -> tuple[Agent, list[Agent]]:
    """The holder of a file, and agents that wait for it in this order, a second apart."""
    holder, waiting = await team.agent("holder"), [await team.agent(name) for name in names]
    await holder.lock_files(files=[file], minutes=10)
    for agent in waiting:
        team.clock.advance(seconds=1)
        assert not (await agent.lock_files(files=[file], reason="round VAT"))["success"]
    return holder, waiting


async def _is_granted(agent: Agent, *files: str) -> bool:
    return (await agent.lock_files(files=list(files or [FILE])))["success"]


async def test_a_lock_that_comes_free_goes_to_who_waited_longest_within_20_seconds(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    carol = await team.agent("carol")
    team.clock.advance(seconds=1)
    assert (await holder.unlock_files())["notified"] == ["ann", "ben"]
    refused = await carol.lock_files(files=[FILE, "docs/"])
    assert [(each["held_by"], each["reserved"]) for each in refused["conflicts"]] == [
        ("ann", True),
        ("ben", True),
    ]
    assert not await _is_granted(ben)
    assert not await _is_granted(holder)
    assert await _is_granted(ann)
    await ann.unlock_files()
    assert not await _is_granted(carol)
    assert await _is_granted(ben)


async def test_everybody_who_was_refused_is_told_once(team: Team):
    holder, waiting = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    for agent in waiting:
        (told,) = (await agent.heartbeat())["_notice"]
        assert told.startswith(f"{FILE} is free: lock it with memory_lock_files.")
        assert "_notice" not in await agent.heartbeat()


async def test_who_is_not_back_after_20_seconds_delays_nobody(team: Team):
    holder, [ann, _ben] = await _start_queue(team, "ann", "ben")
    carol = await team.agent("carol")
    await holder.unlock_files()
    team.clock.advance(seconds=19)
    assert not await _is_granted(carol)
    team.clock.advance(seconds=1)
    assert await _is_granted(carol)
    assert not await _is_granted(ann)
    assert [waiter["agent"] for waiter in (await carol.get_locks())["wanted_by"]] == ["ann"]


async def test_calls_that_wait_are_granted_in_order_and_nobody_starves(team: Team):
    holder = await team.agent("holder")
    names = [f"agent{number}" for number in range(12)]
    agents = {name: await team.agent(name) for name in names}
    await holder.lock_files(files=[FILE])
    order: list[str] = []

    async def take_turns(name: str) -> None:
        for _ in range(2):
            assert (await agents[name].lock_files(files=[FILE], wait_seconds=60))["success"]
            order.append(name)
            team.clock.advance(seconds=1)
            await agents[name].unlock_files()

    async with asyncio.TaskGroup() as group:
        for number, name in enumerate(names):
            team.clock.advance(seconds=1)
            group.create_task(take_turns(name))
            while len((await holder.get_locks()).get("wanted_by", [])) <= number:
                await holder.get_messages(wait_seconds=1)
        await holder.unlock_files()
    assert order[: len(names)] == names
    assert sorted(order) == sorted(names * 2)


async def test_a_conflict_says_what_the_holder_works_on(team: Team):
    holder, ann = await team.agent("holder"), await team.agent("ann")
    await holder.update_work(title="Round totals", status="in_progress")
    await holder.lock_files(files=[FILE])
    (conflict,) = (await ann.lock_files(files=[FILE]))["conflicts"]
    assert conflict["works_on"] == "Round totals"


async def test_a_restarted_agent_keeps_its_place_and_reads_it_at_its_start(team: Team):
    holder, [_, ben] = await _start_queue(team, "ann", "ben")
    team.clock.advance(minutes=2)
    again = await team.agent("ben")
    assert again.started["waiting_for_locks"] == [f"{FILE} (held by holder)"]
    carol = await team.agent("carol")
    await holder.unlock_files()
    assert not await _is_granted(carol)
    team.clock.advance(seconds=20)
    assert await _is_granted(again)
    del ben


async def test_who_asks_again_keeps_its_place(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    team.clock.advance(seconds=1)
    assert not await _is_granted(ann)
    await holder.unlock_files()
    assert not await _is_granted(ben)
    assert await _is_granted(ann)


async def test_a_late_agent_gets_the_lock_if_nobody_else_waits(team: Team):
    holder, [ann] = await _start_queue(team, "ann")
    await holder.unlock_files()
    team.clock.advance(minutes=5)
    granted = await ann.lock_files(files=[FILE])
    assert (granted["success"], "_notice" in granted) == (True, False)
    assert "_notice" not in await ann.heartbeat()


async def test_a_lock_that_lapsed_goes_to_who_waited_not_to_who_asks_first(team: Team):
    _, [ann] = await _start_queue(team, "ann")
    carol = await team.agent("carol")
    team.clock.advance(minutes=10, seconds=TAKEOVER_DELAY / 1_000_000)
    assert not await _is_granted(carol)
    assert await _is_granted(ann)


@pytest.mark.parametrize("leave", ["unlock_files", "end_session"])
async def test_who_leaves_the_queue_passes_its_reservation_on(team: Team, leave: str):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    reply = await getattr(ann, leave)(**({"summary": "done"} if leave == "end_session" else {}))
    assert "_notice" not in reply
    assert len((await ben.heartbeat())["_notice"]) == 1
    assert await _is_granted(ben)


async def test_a_session_that_is_dormant_keeps_nothing_reserved(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    again = await team.agent("ann")  # within ten seconds: it takes nothing over
    assert "waiting_for_locks" not in again.started
    assert await _is_granted(ben)
    del ann


async def test_a_call_that_waits_passes_a_reservation_that_nobody_uses(team: Team):
    holder, [ann] = await _start_queue(team, "ann")
    ben = await team.agent("ben")
    team.clock.advance(seconds=1)
    await holder.heartbeat()
    waiting = asyncio.create_task(ben.lock_files(files=[FILE], wait_seconds=50))
    assert len((await holder.get_messages(wait_seconds=50))["_notice"]) == 1
    team.clock.advance(minutes=11)  # the lease lapses without an event: only the waiting call can notice it
    assert "is free" in (await ann.get_messages(wait_seconds=50))["_notice"][0]
    team.clock.advance(seconds=60)
    assert (await waiting)["success"]
    assert not await _is_granted(ann)


async def test_several_readers_get_their_reservations_together(team: Team):
    holder, readers = await team.agent("holder"), [await team.agent(name) for name in ("ann", "ben")]
    await holder.lock_files(files=[FILE])
    for reader in readers:
        team.clock.advance(seconds=1)
        await reader.lock_files(files=[FILE], mode="shared")
    assert (await holder.unlock_files())["notified"] == ["ann", "ben"]
    assert not await _is_granted(holder)
    for reader in readers:
        assert (await reader.lock_files(files=[FILE], mode="shared"))["success"]


async def test_a_reservation_does_not_block_who_waits_longer(team: Team):
    holder, other = await team.agent("holder"), await team.agent("other")
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await holder.lock_files(files=[FILE])
    await other.lock_files(files=["src/tax.py"])
    team.clock.advance(seconds=1)
    assert not await _is_granted(ann, "src/")
    team.clock.advance(seconds=1)
    assert not await _is_granted(ben)
    assert (await holder.unlock_files())["notified"] == ["ben"]  # ann cannot have src/ yet
    await other.unlock_files()
    granted = await ann.lock_files(files=["src/"])
    assert granted["success"]
    assert "_notice" not in await ben.heartbeat()
    assert (await ann.unlock_files())["notified"] == ["ben"]  # it has kept its place


async def test_two_agents_that_have_reservations_of_each_others_files_do_not_block_each_other(team: Team):
    left, right = await team.agent("left"), await team.agent("right")
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await left.lock_files(files=["a.py"])
    await right.lock_files(files=["b.py"])
    for agent, file in ((ann, "a.py"), (ben, "b.py")):
        team.clock.advance(seconds=1)
        assert not await _is_granted(agent, file)
    await left.unlock_files()
    await right.unlock_files()
    refused = await ben.lock_files(files=["a.py", "b.py"])
    assert [(conflict["file"], conflict["held_by"]) for conflict in refused["conflicts"]] == [("a.py", "ann")]
    assert await _is_granted(ann, "a.py", "b.py")  # it began to wait first
    assert (await ann.unlock_files())["notified"] == ["ben"]
    assert await _is_granted(ben, "a.py", "b.py")


async def test_a_file_reserved_for_who_lacks_another_one_is_free_after_its_turn(team: Team):
    left, right = await team.agent("left"), await team.agent("right")
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await left.lock_files(files=["a.py"])
    await right.lock_files(files=["b.py"])
    assert not await _is_granted(ann, "a.py", "b.py")
    await left.unlock_files()
    for _ in range(3):
        team.clock.advance(seconds=20)
        is_granted = await _is_granted(ben, "a.py")
        assert not await _is_granted(ann, "a.py", "b.py")
    assert is_granted


async def test_a_lock_of_lines_that_were_found_anew_uses_the_reservation(team: Team):
    """As a hook does that tries an edit again after the file has changed."""
    holder, [ann, ben] = await _start_queue(team, "ann", "ben", file="cart.py:10-20")
    await holder.unlock_files()
    assert await _is_granted(ann, "cart.py:12-22")
    assert "_notice" not in await ann.heartbeat()
    assert [waiter["agent"] for waiter in (await ben.get_locks())["wanted_by"]] == ["ben"]


async def test_the_second_still_waits_when_the_first_has_the_lock_for_long(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    await ann.lock_files(files=[FILE], minutes=60)
    team.clock.advance(minutes=50)
    assert (await ann.unlock_files())["notified"] == ["ben"]
    del ben


async def test_a_reservation_does_not_outlast_a_clock_that_was_set_back(team: Team):
    holder, [_] = await _start_queue(team, "ann")
    await holder.unlock_files()
    await team.database.write(
        lambda tx: tx.run(
            "update lock_waiter set reserved_until = reserved_until + $2 where project = $1",
            "shop",
            3600 * 1_000_000,
        )
    )
    assert await _is_granted(holder)


async def test_who_gets_a_lock_reads_who_waits_for_it(team: Team):
    holder, _ = await _start_queue(team, "ann", "ben")
    assert (await holder.lock_files(files=[FILE]))["wanted_by"] == ["ann", "ben"]
    assert "wanted_by" not in await holder.lock_files(files=["src/tax.py"])


async def test_a_restarted_agent_reads_who_waits_for_its_locks(team: Team):
    await _start_queue(team, "ann", "ben")
    team.clock.advance(seconds=20)
    again = await team.agent("holder")
    assert [locks["wanted_by"] for locks in again.started["your_locks"]] == [["ann", "ben"]]


async def test_active_work_shows_who_waits_for_a_lock_and_for_whom(team: Team):
    holder, [ann] = await _start_queue(team, "ann")
    (blocked,) = (await holder.get_active_work())["blocked_agents"]
    assert {name: blocked[name] for name in ("agent", "waiting_for", "reason", "title")} == {
        "agent": "ann",
        "waiting_for": "holder",
        "reason": f"lock on {FILE}",
        "title": "round VAT",
    }
    await ann.update_work(title="VAT", status="blocked", blocked_by="holder", blocked_reason=f"needs {FILE}")
    (blocked,) = (await holder.get_active_work())["blocked_agents"]
    assert blocked["reason"] == f"needs {FILE}"
    await holder.unlock_files()
    await ann.update_work(title="VAT", status="in_progress")
    assert (await holder.get_active_work())["blocked_agents"] == []


async def test_who_takes_a_lock_that_ran_out_is_told_to_look_for_unfinished_edits(team: Team):
    holder, ann = await team.agent("holder"), await team.agent("ann")
    await holder.lock_files(files=[FILE], minutes=1)
    team.clock.advance(seconds=60 + TAKEOVER_DELAY // 1_000_000 + 1)
    taken = await ann.lock_files(files=[FILE])
    assert taken["message"] == f"The lock of holder on {FILE} ran out: look for unfinished edits."


async def test_a_lock_names_the_last_holder_also_if_its_lock_ran_out(team: Team):
    nora, finn, iris = [await team.agent(name) for name in ("nora", "finn", "iris")]
    for agent in (iris, nora):
        await agent.update_work(title="Help text", status="in_progress", files_touched=[FILE])
        team.clock.advance(seconds=5)
    await finn.lock_files(files=[FILE], minutes=1)
    team.clock.advance(seconds=60 + TAKEOVER_DELAY // 1_000_000 + 1)
    (changed,) = (await iris.lock_files(files=[FILE]))["changed"]
    assert changed["last_locked_by"] == "finn"


async def test_a_lock_names_who_had_the_file_locked_since_the_agent_had_it(team: Team):
    abel, dina = await team.agent("abel"), await team.agent("dina")
    for agent in (abel, dina):
        assert "changed" not in await agent.lock_files(files=[FILE])
        await agent.unlock_files()
        team.clock.advance(seconds=5)
    assert (await abel.lock_files(files=[FILE]))["changed"] == [
        {"file": FILE, "age": "just now", "last_locked_by": "dina"}
    ]


async def test_a_change_that_is_reported_late_is_not_new_to_who_had_the_file_locked_since(team: Team):
    abel, dina = await team.agent("abel"), await team.agent("dina")
    for agent in (abel, dina):
        await agent.lock_files(files=[FILE])
        await agent.unlock_files()
        team.clock.advance(seconds=5)
    await abel.end_session(summary="done", files_modified=[FILE])
    assert "changed" not in await dina.lock_files(files=[FILE])


async def _wait_in_vain(team: Team, **more):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/"], minutes=10)
    assert not (await bob.lock_files(files=["src/cart.py", "docs/a.md"], **more))["success"]
    return alice, bob


_FREE = (
    "src/cart.py is free: lock it with memory_lock_files. Until 08:00:20Z nobody who began to wait after you gets in before"
    " you."
)


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
    assert (await bob.heartbeat())["_notice"] == [_FREE.replace("08:00", "08:11")]


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
        _FREE.replace("src/cart.py is", "a.py, c.py are").replace("lock it", "lock them")
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
