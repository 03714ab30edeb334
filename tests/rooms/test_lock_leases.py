"""Leases over time: renewal, lapse, takeover, waiting, fencing and notices."""

import asyncio

import pytest

from commonplace import access, errors
from commonplace.rooms.locks.store import raise_token_epoch
from commonplace.server import delete_old_rows
from patience import PATIENCE_SECONDS

EPOCH = 1 << 40
CLOCK_START = "2027-01-15T08:00:00Z"
HALF_PAST = "2027-01-15T08:30:00Z"


async def list_events(team, uri="locks://shop"):
    rows = await team.database.read(
        lambda tx: tx.all(
            "select kind, actor, body from event where project = 'shop' and uri = $1 order by n", uri
        )
    )
    return [(row["kind"], row["actor"], row["body"]) for row in rows]


async def holds_exactly(agent, *files):
    locks = await agent.get_locks()
    return [lock["file"] for lock in locks.get("your_locks", [])] == list(files)


async def present_token(agent, path, token):
    await agent.update_work(title="fenced", status="in_progress", files_touched=[path], token=token)


# -- time -----------------------------------------------------------------------------------------------------


async def test_activity_of_any_kind_renews_every_lock(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    for _ in range(5):
        team.clock.advance(seconds=50)
        await alice.heartbeat()
    assert not (await bob.lock_files(files=["a.py"]))["success"]


async def test_reading_renews_too(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    for _ in range(3):
        team.clock.advance(seconds=50)
        await alice.get_locks()
        await team.calls.activity.flush_pending()
    assert not (await bob.lock_files(files=["a.py"]))["success"]


async def test_lapsed_lock_is_first_its_old_holders_then_anyones(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"], minutes=1)
    team.clock.advance(seconds=74)
    refused = await bob.lock_files(files=["a.py"])
    assert [conflict["stale"] for conflict in refused["conflicts"]] == [True]
    team.clock.advance(seconds=1)
    assert (await bob.lock_files(files=["a.py"]))["success"]


async def test_holder_takes_a_lapsed_lock_back_with_its_token(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first = await alice.lock_files(files=["a.py"], minutes=1)
    team.clock.advance(seconds=74)
    again = await alice.lock_files(files=["a.py"])
    assert again["locked"][0]["token"] == first["locked"][0]["token"]
    team.clock.advance(seconds=74)
    assert not (await bob.lock_files(files=["a.py"]))["success"]


async def test_taking_over_tells_the_old_holder_once(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["src/"], minutes=1)
    team.clock.advance(minutes=2)
    await bob.lock_files(files=["src/a.py"])
    answer = await alice.heartbeat()
    assert answer["_notice"] == ["bob took over your lapsed lock on src/."]
    assert "_notice" not in await alice.heartbeat()
    assert await holds_exactly(alice)


async def test_lapsed_lock_that_nobody_wanted_is_reported_once_and_gone(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py", "b.py"], minutes=1)
    team.clock.advance(minutes=2)
    answer = await alice.heartbeat()
    assert answer["_notice"] == [
        "Your lock on a.py, b.py lapsed; call memory_lock_files before you edit again."
    ]
    assert answer["leases_renewed"] == 0
    team.clock.advance(minutes=2)
    assert "_notice" not in await alice.heartbeat()
    assert (await bob.lock_files(files=["a.py"]))["success"]


async def test_lock_lost_to_time_is_granted_anew_with_a_higher_token(team):
    alice = await team.agent("alice")
    first = await alice.lock_files(files=["a.py"], minutes=1)
    team.clock.advance(minutes=2)
    again = await alice.lock_files(files=["a.py"])
    assert again["locked"][0]["token"] > first["locked"][0]["token"]


async def test_conflict_is_stale_when_the_holder_has_been_silent(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    team.clock.advance(minutes=6)
    refused = await bob.lock_files(files=["a.py"])
    assert [conflict["stale"] for conflict in refused["conflicts"]] == [True]


async def test_lock_of_an_ended_session_is_free_at_once(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    await team.database.write(
        lambda tx: tx.run("update session set ended_at = 1 where project = 'shop' and agent = 'alice'")
    )
    assert (await bob.get_locks())["total_count"] == 0
    assert (await bob.lock_files(files=["a.py"]))["success"]


async def test_lock_of_a_revoked_key_is_free_at_once(team):
    caller = access.Caller("agent", frozenset({"shop"}), key="key_1")
    alice, bob = await team.agent("alice", caller=caller), await team.agent("bob")
    token = (await alice.lock_files(files=["a.py"]))["locked"][0]["token"]
    await team.database.write(
        lambda tx: tx.run(
            "insert into api_key (id, hash, name, role, projects, created_at, created_by, revoked_at)"
            " values ('key_1', 'x', 'alice', 'agent', '[]', 1, 'operator', 2)"
        )
    )
    with pytest.raises(errors.StaleToken):
        await present_token(alice, "a.py", token)
    assert (await bob.get_locks())["total_count"] == 0
    assert (await bob.lock_files(files=["a.py"]))["success"]


async def test_end_session_releases_what_was_held(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["b.py", "a.py"])
    ended = await alice.end_session(summary="done")
    assert ended["released_locks"] == ["a.py", "b.py"]
    assert (await bob.lock_files(files=["a.py"]))["success"]


async def test_sweep_forgets_old_lapsed_locks_and_tells_their_holder(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["a.py"])
    team.clock.advance(days=2)
    await delete_old_rows(team.calls)
    rows = await team.database.read(lambda tx: tx.all("select path from lease where project = 'shop'"))
    assert list(rows) == []
    assert (await alice.heartbeat())["_notice"] == [
        "Your lock on a.py lapsed; call memory_lock_files before you edit again."
    ]


# -- waiting --------------------------------------------------------------------------------------------------


async def test_lock_files_waits_until_the_holder_lets_go(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    waiting = asyncio.create_task(bob.lock_files(files=["a.py"], wait_seconds=50))
    await asyncio.sleep(0)
    await alice.unlock_files(files=["a.py"])
    assert (await asyncio.wait_for(waiting, PATIENCE_SECONDS))["success"]


@pytest.mark.slow
async def test_lock_files_that_waited_in_vain_answers_with_the_conflict(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    refused = await asyncio.wait_for(bob.lock_files(files=["a.py"], wait_seconds=1), PATIENCE_SECONDS)
    assert (refused["success"], refused["conflicts"][0]["held_by"]) == (False, "alice")


# -- fencing --------------------------------------------------------------------------------------------------


async def test_token_is_good_while_its_lock_is_held_and_covers_the_path(team):
    alice = await team.agent("alice")
    token = (await alice.lock_files(files=["src/"]))["locked"][0]["token"]
    await present_token(alice, "src/a.py", token)
    with pytest.raises(errors.StaleToken):
        await present_token(alice, "docs/a.md", token)


async def test_token_of_a_lapsed_lock_is_good_until_another_got_it(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    token = (await alice.lock_files(files=["src/"], minutes=1))["locked"][0]["token"]
    team.clock.advance(minutes=2)
    await present_token(alice, "src/a.py", token)
    await bob.lock_files(files=["src/a.py"])
    await bob.unlock_files()
    with pytest.raises(errors.StaleToken):
        await present_token(alice, "src/a.py", token)


async def test_every_file_needs_a_current_token_and_the_refusal_names_those_without(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    locked = (await alice.lock_files(files=["a.py", "b.py"], minutes=1))["locked"]
    tokens = [lock["token"] for lock in locked]
    await alice.update_work(title="edit", status="in_progress", files_touched=["a.py", "b.py"], token=tokens)
    team.clock.advance(minutes=2)
    taken = (await bob.lock_files(files=["b.py"]))["locked"][0]["token"]
    with pytest.raises(errors.StaleToken) as refused:
        await alice.update_work(
            title="edit", status="completed", files_touched=["a.py", "b.py"], token=tokens
        )
    assert refused.value.details == {"files": ["b.py"], "tokens": tokens[1:]}
    with pytest.raises(errors.StaleToken):
        await alice.update_work(title="edit", status="in_progress", files_touched=["b.py"], token=taken)


async def test_end_session_with_a_stale_token_is_refused_and_changes_nothing(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    token = (await alice.lock_files(files=["a.py"], minutes=1))["locked"][0]["token"]
    kept = (await alice.lock_files(files=["k.py"]))["locked"][0]["token"]
    team.clock.advance(minutes=2)
    await bob.lock_files(files=["a.py"])
    with pytest.raises(errors.StaleToken):
        await alice.end_session(summary="done", files_modified=["a.py"], token=[kept, token])
    ended = await alice.end_session(summary="done", files_modified=["a.py"], token=kept)
    assert ended["released_locks"] == ["k.py"]


async def test_token_of_another_session_is_refused(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    token = (await alice.lock_files(files=["a.py"]))["locked"][0]["token"]
    with pytest.raises(errors.StaleToken):
        await present_token(bob, "a.py", token)


async def test_token_grows_over_a_restored_backup(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    before = (await alice.lock_files(files=["a.py"]))["locked"][0]["token"]

    async def restore(tx):
        await tx.run("update counter set n = 0 where project = 'shop' and name = 'lease'")
        return await raise_token_epoch(tx, team.clock())

    assert await team.database.write(restore) == 2
    after = (await bob.lock_files(files=["a.py"]))["locked"][0]["token"]
    assert (before, after) == (EPOCH + 1, 2 * EPOCH + 1)
    assert await team.database.write(restore) == 3


async def test_leases_of_a_restored_backup_end_and_their_holders_are_told(team):
    alice, bob = await team.agent("alice"), await team.agent("bob", project="other")
    lost = (await alice.lock_files(files=["a.py"]))["locked"][0]["token"]
    await bob.lock_files(files=["b.py"])
    await team.database.write(lambda tx: raise_token_epoch(tx, team.clock()))
    assert (await alice.heartbeat())["_notice"] == [
        "Your lock on a.py lapsed; call memory_lock_files before you edit again."
    ]
    assert "_notice" in await bob.heartbeat()
    with pytest.raises(errors.StaleToken):
        await present_token(alice, "a.py", lost)


# -- telling --------------------------------------------------------------------------------------------------


async def test_locking_releasing_and_taking_over_are_events_of_the_project(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py", "b.py"], minutes=1)
    await alice.unlock_files(files=["b.py"])
    team.clock.advance(minutes=2)
    await bob.lock_files(files=["a.py"], mode="shared")
    assert await list_events(team) == [
        ("FilesLocked", "alice", '{"files":["a.py","b.py"],"mode":"exclusive"}'),
        ("FilesReleased", "alice", '{"files":["b.py"]}'),
        ("LeaseTakenOver", "bob", '{"files":["a.py"],"held_by":["alice"]}'),
        ("FilesLocked", "bob", '{"files":["a.py"],"mode":"shared"}'),
    ]


async def test_refused_lock_files_is_no_event(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.lock_files(files=["a.py"])
    await bob.lock_files(files=["a.py"])
    assert [kind for kind, _, _ in await list_events(team)] == ["FilesLocked"]


async def test_start_session_shows_others_locks_by_holder_nearest_first(team):
    alice, carol = await team.agent("alice"), await team.agent("carol")
    await alice.lock_files(files=[f"web/{n}.ts" for n in range(30)])
    await carol.lock_files(files=["api/x.py", "api/y.py"], reason="rename")
    bob = await team.agent("bob", working_directory="/home/bob/shop/api")
    first, second = bob.started["relevant_locks"]
    assert first == {
        "held_by": "carol",
        "files": ["api/x.py", "api/y.py"],
        "reason": "rename",
        "expires_at": HALF_PAST,
    }
    assert (second["held_by"], len(second["files"])) == ("alice", 18)
    assert bob.started["omitted"] == {"relevant_locks": 12}


async def test_start_session_shows_only_locks_near_the_task_and_counts_the_others(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["src/cart.py", "src/mail/send.py", "docs/"])
    bob = await team.agent("bob", task_description="Round the totals of carts")
    assert [lock["files"] for lock in bob.started["relevant_locks"]] == [["src/cart.py"]]
    assert bob.started["omitted"] == {"relevant_locks": 2}
