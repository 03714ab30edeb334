"""Checklists: who checked what when, and no tick is lost."""

import asyncio

import pytest

from commonplace import access, errors, events
from commonplace.clock import iso


async def test_checklist_create_then_get_shows_progress_and_who_checked_what_when(team, clock):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    created = await alice.checklist(action="create", name="release", items=["tests", "changelog"])
    assert created == {
        "id": created["id"],
        "status": "created",
        "name": "release",
        "project": "shop",
        "progress": "0/2",
        "first_index": 0,
    }
    clock.advance(minutes=5)
    ticked = {
        "index": 1,
        "text": "changelog",
        "done": True,
        "checked_by": "bob",
        "checked_at": iso(clock.now),
        "notes": "short",
    }
    assert await bob.checklist(action="check", name="release", item_index=1, notes="short") == {
        "status": "checked",
        "name": "release",
        "project": "shop",
        "progress": "1/2",
        "item": {name: value for name, value in ticked.items() if name != "notes"},
        "message": "Your notes are stored.",
    }
    got = await alice.checklist(action="get", name="release")
    assert (got["progress"], got["updated"], got["items"][1]) == ("1/2", iso(clock.now), ticked)
    stored = await team.database.read(lambda tx: events.list_events_after(tx, "shop", 0))
    changed = [event.uri for event in stored if event.kind == "ChecklistChanged"]
    assert changed == ["checklist://shop/release"] * 2


async def test_checklist_check_can_be_taken_back_and_keeps_its_notes(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.checklist(action="create", name="release", items=["tests"])
    await alice.checklist(action="check", name="release", item_index=0, notes="all green")
    undone = await bob.checklist(action="check", name="release", item_index=0, done=False)
    assert (undone["status"], undone["progress"]) == ("unchecked", "0/1")
    assert (undone["item"]["done"], undone["item"]["checked_by"]) == (False, "bob")
    assert undone["item"]["notes"] == "all green"


async def test_checklist_check_of_a_checked_item_says_whose_check_it_is_and_keeps_its_notes(team, clock):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.checklist(action="create", name="release", items=["tests", "docs"])
    first = await alice.checklist(action="check", name="release", item_index=0, notes="all green")
    assert first["message"] == "Your notes are stored."
    checked_at = iso(clock.now)
    clock.advance(minutes=5)
    again = await bob.checklist(action="check", name="release", item_index=0)
    assert again["message"] == f"alice had checked it already, at {checked_at}."
    assert (again["item"]["notes"], again["progress"]) == ("all green", "1/2")
    noted = await bob.checklist(action="check", name="release", item_index=0, notes="one is flaky")
    assert noted["message"] == "Your notes are added to the earlier ones."
    items = (await alice.checklist(action="get", name="release"))["items"]
    assert (items[0]["checked_by"], items[0]["notes"]) == ("bob", "all green\none is flaky")
    assert items[0]["checked_at"] == iso(clock.now)


@pytest.mark.parametrize("indexes", [[2, 0, 2], "[0, 2]"], ids=["list", "JSON text"])
async def test_checklist_check_takes_several_items(team, clock, indexes):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release", items=["tests", "docs", "tag"])
    await alice.checklist(action="check", name="release", item_index=2, notes="v1")
    checked = await alice.checklist(action="check", name="release", item_index=indexes, notes="done twice")
    times = {"done": True, "checked_by": "alice", "checked_at": iso(clock.now)}
    assert checked == {
        "status": "checked",
        "name": "release",
        "project": "shop",
        "progress": "2/3",
        "items": [
            {"index": 0, "text": "tests", **times},
            {"index": 2, "text": "tag", **times},
        ],
        "message": "Your notes are added to the earlier ones.",
    }
    items = (await alice.checklist(action="get", name="release"))["items"]
    assert [item.get("notes") for item in items] == ["done twice", None, "v1\ndone twice"]


async def test_checklist_check_of_several_items_is_all_or_nothing(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release", items=["tests", "docs"])
    for indexes, refusal in (([0, 2], errors.NotFound), ([0, -1], errors.Invalid), ([], errors.Invalid)):
        with pytest.raises(refusal):
            await alice.checklist(action="check", name="release", item_index=indexes)
    assert (await alice.checklist(action="get", name="release"))["progress"] == "0/2"


async def test_checklist_add_puts_items_at_the_end(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release")
    await alice.checklist(action="add", name="release", items=["a"])
    added = await alice.checklist(action="add", name="release", items=["b", "c"])
    assert (added["status"], added["progress"]) == ("added", "0/3")
    assert added["first_index"] == 1
    items = (await alice.checklist(action="get", name="release"))["items"]
    assert [(item["index"], item["text"]) for item in items] == [(0, "a"), (1, "b"), (2, "c")]


async def test_checklist_add_by_many_at_once_loses_nothing(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release")
    await asyncio.gather(
        *(alice.checklist(action="add", name="release", items=[f"{n}", f"{n}"]) for n in range(10))
    )
    items = (await alice.checklist(action="get", name="release"))["items"]
    assert [item["index"] for item in items] == list(range(20))
    assert sorted(item["text"] for item in items) == sorted([f"{n}" for n in range(10)] * 2)


async def test_checklist_create_of_a_name_that_is_there_is_refused(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release", items=["a"])
    with pytest.raises(errors.Duplicate):
        await alice.checklist(action="create", name="release", items=["b"])
    assert (await alice.checklist(action="create", name="release", project="web"))["project"] == "web"
    assert [item["text"] for item in (await alice.checklist(action="get", name="release"))["items"]] == ["a"]


async def test_checklist_list_shows_progress_last_changed_first(team, clock):
    alice = await team.agent("alice")
    assert await alice.checklist(action="list") == {"checklists": [], "count": 0, "total": 0}
    await alice.checklist(action="create", name="old", items=["a", "b"])
    await alice.checklist(action="check", name="old", item_index=0)
    before = iso(clock.now)
    clock.advance(minutes=1)
    await alice.checklist(action="create", name="empty")
    assert await alice.checklist(action="list") == {
        "count": 2,
        "total": 2,
        "checklists": [
            {"name": "empty", "project": "shop", "progress": "0/0", "updated": iso(clock.now)},
            {"name": "old", "project": "shop", "progress": "1/2", "updated": before},
        ],
    }
    assert await alice.checklist(action="list", project="web") == {"count": 0, "total": 0, "checklists": []}


async def test_checklist_delete_removes_it_with_its_items(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release", items=["a", "b"])
    assert await alice.checklist(action="delete", name="release") == {
        "status": "deleted",
        "name": "release",
        "project": "shop",
        "items_deleted": 2,
    }
    assert (await alice.checklist(action="create", name="release"))["progress"] == "0/0"


@pytest.mark.parametrize(
    "act",
    [
        {"action": "get"},
        {"action": "add", "items": ["x"]},
        {"action": "check", "item_index": 0},
        {"action": "delete"},
    ],
)
async def test_checklist_that_is_not_there_is_refused(team, act):
    alice = await team.agent("alice")
    with pytest.raises(errors.NotFound):
        await alice.checklist(name="release", **act)


async def test_checklist_check_of_an_item_that_is_not_there_is_refused(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release", items=["a"])
    with pytest.raises(errors.NotFound):
        await alice.checklist(action="check", name="release", item_index=1)


async def test_checklist_refuses_an_argument_that_the_act_does_not_take(team):
    alice = await team.agent("alice")
    for act in ({"action": "list", "name": "x"}, {"action": "get", "name": "x", "done": True}):
        with pytest.raises(errors.UnknownArgument):
            await alice.checklist(**act)
    with pytest.raises(errors.Invalid):
        await alice.checklist(action="tick", name="x")


async def test_checklist_holds_five_hundred_items_and_no_more(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release", items=["x"] * 500)
    with pytest.raises(errors.TooMany):
        await alice.checklist(action="add", name="release", items=["x"])


async def test_checklist_with_a_readonly_key_reads_and_does_not_write(team):
    alice = await team.agent("alice")
    await alice.checklist(action="create", name="release", items=["a"])
    reader = await team.agent("reader", caller=access.Caller("readonly", frozenset({"shop"}), key="key_1"))
    assert (await reader.checklist(action="get", name="release"))["progress"] == "0/1"
    with pytest.raises(errors.Forbidden):
        await reader.checklist(action="check", name="release", item_index=0)
    with pytest.raises(errors.Forbidden):
        await reader.checklist(action="list", project="web")
