"""Who asked in vain for a lock is told when it comes free, and others see who waits."""

import pytest

from team import Team


async def _wait_in_vain(team: Team, **more):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/"], minutes=10)
    assert not (await bob.lock_files(files=["src/cart.py", "docs/a.md"], **more))["success"]
    return alice, bob


_FREE = "src/cart.py is free now: lock it with memory_lock_files."


async def test_a_released_lock_is_told_once_to_who_asked_for_it(team: Team):
    alice, bob = await _wait_in_vain(team)
    assert "_notice" not in await bob.list_backlog()
    await alice.unlock_files()
    assert (await bob.list_backlog())["_notice"] == [_FREE]
    assert "_notice" not in await bob.list_backlog()
    assert "_notice" not in await alice.list_backlog()


@pytest.mark.slow
async def test_waiting_in_vain_counts_too(team: Team):
    alice, bob = await _wait_in_vain(team, wait_seconds=1)
    await alice.unlock_files()
    assert (await bob.list_backlog())["_notice"] == [_FREE]


async def test_the_end_of_the_holders_session_frees_its_locks(team: Team):
    alice, bob = await _wait_in_vain(team)
    await alice.end_session(summary="done")
    assert (await bob.list_backlog())["_notice"] == [_FREE]


async def test_a_lapsed_lock_is_told_on_the_next_activity(team: Team):
    _, bob = await _wait_in_vain(team)
    team.clock.advance(minutes=11)
    assert (await bob.heartbeat())["_notice"] == [_FREE]


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
    assert (await bob.lock_files(files=["src/cart.py"]))["success"]
    assert "_notice" not in await bob.heartbeat()
    assert "waiting" not in await alice.get_locks()


async def test_get_locks_shows_who_waits(team: Team):
    alice, _ = await _wait_in_vain(team)
    assert (await alice.get_locks())["waiting"] == [
        {"file": "src/cart.py", "agent": "bob", "since": "2027-01-15T08:00:00Z"}
    ]
