"""A lock that comes free is kept for a minute for whoever has waited for it longest."""

import asyncio

import pytest

from commonplace.rooms.locks.lease import TAKEOVER_DELAY
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


async def test_a_lock_that_comes_free_is_kept_for_who_waited_longest(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    carol = await team.agent("carol")
    assert (await holder.unlock_files())["notified"] == ["ann"]
    assert (await carol.lock_files(files=[FILE, "docs/"]))["conflicts"] == [
        {
            "file": FILE,
            "held_by": "ann",
            "project": "shop",
            "since": "2027-01-15T08:00:02Z",
            "reason": "round VAT",
            "expires_at": "2027-01-15T08:01:02Z",
            "stale": False,
            "mode": "exclusive",
            "reserved": True,
        }
    ]
    assert not await _is_granted(ben)
    assert not await _is_granted(holder)
    assert await _is_granted(ann)


async def test_only_the_first_is_told(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    assert "_notice" not in await ben.heartbeat()
    assert (await ann.heartbeat())["_notice"] == [
        f"{FILE} is free and reserved for you until 08:01:02Z (60 s): lock it with memory_lock_files."
    ]


async def test_who_asks_again_keeps_its_place(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    team.clock.advance(seconds=1)
    assert not await _is_granted(ann)
    await holder.unlock_files()
    assert not await _is_granted(ben)
    assert await _is_granted(ann)


async def test_a_refused_agent_reads_how_many_wait_before_it(team: Team):
    _, [ann, ben] = await _start_queue(team, "ann", "ben")
    carol = await team.agent("carol")
    team.clock.advance(seconds=1)
    assert "agents wait" not in (await ann.lock_files(files=[FILE]))["message"]
    assert "1 agent waits before you." in (await ben.lock_files(files=[FILE]))["message"]
    assert "2 agents wait before you." in (await carol.lock_files(files=["src/"]))["message"]


async def test_who_is_refused_because_of_a_reservation_reads_so(team: Team):
    holder, [_, ben] = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    assert (await ben.lock_files(files=[FILE]))["message"] == (
        "1 of 1 paths are free, but reserved for others who waited longer; nothing was locked. A notice tells you when"
        " it is reserved for you: call again then (memory_unlock_files withdraws this). Do other work, or call again"
        " with wait_seconds."
    )


async def test_a_reservation_that_is_not_used_ends_and_the_next_one_is_told(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    team.clock.advance(seconds=59)
    assert "_notice" not in await ben.heartbeat()
    team.clock.advance(seconds=6)
    assert (await ben.heartbeat())["_notice"] == [
        f"{FILE} is free and reserved for you until 08:02:07Z (60 s): lock it with memory_lock_files."
    ]
    assert (await ann.heartbeat())["_notice"] == [
        f"{FILE} was reserved for you until 08:01:02Z, and you did not lock it: call memory_lock_files again."
    ]
    assert not await _is_granted(ann)
    assert await _is_granted(ben)


async def test_who_asks_when_a_reservation_has_just_ended_does_not_pass_the_next_in_the_queue(team: Team):
    holder, [_, ben] = await _start_queue(team, "ann", "ben")
    carol = await team.agent("carol")
    await holder.unlock_files()
    team.clock.advance(seconds=60)
    assert not await _is_granted(carol)
    assert await _is_granted(ben)


async def test_a_late_agent_gets_the_lock_if_nobody_else_waits(team: Team):
    holder, [ann] = await _start_queue(team, "ann")
    await holder.unlock_files()
    team.clock.advance(minutes=5)
    granted = await ann.lock_files(files=[FILE])
    assert (granted["success"], "_notice" in granted) == (True, False)
    assert "_notice" not in await ann.heartbeat()


async def test_anybody_gets_the_lock_when_all_reservations_ended(team: Team):
    holder, _ = await _start_queue(team, "ann", "ben")
    carol, dora = await team.agent("carol"), await team.agent("dora")
    await holder.unlock_files()
    team.clock.advance(seconds=1)
    for expected in ("ann", "ben", "carol"):
        refused = await (carol if expected != "carol" else dora).lock_files(files=[FILE])
        assert [conflict["held_by"] for conflict in refused["conflicts"]] == [expected]
        team.clock.advance(seconds=60)
    assert await _is_granted(dora)


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


async def test_a_call_that_waits_has_its_place_in_the_queue(team: Team):
    holder, [ann] = await _start_queue(team, "ann")
    ben, carol = await team.agent("ben"), await team.agent("carol")
    team.clock.advance(seconds=1)
    await holder.heartbeat()
    waiting = asyncio.create_task(ben.lock_files(files=[FILE], wait_seconds=50))
    assert len((await holder.get_messages(wait_seconds=50))["_notice"]) == 1
    team.clock.advance(seconds=1)
    assert "2 agents wait before you." in (await carol.lock_files(files=[FILE]))["message"]
    await holder.unlock_files()
    await ann.lock_files(files=[FILE])
    await ann.unlock_files()
    assert (await waiting)["success"]
    assert not await _is_granted(carol)


async def test_a_call_that_waits_passes_a_reservation_that_nobody_uses(team: Team):
    holder, [ann] = await _start_queue(team, "ann")
    ben = await team.agent("ben")
    team.clock.advance(seconds=1)
    await holder.heartbeat()
    waiting = asyncio.create_task(ben.lock_files(files=[FILE], wait_seconds=50))
    assert len((await holder.get_messages(wait_seconds=50))["_notice"]) == 1
    team.clock.advance(minutes=11)  # the lease lapses without an event: only the waiting call can notice it
    assert "reserved for you" in (await ann.get_messages(wait_seconds=50))["_notice"][0]
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


async def test_a_file_reserved_for_who_lacks_another_one_is_free_after_a_minute(team: Team):
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


async def test_get_locks_shows_for_whom_a_file_is_reserved(team: Team):
    holder, [ann, ben] = await _start_queue(team, "ann", "ben")
    await holder.unlock_files()
    assert (await holder.get_locks())["wanted_by"] == [
        {
            "file": FILE,
            "agent": "ann",
            "since": "2027-01-15T08:00:01Z",
            "reserved_until": "2027-01-15T08:01:02Z",
        },
        {"file": FILE, "agent": "ben", "since": "2027-01-15T08:00:02Z"},
    ]
    del ann, ben


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


async def test_a_restarted_agent_keeps_its_place_and_reads_it_at_its_start(team: Team):
    holder, [_, ben] = await _start_queue(team, "ann", "ben")
    team.clock.advance(minutes=2)
    again = await team.agent("ben")
    assert again.started["waiting_for_locks"] == [f"{FILE} (held by holder, 1 before you)"]
    carol = await team.agent("carol")
    team.clock.advance(seconds=1)
    assert not await _is_granted(carol)
    await holder.unlock_files()
    team.clock.advance(seconds=60)
    assert not await _is_granted(carol)
    assert await _is_granted(again)
    del ben


async def test_a_restarted_agent_reads_what_is_reserved_for_it(team: Team):
    holder, [_] = await _start_queue(team, "ann")
    team.clock.advance(seconds=10)
    await holder.unlock_files()
    again = await team.agent("ann")
    assert again.started["waiting_for_locks"] == [f"{FILE} (reserved for you until 2027-01-15T08:01:11Z)"]
    assert not await _is_granted(holder)
    assert await _is_granted(again)


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
