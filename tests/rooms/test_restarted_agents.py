"""An agent without hooks whose program was closed without memory_end_session, and that starts again."""

from typing import Any

import pytest

from commonplace import errors
from team import Agent, Team

HOME = "/home/me/shop"
FILES = ["src/prices.py", "web/render.py"]


async def _start(team: Team, name: str = "frontend", directory: str = HOME) -> Agent:
    return await team.agent(name, working_directory=directory, task_description="render prices")


async def _restart_after_a_crash(team: Team) -> tuple[Agent, Agent, list[int]]:
    """The session that was closed while it held two locks, the one that was started again, and the old tokens."""
    old = await _start(team)
    locked = await old.lock_files(files=FILES, reason="render prices")
    team.clock.advance(minutes=2)
    return old, await _start(team), [lock["token"] for lock in locked["locked"]]


def _names(listing: list[dict[str, Any]]) -> list[str]:
    return [entry["agent"] for entry in listing]


async def test_a_restarted_agent_goes_on_where_it_was(team: Team):
    reviewer = await _start(team, "reviewer")
    old = await _start(team)
    item = (await old.add_backlog_item(title="Show the discount"))["id"]
    await old.update_backlog_item(item_id=item, claim=True)
    await old.lock_files(files=FILES, reason="render prices")
    blocker = (await reviewer.add_backlog_item(title="Vouchers"))["id"]
    await old.add_backlog_item(title="Render vouchers", depends_on=[blocker], assigned_to="frontend")
    await reviewer.complete_backlog_item(item_id=blocker, resolution="done")
    team.clock.advance(minutes=2)

    new = await _start(team)
    assert [lock["files"] for lock in new.started["your_locks"]] == [FILES]
    assert "relevant_locks" not in new.started
    assert "relevant_locks" not in new.started.get("omitted", {})
    assert "did not end" in new.started["action_needed"]
    assert _names(new.started["active_agents"]) == ["reviewer"]

    listing = await new.get_locks()
    assert any("Render vouchers" in text for text in listing["_notice"])
    assert listing["locks"] == []
    assert listing.get("claimed", []) == []
    assert {(lock["file"], lock["earlier_session"]) for lock in listing["your_locks"]} == {
        (file, True) for file in FILES
    }
    locked = await new.lock_files(files=FILES)
    assert locked["success"]
    assert "earlier_session" not in (await new.get_locks())["your_locks"][0]

    assert _names((await reviewer.get_active_work())["currently_active"]).count("frontend") == 1
    [status] = (await reviewer.get_agent_status(instance="frontend"))["agents"]
    assert status["sessions"] == 1
    team.clock.advance(minutes=29)
    await new.heartbeat()
    team.clock.advance(minutes=29)
    assert (await new.get_by_id(id=item))["status"] == "in_progress"


async def test_a_takeover_needs_no_unlock_and_makes_the_old_token_stale(team: Team):
    old, new, tokens = await _restart_after_a_crash(team)
    locked = (await new.lock_files(files=FILES))["locked"]
    assert not {lock["token"] for lock in locked} & set(tokens)
    told = (await old.heartbeat())["_notice"]
    assert any("took over your lock" in text for text in told)
    with pytest.raises(errors.StaleToken):
        await old.update_work(title="prices", status="in_progress", token=tokens)
    again = await old.lock_files(files=FILES)
    assert not again["success"]


async def test_a_session_that_calls_again_is_live_and_keeps_its_locks(team: Team):
    old, new, _ = await _restart_after_a_crash(team)
    await old.update_work(title="prices", status="in_progress")
    team.clock.advance(minutes=1)
    refused = await new.lock_files(files=FILES)
    assert not refused["success"]
    assert "your other session" in refused["message"]
    assert "by others" not in refused["message"]
    [status] = (await new.get_agent_status(instance="frontend"))["agents"]
    assert status["sessions"] == 2
    assert (await new.unlock_files())["released"] == []


async def test_a_session_that_was_silent_for_seconds_only_keeps_its_locks(team: Team):
    old = await _start(team)
    await old.lock_files(files=FILES)
    team.clock.advance(seconds=3)
    new = await _start(team)
    assert new.started["active_agents"][0]["same_name"]
    refused = await new.lock_files(files=FILES)
    assert "your other session (last call 3 s ago)" in refused["message"]
    assert "call again in 7 s" in refused["message"]
    team.clock.advance(seconds=7)
    assert (await new.lock_files(files=FILES))["success"]


async def test_an_agent_in_another_directory_is_another_window(team: Team):
    old = await _start(team)
    await old.lock_files(files=["src/prices.py"])
    team.clock.advance(minutes=2)
    other = await _start(team, directory="/home/me/shop-2")
    assert "your_locks" not in other.started
    assert not (await other.lock_files(files=["src/prices.py"]))["success"]


async def test_the_end_of_the_newer_session_releases_what_both_held(team: Team):
    reviewer = await _start(team, "reviewer")
    old, new, _ = await _restart_after_a_crash(team)
    await reviewer.lock_files(files=["src/prices.py"])
    assert sorted((await new.end_session(summary="done"))["released_locks"]) == FILES
    assert (await reviewer.heartbeat())["_notice"]
    assert (await reviewer.lock_files(files=FILES))["success"]
    await old.update_work(title="prices", status="in_progress")
    assert "frontend" in _names((await reviewer.get_active_work())["currently_active"])


async def test_unlock_of_all_releases_what_the_earlier_session_holds(team: Team):
    _, new, _ = await _restart_after_a_crash(team)
    assert sorted((await new.unlock_files())["released"]) == FILES
    assert (await new.get_locks())["total_count"] == 0


async def test_a_waiter_that_was_closed_waits_on_when_it_starts_again(team: Team):
    holder = await _start(team, "reviewer")
    await holder.lock_files(files=FILES)
    await (await _start(team)).lock_files(files=FILES)
    assert len((await holder.get_locks())["wanted_by"]) == len(FILES)
    team.clock.advance(minutes=1)
    new = await _start(team)
    assert len(new.started["waiting_for_locks"]) == len(FILES)
    assert len((await holder.get_locks())["wanted_by"]) == len(FILES)
    assert (await holder.unlock_files())["notified"] == ["frontend"]
    assert (await new.lock_files(files=FILES))["success"]


async def test_a_waiter_whose_name_another_directory_uses_waits_on(team: Team):
    holder = await _start(team, "reviewer")
    await holder.lock_files(files=FILES)
    await (await _start(team)).lock_files(files=FILES)
    team.clock.advance(minutes=1)
    other = await _start(team, directory="/home/me/other")
    assert "waiting_for_locks" not in other.started
    await holder.unlock_files()
    assert not (await other.lock_files(files=FILES))["success"]


async def test_a_sub_agent_of_the_same_name_does_not_supersede_its_parent(team: Team):
    parent = await _start(team)
    await parent.lock_files(files=FILES)
    team.clock.advance(minutes=2)
    child = await team.agent("frontend", working_directory=HOME, spawned_by="frontend")
    assert "your_locks" not in child.started
    assert not (await child.lock_files(files=FILES))["success"]
    [status] = (await child.get_agent_status(instance="frontend"))["agents"]
    assert status["sessions"] == 2


async def test_active_work_shows_the_task_of_the_session_when_no_work_is_open(team: Team):
    agent = await _start(team)
    await agent.update_work(title="prices", status="in_progress")
    await agent.update_work(title="prices", status="completed")
    [active] = (await agent.get_active_work())["currently_active"]
    assert active["task"] == "render prices"


async def test_a_window_with_hooks_that_only_thinks_keeps_its_locks(team: Team):
    window = await _start(team)
    place = {"machine": "laptop", "root": HOME, "repository": f"{HOME}/.git"}
    await window.report_checkout(**place, branch="main", head="a1")
    await window.lock_files(files=FILES)
    team.clock.advance(minutes=2)
    other = await _start(team)
    assert other.started["active_agents"][0]["same_name"]
    assert not (await other.lock_files(files=FILES))["success"]


async def test_others_see_that_an_agent_was_restarted_and_when(team: Team):
    reviewer = await _start(team, "reviewer")
    _, new, _ = await _restart_after_a_crash(team)
    team.clock.advance(minutes=3)
    [status] = (await reviewer.get_agent_status(instance="frontend"))["agents"]
    assert (status["restarted"], status["silent_for"], status["sessions"]) == ("3min", "3min", 1)
    [active] = (await reviewer.get_active_work(instance="frontend"))["currently_active"]
    assert (active["restarted"], active["silent_for"]) == ("3min", "3min")
    [status] = (await reviewer.get_agent_status(instance="reviewer"))["agents"]
    assert "restarted" not in status
    await new.end_session(summary="done")
    [status] = (await reviewer.get_agent_status(instance="frontend"))["agents"]
    assert "restarted" not in status


async def test_an_agent_that_ended_its_session_or_has_another_window_was_not_restarted(team: Team):
    reviewer = await _start(team, "reviewer")
    old = await _start(team)
    await old.end_session(summary="done")
    team.clock.advance(minutes=2)
    await _start(team)
    team.clock.advance(minutes=2)
    await _start(team, directory="/home/me/other")
    [status] = (await reviewer.get_agent_status(instance="frontend"))["agents"]
    assert ("restarted" in status, status["sessions"]) == (False, 2)
    assert not any("restarted" in entry for entry in (await reviewer.get_active_work())["currently_active"])


async def test_a_restarted_agent_is_shown_the_open_work_of_its_earlier_session(team: Team):
    old = await _start(team)
    await old.update_work(title="Header", status="completed", notes="done")
    await old.update_work(
        title="VAT split", status="in_progress", notes="preparing it", files_touched=["src/vat.py"]
    )
    await old.update_work(title="Edits", status="in_progress", files_touched=["src/vat.py"])
    team.clock.advance(minutes=2)
    new = await _start(team)
    assert new.started["your_work"] == [
        {"title": "VAT split", "status": "in_progress", "notes": "preparing it", "files": ["src/vat.py"]}
    ]
    assert "your_work" not in (await _start(team, "reviewer")).started


async def test_a_report_of_a_restarted_agent_continues_its_earlier_work(team: Team):
    old = await _start(team)
    await old.update_work(title="VAT split", status="in_progress", files_touched=["src/vat.py"])
    team.clock.advance(minutes=2)
    new = await _start(team)
    reported = await new.update_work(title="VAT split", status="completed", files_touched=["src/vat.py"])
    assert not {"first_report", "overlaps"} & reported.keys()
    (item,) = (await new.get_active_work())["recent_work_items"]
    assert (item["title"], item["status"]) == ("VAT split", "done")


async def test_a_restarted_agent_reads_the_text_of_the_task_that_it_has(team: Team):
    old, lead = await _start(team), await _start(team, "lead")
    item = (await old.add_backlog_item(title="List links", description="Print hits.", claim=True))["id"]
    await lead.update_backlog_item(item_id=item, note="Sort by code.")
    team.clock.advance(minutes=2)
    (own,) = (await _start(team)).started["backlog"]
    assert own["description"] == "Print hits.\n\nNote (lead): Sort by code."


async def test_an_agent_that_ended_its_session_has_a_handoff_and_no_open_work(team: Team):
    old = await _start(team)
    await old.update_work(title="VAT split", status="in_progress", notes="preparing it")
    await old.end_session(summary="half", handoff_notes="The rest waits.")
    team.clock.advance(minutes=2)
    assert "your_work" not in (await _start(team)).started


async def test_news_reaches_an_earlier_session_once_the_later_one_has_ended(team: Team):
    ben = await team.agent("ben")
    first = await team.agent("ann")
    later = await team.agent("ann")
    await later.end_session(summary="")
    sent = await ben.send_message(to_instance="ann", message="The build is red", priority="urgent")
    added = await ben.add_backlog_item(title="Fix the build", assigned_to="ann")
    assert "offline" not in sent
    assert "offline" not in added
    notices = (await first.get_locks())["_notice"]
    assert any("The build is red" in line for line in notices)
    assert any("Fix the build" in line for line in notices)
