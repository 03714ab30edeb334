"""Following the events of a project from a number: what is missing is said and never skipped."""

from commonplace import access
from commonplace.clock import SECOND
from commonplace.rooms.projects.event_feed import read_all_events, read_events
from commonplace.server import delete_old_rows


async def read_page(team, after):
    answer = await team.calls.run_operation(read_events, {"project": "shop", "after": after}, access.LOCAL)
    return answer.reply


async def test_a_follower_continues_after_its_number_without_a_reset(team):
    alice = await team.agent("alice")
    position = (await read_page(team, None)).last
    await alice.lock_files(files=["a.py"])
    page = await read_page(team, position)
    assert ([event.kind for event in page.events], page.reset) == (["FilesLocked"], "")
    page = await read_page(team, page.last)
    assert (page.events, page.reset) == ([], "")


async def test_a_project_without_events_resets_nobody_at_its_start(team):
    page = await read_page(team, 0)
    assert (page.last, page.events, page.reset) == (0, [], "")


async def test_a_number_older_than_what_is_kept_is_reset_to_the_last_event(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["a.py"])
    position = (await read_page(team, None)).last
    await alice.lock_files(files=["b.py"])
    team.clock.advance(days=8)
    await alice.lock_files(files=["c.py"])
    await delete_old_rows(team.calls)
    page = await read_page(team, position)
    assert (page.reset, page.events) == ("expired", [])
    assert page.last > position + 1
    assert (await read_page(team, page.last)).reset == ""


async def test_all_events_are_gone(team):
    alice = await team.agent("alice")
    await alice.lock_files(files=["a.py"])
    team.clock.advance(days=8)
    await delete_old_rows(team.calls)
    last = (await read_page(team, None)).last
    assert ((await read_page(team, 0)).reset, (await read_page(team, last)).reset) == ("expired", "")


async def test_a_number_ahead_of_every_event_is_reset(team):
    await team.agent("alice")
    last = (await read_page(team, None)).last
    page = await read_page(team, last + 100)
    assert (page.reset, page.last, page.events) == ("ahead", last, [])


async def read_all(team, caller=access.LOCAL, **given):
    return (await team.calls.run_operation(read_all_events, given, caller)).reply


async def test_events_of_all_projects_resume_from_a_time(team):
    alice = await team.agent("alice")
    position = team.clock()
    team.clock.advance(minutes=5)
    await alice.lock_files(files=["a.py"])
    page = await read_all(team, since=position + 60 * SECOND)
    assert (page.reset, [event.kind for event in page.events]) == ("", ["FilesLocked"])


async def test_a_time_before_the_events_that_are_kept_is_reset(team):
    alice = await team.agent("alice")
    position = team.clock()
    team.clock.advance(days=8)
    await alice.lock_files(files=["a.py"])
    page = await read_all(team, since=position)
    assert (page.reset, page.events, page.last) == ("expired", [], team.clock())
    again = await read_all(team, since=page.last)
    assert (again.reset, [event.kind for event in again.events]) == ("", ["FilesLocked"])
    await alice.lock_files(files=["b.py"])
    (event,) = (await read_all(team, positions=page.positions)).events
    assert event.body["files"] == ["b.py"]


async def test_a_time_ahead_of_every_event_that_the_caller_may_see_is_reset(team):
    await team.agent("alice")
    last = team.clock()
    team.clock.advance(minutes=5)
    await team.agent("ben", project="bank")
    shop = access.Caller("readonly", frozenset({"shop"}), "key_1", "eve")
    page = await read_all(team, shop, since=team.clock())
    assert (page.reset, page.last, list(page.positions)) == ("ahead", last, ["shop"])
    assert (await read_all(team, since=team.clock())).reset == ""
