"""A person or an admin releases a lock of an agent, who is told why, and gives it back while the file is free."""

import pytest

from commonplace import errors
from commonplace.access import Caller
from team import Team

EVE = Caller("owner", frozenset({"*"}), agent="eve", kind="person")
ADMIN = Caller("admin", frozenset({"shop"}), key="key1", agent="adi")
PROGRAM = Caller("owner", frozenset({"*"}))
AGENT = Caller("agent", frozenset({"shop"}), key="key2", agent="bob")
ASKED = {"project": "shop", "agent": "ann", "file": "src/cart.py", "reason": "she is on a plane"}


async def _list_held(team: Team) -> list[tuple[str, str]]:
    locks = (await team.anyone(EVE).list_locks(project="shop"))["locks"]
    return sorted((lock["file"], lock["held_by"]) for lock in locks)


@pytest.mark.parametrize("caller", [EVE, ADMIN], ids=["person", "admin"])
async def test_release_lock_frees_the_file_and_tells_the_holder(team: Team, caller: Caller):
    ann, bob = await team.agent("ann"), await team.agent("bob")
    await ann.lock_files(files=["src/cart.py", "src/tax.py"])
    await team.anyone(caller).release_lock(**ASKED)
    assert await _list_held(team) == [("src/tax.py", "ann")]
    assert (await bob.lock_files(files=["src/cart.py"]))["success"]
    (notice,) = (await ann.heartbeat())["_notice"]
    assert notice.startswith(f'{caller.agent} released your lock on src/cart.py ("she is on a plane")')


async def test_release_lock_tells_who_waited_for_the_file(team: Team):
    ann, bob = await team.agent("ann"), await team.agent("bob")
    await ann.lock_files(files=["src/cart.py"])
    await bob.lock_files(files=["src/cart.py"])
    assert (await team.anyone(EVE).release_lock(**ASKED))["notified"] == ["bob"]


async def test_release_lock_is_audited_with_its_reason_and_is_an_event(team: Team):
    ann = await team.agent("ann")
    await ann.lock_files(files=["src/cart.py"])
    await team.anyone(EVE).release_lock(**ASKED)
    (row,) = (await team.anyone(EVE).admin(action="audit_log", event_type="memory_release_lock"))["events"]
    assert (row["agent"], row["outcome"], row["detail"]) == (
        "eve",
        "ok",
        "ann src/cart.py: she is on a plane",
    )
    (event, *_) = (await team.anyone(EVE).list_events(project="shop"))["events"]
    assert (event["kind"], event["actor"]) == ("FilesReleased", "eve")
    assert event["body"] == {"files": ["src/cart.py"], "agent": "ann", "reason": "she is on a plane"}


@pytest.mark.parametrize("caller", [PROGRAM, AGENT], ids=["program without key", "agent's key"])
async def test_agents_release_no_locks_of_others(team: Team, caller: Caller):
    ann = await team.agent("ann")
    await ann.lock_files(files=["src/cart.py"])
    with pytest.raises(errors.Forbidden):
        await team.anyone(caller).release_lock(**ASKED)
    assert await _list_held(team) == [("src/cart.py", "ann")]


async def test_release_lock_of_what_the_agent_does_not_hold_is_not_found(team: Team):
    bob = await team.agent("bob")
    await bob.lock_files(files=["src/cart.py"])
    with pytest.raises(errors.NotFound):
        await team.anyone(EVE).release_lock(**ASKED)
    assert await _list_held(team) == [("src/cart.py", "bob")]


async def test_release_lock_of_a_region_leaves_the_others(team: Team):
    ann = await team.agent("ann")
    await ann.lock_files(files=["src/cart.py:1-9"])
    await ann.lock_files(files=["src/cart.py:40-49"])
    (held, *_) = (await team.anyone(EVE).get_live_state(project="shop"))["files"]
    await team.anyone(EVE).release_lock(**ASKED | {"file": held["lock"]})
    locks = (await team.anyone(EVE).list_locks(project="shop"))["locks"]
    assert len(locks) == 1
    assert f"{locks[0]['region']['from']}-" not in held["region"]


def _return(released: dict[str, object]) -> dict[str, object]:
    names = ("agent", "session", "lock", "mode", "minutes", "reason")
    return {"project": "shop"} | {name: released[name] for name in names if name in released}


@pytest.mark.parametrize("file", ["src/cart.py", "src/cart.py:3-9"])
async def test_return_lock_gives_the_same_lock_back_and_tells_the_holder(team: Team, file: str):
    ann, bob = await team.agent("ann"), await team.agent("bob")
    await ann.lock_files(files=[file], reason="VAT", minutes=10)
    before = (await team.anyone(EVE).list_locks(project="shop"))["locks"]
    (released,) = (await team.anyone(EVE).release_lock(**ASKED | {"file": file}))["released"]
    returned = await team.anyone(EVE).return_lock(**_return(released))
    after = (await team.anyone(EVE).list_locks(project="shop"))["locks"]
    assert after == before
    assert returned["expires_at"] == after[0]["expires_at"]
    assert not (await bob.lock_files(files=[file]))["success"]
    assert any(notice.startswith("eve gave you back") for notice in (await ann.heartbeat())["_notice"])
    assert (await ann.unlock_files())["released"] == [released["file"]]


async def test_return_lock_is_refused_when_somebody_took_the_file(team: Team):
    ann, bob = await team.agent("ann"), await team.agent("bob")
    await ann.lock_files(files=["src/cart.py"])
    (released,) = (await team.anyone(EVE).release_lock(**ASKED))["released"]
    await bob.lock_files(files=["src/"])
    with pytest.raises(errors.Conflict):
        await team.anyone(EVE).return_lock(**_return(released))
    assert await _list_held(team) == [("src/", "bob")]


async def test_return_lock_to_a_session_that_ended_is_not_found(team: Team):
    ann = await team.agent("ann")
    await ann.lock_files(files=["src/cart.py"])
    (released,) = (await team.anyone(EVE).release_lock(**ASKED))["released"]
    await ann.end_session(summary="done")
    with pytest.raises(errors.NotFound):
        await team.anyone(EVE).return_lock(**_return(released))


async def test_agents_return_no_locks_of_others(team: Team):
    ann = await team.agent("ann")
    await ann.lock_files(files=["src/cart.py"])
    (released,) = (await team.anyone(EVE).release_lock(**ASKED))["released"]
    with pytest.raises(errors.Forbidden):
        await team.anyone(PROGRAM).return_lock(**_return(released))


async def test_returned_lock_has_a_newer_token_than_any_before(team: Team):
    ann = await team.agent("ann")
    (first,) = (await ann.lock_files(files=["src/cart.py"]))["locked"]
    (released,) = (await team.anyone(EVE).release_lock(**ASKED))["released"]
    await team.anyone(EVE).return_lock(**_return(released))
    (again,) = (await ann.lock_files(files=["src/cart.py"]))["locked"]
    assert again["token"] > first["token"]
