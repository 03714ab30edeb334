"""The backlog: nobody takes what another has, nothing begins before what it needs, every change is kept."""

import asyncio
import graphlib
import time

import pytest

from commonplace import access, errors, events
from commonplace.clock import iso
from commonplace.rooms.backlog import store


async def _alice_and_bob(team):
    return await team.agent("alice"), await team.agent("bob")


async def _add_items(agent, *titles: str, **fields) -> list[str]:
    return [(await agent.add_backlog_item(title=title, **fields))["id"] for title in titles]


def _list_titles(listing: dict) -> list[str]:
    return [item["title"] for item in listing.get("items", [])]


def _can_be_ordered(edges: list[tuple[str, str]]) -> bool:
    sorter = graphlib.TopologicalSorter[str]()
    for item, needs in edges:
        sorter.add(item, needs)
    try:
        sorter.prepare()
    except graphlib.CycleError:
        return False
    return True


async def _get_item(team, item: str, project: str = "shop"):
    return await (await team.agent("finder", project)).get_by_id(doc_id=item)


async def _list_events(team, project: str = "shop") -> list[tuple[str, str, str]]:
    stored = await team.database.read(lambda tx: events.list_events_after(tx, project, 0))
    return [(event.kind, event.uri, event.body["id"]) for event in stored if event.kind == "BacklogChanged"]


async def test_add_backlog_item_answers_with_the_item(team):
    alice = await team.agent("alice")
    (first,) = await _add_items(alice, "model")
    added = await alice.add_backlog_item(
        title="Cart",
        description="It loses items.",
        priority="high",
        assigned_to="bob",
        tags=["ui", "bug", "ui"],
        target_version="1.2",
        deferred_reason="later",
        depends_on=[first[:14]],
    )
    assert added == {
        "status": "added",
        "item_status": "deferred",
        "id": added["id"],
        "project": "shop",
        "priority": "high",
        "assigned_to": "bob",
        "depends_on": [first],
        "blocked_by": [first],
        "version": 1,
        "offline": ["bob"],
    }
    assert len(added["id"]) == len("backlog_") + 12
    (listed,) = (await alice.list_backlog(assigned_to="bob"))["items"]
    texts = {name: listed[name] for name in ("title", "tags", "milestone", "deferred_reason")}
    assert texts == {
        "title": "Cart",
        "tags": ["ui", "bug"],
        "milestone": "1.2",
        "deferred_reason": "later",
    }
    assert await _list_events(team) == [
        ("BacklogChanged", "backlog://shop", item) for item in (first, added["id"])
    ]


async def test_add_backlog_item_refuses_a_dependency_that_is_not_there(team):
    alice = await team.agent("alice")
    with pytest.raises(errors.NotFound):
        await alice.add_backlog_item(title="Cart", depends_on=["backlog_000000000000"])
    assert (await alice.list_backlog())["total"] == 0


async def test_add_backlog_item_refuses_a_project_outside_the_key(team):
    caller = access.Caller("agent", frozenset({"shop"}), key="key_1")
    alice = await team.agent("alice", caller=caller)
    with pytest.raises(errors.Forbidden):
        await alice.add_backlog_item(title="Cart", project="web")


async def test_list_backlog_orders_by_priority_then_age_and_pages(team, clock):
    alice = await team.agent("alice")
    for priority, title in (("low", "1"), ("medium", "2"), ("critical", "3"), ("high", "4"), ("medium", "5")):
        await _add_items(alice, title, priority=priority)
        clock.advance(seconds=1)
    first = await alice.list_backlog(limit=2)
    assert (_list_titles(first), first["count"], first["total"], first["next_offset"]) == (
        ["3", "4"],
        2,
        5,
        2,
    )
    last = await alice.list_backlog(limit=3, offset=2)
    assert (_list_titles(last), last["total"], "next_offset" in last) == (["2", "5", "1"], 5, False)


async def test_list_backlog_shortens_descriptions(team):
    alice = await team.agent("alice")
    await _add_items(alice, "Cart", description="many words " * 100)
    (item,) = (await alice.list_backlog())["items"]
    assert len(item["description"]) <= 160


async def test_list_backlog_filters(team):
    alice = await team.agent("alice")
    await _add_items(alice, "a", priority="high", tags=["ui"], milestone="1.0")
    await _add_items(alice, "b", assigned_to="bob", tags=["UI", "gui"])
    (closed,) = await _add_items(alice, "c", tags=["ui"])
    await alice.complete_backlog_item(item_id=closed)
    assert _list_titles(await alice.list_backlog()) == ["a", "b"]
    assert _list_titles(await alice.list_backlog(include_done=True)) == ["a", "b", "c"]
    assert _list_titles(await alice.list_backlog(status="done")) == ["c"]
    assert _list_titles(await alice.list_backlog(priority="high")) == ["a"]
    assert _list_titles(await alice.list_backlog(assigned_to="bob")) == ["b"]
    assert _list_titles(await alice.list_backlog(assigned_to="")) == ["a"]
    assert _list_titles(await alice.list_backlog(target_version="1.0")) == ["a"]
    assert _list_titles(await alice.list_backlog(tag="ui")) == ["a"]
    assert _list_titles(await alice.list_backlog(tag="gui")) == ["b"]


async def test_list_backlog_ready_shows_what_can_begin_for_me(team):
    alice, bob = await _alice_and_bob(team)
    (first,) = await _add_items(alice, "first")
    await _add_items(alice, "second", depends_on=[first])
    await _add_items(alice, "mine", assigned_to="bob")
    await _add_items(alice, "hers", assigned_to="alice")
    (held,) = await _add_items(alice, "held")
    await alice.update_backlog_item(item_id=held, status="deferred")
    assert _list_titles(await bob.list_backlog(ready=True)) == ["first", "mine"]
    await alice.complete_backlog_item(item_id=first)
    assert _list_titles(await bob.list_backlog(ready=True)) == ["second", "mine"]


async def test_list_backlog_of_an_unknown_project_is_empty(team):
    alice = await team.agent("alice")
    assert await alice.list_backlog(project="nowhere") == {"items": [], "count": 0, "total": 0}


async def test_list_backlog_everywhere_shows_the_projects_of_the_key(team):
    alice = await team.agent("alice")
    for project in ("shop", "web", "bank"):
        await _add_items(alice, project, project=project)
    assert sorted(_list_titles(await alice.list_backlog(project="*"))) == ["bank", "shop", "web"]
    caller = access.Caller("readonly", frozenset({"shop", "web"}), key="key_1")
    reader = await team.agent("reader", caller=caller)
    assert sorted(_list_titles(await reader.list_backlog(project="*"))) == ["shop", "web"]


async def test_update_backlog_item_keeps_every_change(team, clock):
    alice, bob = await _alice_and_bob(team)
    first, item = await _add_items(alice, "model", "Cart")
    created = clock.now
    clock.advance(minutes=1)
    await bob.update_backlog_item(item_id=item[:12], title="Basket", priority="low", assigned_to="bob")
    clock.advance(minutes=1)
    updated = await alice.update_backlog_item(
        item_id=item, assigned_to="", depends_on=[first], expected_version=2
    )
    assert (updated["status"], updated["version"], updated["title"]) == ("updated", 3, "Basket")
    assert "assigned_to" not in updated
    assert await _get_item(team, item[:12]) == {
        "found": True,
        "facts": {"priority": "low", "version": 3},
        "id": item,
        "title": "Basket",
        "type": "backlog_item",
        "status": "open",
        "project": "shop",
        "created": iso(created),
        "updated": iso(clock.now),
        "author": "alice",
        "versions": [
            {
                "version": 3,
                "at": iso(clock.now),
                "by": "alice",
                "changes": {
                    "assigned_to": {"from": "bob", "to": ""},
                    "depends_on": {"from": "[]", "to": f'["{first}"]'},
                },
            },
            {
                "version": 2,
                "at": iso(created + 60_000_000),
                "by": "bob",
                "changes": {
                    "assigned_to": {"from": "", "to": "bob"},
                    "priority": {"from": "medium", "to": "low"},
                    "title": {"from": "Cart", "to": "Basket"},
                },
            },
        ],
        "links": {"depends_on": [first], "blocked_by": [first], "blocks": []},
    }
    assert (await _get_item(team, first))["links"]["blocks"] == [item]


async def test_update_backlog_item_that_changes_nothing_is_no_version(team):
    alice = await team.agent("alice")
    (item,) = await _add_items(alice, "Cart")
    same = await alice.update_backlog_item(item_id=item, title="Cart", priority="medium", depends_on=[])
    assert same["version"] == 1
    with pytest.raises(errors.Invalid):
        await alice.update_backlog_item(item_id=item)


async def test_update_backlog_item_refuses_an_edit_of_an_older_version(team):
    alice, bob = await _alice_and_bob(team)
    (item,) = await _add_items(alice, "Cart")
    await alice.update_backlog_item(item_id=item, title="Basket", expected_version=1)
    with pytest.raises(errors.Conflict) as refused:
        await bob.update_backlog_item(item_id=item, title="Trolley", expected_version=1)
    assert refused.value.details == {"current": 2}
    assert (await _get_item(team, item))["title"] == "Basket"


async def test_update_backlog_item_by_two_at_once_loses_no_edit(team):
    alice = await team.agent("alice")
    (item,) = await _add_items(alice, "Cart")
    outcomes = await asyncio.gather(
        *(alice.update_backlog_item(item_id=item, title=f"Cart {n}", expected_version=1) for n in range(8)),
        return_exceptions=True,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["Conflict"] * 7 + ["dict"]
    assert len((await _get_item(team, item))["versions"]) == 1


async def test_update_backlog_item_refuses_an_unknown_item(team):
    alice = await team.agent("alice")
    with pytest.raises(errors.NotFound):
        await alice.update_backlog_item(item_id="backlog_000000000000", title="x")
    await _add_items(alice, "Cart")
    with pytest.raises(errors.NotFound):
        await alice.update_backlog_item(item_id="backlog", title="x")


async def test_update_backlog_item_refuses_a_cycle_and_names_it(team):
    alice = await team.agent("alice")
    a, b, c = await _add_items(alice, "a", "b", "c")
    await alice.update_backlog_item(item_id=a, depends_on=[b])
    await alice.update_backlog_item(item_id=b, depends_on=[c])
    with pytest.raises(errors.Conflict) as refused:
        await alice.update_backlog_item(item_id=c, depends_on=[a])
    assert refused.value.details == {"cycle": [c, a, b, c]}
    with pytest.raises(errors.Conflict) as itself:
        await alice.update_backlog_item(item_id=c, depends_on=[c])
    assert itself.value.details == {"cycle": [c, c]}
    await alice.update_backlog_item(item_id=a, depends_on=[])
    assert (await alice.update_backlog_item(item_id=c, depends_on=[a]))["depends_on"] == [a]


async def test_update_backlog_item_at_once_never_makes_a_cycle(team):
    alice = await team.agent("alice")
    for _ in range(5):
        items = await _add_items(alice, "a", "b", "c", "d")
        ring = list(zip(items, items[1:] + items[:1], strict=True))
        await asyncio.gather(
            *(alice.update_backlog_item(item_id=item, depends_on=[needs]) for item, needs in ring),
            return_exceptions=True,
        )
        documents = [await _get_item(team, item) for item in items]
        edges = [(item["id"], needs) for item in documents for needs in item["links"]["depends_on"]]
        assert len(edges) == 3
        assert _can_be_ordered(edges)


async def test_update_backlog_item_claim_makes_it_mine(team):
    alice, bob = await _alice_and_bob(team)
    (item,) = await _add_items(alice, "Cart")
    claimed = await bob.update_backlog_item(item_id=item, claim=True)
    assert (claimed["item_status"], claimed["assigned_to"]) == ("in_progress", "bob")
    assert (await bob.update_backlog_item(item_id=item, claim=True))["version"] == claimed["version"]
    with pytest.raises(errors.Conflict) as refused:
        await alice.update_backlog_item(item_id=item, claim=True)
    assert refused.value.details == {"owner": "bob", "item_status": "in_progress"}


async def test_update_backlog_item_claim_of_closed_or_assigned_work_is_refused(team):
    alice, bob = await _alice_and_bob(team)
    closed, hers = await _add_items(alice, "closed", "hers")
    await bob.complete_backlog_item(item_id=closed)
    await alice.update_backlog_item(item_id=hers, assigned_to="alice")
    for item, owner in ((closed, "bob"), (hers, "alice")):
        with pytest.raises(errors.Conflict) as refused:
            await bob.update_backlog_item(item_id=item, claim=True)
        assert refused.value.details["owner"] == owner


async def test_update_backlog_item_moves_with_id_and_history(team):
    alice = await team.agent("alice")
    item, other = await _add_items(alice, "Cart", "other", tags=["ui"])
    await alice.update_backlog_item(item_id=item, priority="high")
    moved = await alice.update_backlog_item(item_id=item, project="Web Shop", milestone="2.0")
    assert (moved["status"], moved["id"], moved["project"], moved["tags"]) == (
        "moved",
        item,
        "web_shop",
        ["ui"],
    )
    assert (await _get_item(team, item))["found"] is False
    versions = (await _get_item(team, item, "web_shop"))["versions"]
    assert [version["changes"] for version in versions] == [
        {"project": {"from": "shop", "to": "web_shop"}},
        {"milestone": {"from": "", "to": "2.0"}},
        {"priority": {"from": "medium", "to": "high"}},
    ]
    assert [item["id"] for item in (await alice.list_backlog())["items"]] == [other]
    assert await _list_events(team, "web_shop") == [("BacklogChanged", "backlog://web_shop", item)]
    assert (await alice.complete_backlog_item(item_id=item))["status"] == "done"


async def test_update_backlog_item_moves_nothing_that_others_wait_for(team):
    alice = await team.agent("alice")
    first, second = await _add_items(alice, "first", "second")
    await alice.update_backlog_item(item_id=second, depends_on=[first])
    for item, other in ((first, second), (second, first)):
        with pytest.raises(errors.Conflict) as refused:
            await alice.update_backlog_item(item_id=item, project="web")
        assert refused.value.details == {"linked": [other]}
    await alice.complete_backlog_item(item_id=first)
    assert (await alice.update_backlog_item(item_id=second, project="web"))["status"] == "moved"


async def test_update_backlog_item_refuses_to_move_into_or_out_of_a_foreign_project(team):
    owner = await team.agent("olga")
    (mine,) = await _add_items(owner, "mine")
    (theirs,) = await _add_items(owner, "theirs", project="web")
    caller = access.Caller("agent", frozenset({"shop"}), key="key_1")
    alice = await team.agent("alice", caller=caller)
    with pytest.raises(errors.Forbidden):
        await alice.update_backlog_item(item_id=mine, project="web")
    with pytest.raises(errors.NotFound):
        await alice.update_backlog_item(item_id=theirs, project="shop")
    with pytest.raises(errors.NotFound):
        await alice.complete_backlog_item(item_id=theirs)


async def test_complete_backlog_item_says_who_how_and_what_can_begin(team):
    alice, bob = await _alice_and_bob(team)
    carol = await team.agent("carol")
    first, other = await _add_items(alice, "first", "other")
    (bobs,) = await _add_items(alice, "bobs", depends_on=[first], assigned_to="bob")
    await _add_items(alice, "waits on", depends_on=[first, other])
    (free,) = await _add_items(carol, "free", depends_on=[first])
    done = await alice.complete_backlog_item(item_id=first, resolution="shipped")
    assert done == {
        "status": "done",
        "id": first,
        "title": "first",
        "completed_by": "alice",
        "unblocked": [bobs, free],
        "notified": ["bob", "carol"],
    }
    (closed,) = (await alice.list_backlog(status="done"))["items"]
    assert closed["resolution"] == "shipped"
    assert bobs in (await bob.list_backlog())["_notice"][0]
    assert free in (await carol.list_backlog())["_notice"][0]
    assert "_notice" not in await alice.list_backlog()


async def test_complete_backlog_item_again_is_refused_until_it_is_opened_again(team):
    alice, bob = await _alice_and_bob(team)
    (item,) = await _add_items(alice, "Cart")
    assert (await alice.complete_backlog_item(item_id=item, wont_do=True))["status"] == "wont_do"
    with pytest.raises(errors.Conflict) as refused:
        await bob.complete_backlog_item(item_id=item)
    assert refused.value.details == {"current": "wont_do"}
    opened = await bob.update_backlog_item(item_id=item, status="open")
    assert "completed_by" not in opened
    assert (await bob.complete_backlog_item(item_id=item, resolution="fixed"))["completed_by"] == "bob"


async def test_update_backlog_item_to_a_closed_status_unblocks_too(team):
    alice, bob = await _alice_and_bob(team)
    (first,) = await _add_items(alice, "first")
    (second,) = await _add_items(alice, "second", depends_on=[first], assigned_to="bob")
    closed = await alice.update_backlog_item(item_id=first, status="duplicate")
    assert (closed["status"], closed["completed_by"]) == ("updated", "alice")
    assert (await alice.get_by_id(doc_id=first))["status"] == "duplicate"
    assert second in (await bob.list_backlog())["_notice"][0]


async def test_batch_backlog_does_all(team):
    alice = await team.agent("alice")
    created = await alice.batch_backlog(
        action="create", items=[{"title": "a"}, {"title": "b", "project": "web"}]
    )
    assert (created["status"], created["count"]) == ("completed", 2)
    assert [item["project"] for item in created["items"]] == ["shop", "web"]
    a, b = (item["id"] for item in created["items"])
    updated = await alice.batch_backlog(
        action="update", items=[{"item_id": a, "priority": "high"}, {"item_id": b, "target_version": "1"}]
    )
    assert [item["version"] for item in updated["items"]] == [2, 2]
    completed = await alice.batch_backlog(
        action="complete", items=[{"item_id": a}, {"item_id": b, "wont_do": True}]
    )
    assert [item["status"] for item in completed["items"]] == ["done", "wont_do"]


async def test_batch_backlog_changes_nothing_on_any_error_and_lists_each(team):
    alice = await team.agent("alice")
    (item,) = await _add_items(alice, "Cart")
    with pytest.raises(errors.Invalid) as refused:
        await alice.batch_backlog(
            action="update",
            items=[
                {"item_id": item, "title": "Basket"},
                {"item_id": item, "colour": "red"},
                {"item_id": "backlog_000000000000", "title": "x"},
                {"item_id": item, "priority": "huge"},
                {"item_id": item, "title": "y", "expected_version": 7},
            ],
        )
    problems = refused.value.details["problems"]
    assert [(problem["index"], problem["error"]) for problem in problems] == [
        (1, "unknown_argument"),
        (2, "not_found"),
        (3, "invalid"),
        (4, "conflict"),
    ]
    assert (await _get_item(team, item))["title"] == "Cart"


async def test_batch_backlog_refuses_a_foreign_project_in_an_item(team):
    caller = access.Caller("agent", frozenset({"shop"}), key="key_1")
    alice = await team.agent("alice", caller=caller)
    with pytest.raises(errors.Invalid) as refused:
        await alice.batch_backlog(action="create", items=[{"title": "a"}, {"title": "b", "project": "web"}])
    assert [problem["error"] for problem in refused.value.details["problems"]] == ["forbidden"]
    assert (await alice.list_backlog())["total"] == 0


async def test_batch_backlog_refuses_no_items_and_more_than_a_hundred(team):
    alice = await team.agent("alice")
    for items in ([], [{"title": "x"}] * 101):
        with pytest.raises(errors.Invalid):
            await alice.batch_backlog(action="create", items=items)


async def test_add_backlog_item_refuses_a_readonly_key(team):
    caller = access.Caller("readonly", frozenset({"shop"}), key="key_1")
    reader = await team.agent("reader", caller=caller)
    with pytest.raises(errors.Forbidden):
        await reader.add_backlog_item(title="Cart")
    assert (await reader.list_backlog())["total"] == 0


async def test_start_session_shows_work_in_hand_then_what_is_free(team):
    alice = await team.agent("alice")
    (first,) = await _add_items(alice, "first", priority="critical")
    await _add_items(alice, "waits", depends_on=[first])
    (mine,) = await _add_items(alice, "mine", assigned_to="bob", priority="low")
    await _add_items(alice, "hers", assigned_to="alice")
    bob = await team.agent("bob")
    assert bob.started["backlog"] == [
        {
            "id": mine,
            "title": "mine",
            "priority": "low",
            "assigned_to": "bob",
            "created_by": "alice",
        },
        {"id": first, "title": "first", "priority": "critical", "created_by": "alice"},
    ]


async def test_start_session_shows_what_blocks_an_item_in_hand(team):
    alice = await team.agent("alice")
    (first,) = await _add_items(alice, "first", assigned_to="alice")
    await _add_items(alice, "second", depends_on=[first], assigned_to="bob")
    (second,) = (await team.agent("bob")).started["backlog"]
    assert (second["title"], second["blocked_by"]) == ("second", [first])


async def test_next_session_shows_open_items_that_the_agent_filed_and_others_have(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    assert "filed_by_you" not in alice.started
    theirs, waits, mine, closed = await _add_items(alice, "theirs", "waits", "mine", "closed")
    await _add_items(alice, "free")
    await alice.update_backlog_item(item_id=waits, depends_on=[theirs])
    await alice.update_backlog_item(item_id=mine, assigned_to="alice")
    await bob.update_backlog_item(item_id=theirs, claim=True)
    await bob.complete_backlog_item(item_id=closed)
    await alice.end_session(summary="Filed")
    started = (await team.agent("alice")).started
    filed = {item["title"]: item.get("assigned_to") for item in started["filed_by_you"]}
    assert filed == {"theirs": "bob", "waits": None}
    assert [item["title"] for item in started["backlog"]] == ["mine", "free"]
    await bob.end_session(summary="Left")
    titles = [item["title"] for item in (await team.agent("alice")).started["backlog"]]
    assert titles == ["mine", "theirs", "free"]


async def test_who_assigns_an_item_reads_whether_its_assignee_was_told(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    (first,) = await _add_items(alice, "first")
    added = await alice.add_backlog_item(title="Tax", assigned_to="bob", depends_on=[first])
    assert (added["notified"], "offline" in added) == (["bob"], False)
    assert (await bob.heartbeat())["_notice"] == [
        f"alice assigned {added['id']} to you: Tax (blocked by {first}; you are told when it is free)"
    ]
    away = await alice.update_backlog_item(item_id=added["id"], assigned_to="carol")
    assert (away["notified"], away["offline"]) == (["bob"], ["carol"])
    own = await alice.update_backlog_item(item_id=first, assigned_to="alice")
    assert not {"notified", "offline"} & own.keys()


async def test_an_update_that_closes_an_item_names_what_it_unblocked_and_who_was_told(team):
    alice = await team.agent("alice")
    await team.agent("bob")
    (first,) = await _add_items(alice, "first")
    (second,) = await _add_items(alice, "second", depends_on=[first], assigned_to="bob")
    closed = await alice.update_backlog_item(item_id=first, status="done")
    assert (closed["unblocked"], closed["notified"]) == ([second], ["bob"])


async def test_query_shows_what_blocks_an_item(team):
    alice = await team.agent("alice")
    (first,) = await _add_items(alice, "Schema of orders")
    await _add_items(alice, "Endpoint of coupons", depends_on=[first])
    (found,) = (await alice.query(query="endpoint of coupons", memory_types=["backlog"], limit=1))["results"]
    assert (found["title"], found["blocked_by"]) == ("Endpoint of coupons", [first])
    await alice.complete_backlog_item(item_id=first)
    (found,) = (await alice.query(query="endpoint of coupons", memory_types=["backlog"], limit=1))["results"]
    assert "blocked_by" not in found


async def test_who_filed_a_task_is_told_when_another_closes_it(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="Rates"))["id"]
    await bob.complete_backlog_item(item_id=item)
    assert (await alice.heartbeat())["_notice"] == [f"bob closed {item} (Rates) as done. You filed it."]


async def test_the_notice_of_a_closed_task_has_the_first_words_of_its_resolution(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="Rates"))["id"]
    await bob.complete_backlog_item(item_id=item, resolution="Merged; rates below zero\nare refused.")
    assert (await alice.heartbeat())["_notice"] == [
        f'bob closed {item} (Rates) as done: "Merged; rates below zero are refused.". You filed it.'
    ]


async def test_batch_backlog_does_not_blame_items_that_depend_on_an_invalid_one(team):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid) as refused:
        await alice.batch_backlog(
            action="create",
            items=[{"title": "Schema", "colour": "red"}, {"title": "Endpoint", "depends_on": ["#0"]}],
        )
    assert [problem["index"] for problem in refused.value.details["problems"]] == [0]


async def test_claim_of_a_blocked_task_says_how_to_be_told_when_it_is_free(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    (first,) = await _add_items(alice, "Schema")
    (own,) = await _add_items(alice, "Endpoint", depends_on=[first], assigned_to="bob")
    (free,) = await _add_items(alice, "Page", depends_on=[first])
    for item, told in ((own, "You are told when it is free."), (free, "assigned_to='bob'")):
        with pytest.raises(errors.Conflict) as refused:
            await bob.update_backlog_item(item_id=item, claim=True)
        assert told in refused.value.hint


async def test_batch_backlog_items_depend_on_earlier_items_of_the_batch(team):
    alice = await team.agent("alice")
    batch = await alice.batch_backlog(
        action="create", items=[{"title": "Schema"}, {"title": "Endpoint", "depends_on": ["#0"]}]
    )
    schema, endpoint = batch["items"]
    assert [schema["ref"], endpoint["ref"]] == ["#0", "#1"]
    assert endpoint["blocked_by"] == [schema["id"]]


async def test_batch_backlog_refuses_a_reference_to_a_later_item(team):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid) as refused:
        await alice.batch_backlog(
            action="create", items=[{"title": "Endpoint", "depends_on": ["#1"]}, {"title": "Schema"}]
        )
    assert [problem["index"] for problem in refused.value.to_dict()["problems"]] == [0]
    assert (await alice.list_backlog())["total"] == 0


async def test_a_reason_to_defer_defers_the_item(team):
    alice = await team.agent("alice")
    item = await alice.add_backlog_item(title="Rates", deferred_reason="next year")
    other = await alice.add_backlog_item(title="Taxes")
    await alice.update_backlog_item(item_id=other["id"], deferred_reason="next year")
    listed = await alice.list_backlog(status="deferred")
    assert {row["id"] for row in listed["items"]} == {item["id"], other["id"]}


async def test_list_backlog_counts_the_closed_items_that_it_leaves_out(team):
    alice = await team.agent("alice")
    first, second, third, _fourth = await _add_items(alice, "One", "Two", "Three", "Four")
    assert "done" not in await alice.list_backlog()
    await alice.complete_backlog_item(item_id=first)
    await alice.update_backlog_item(item_id=second, claim=True)
    await alice.complete_backlog_item(item_id=second)
    await alice.complete_backlog_item(item_id=third, wont_do=True)
    listing = await alice.list_backlog()
    assert (_list_titles(listing), listing["total"], listing["done"], listing["wont_do"]) == (
        ["Four"],
        1,
        2,
        1,
    )
    own = await alice.list_backlog(assigned_to="alice")
    assert (own["total"], own["done"], own.get("wont_do", 0)) == (0, 1, 0)
    for shown in ({"include_done": True}, {"ready": True}, {"status": "open"}):
        assert "done" not in await alice.list_backlog(**shown)


async def test_who_filed_an_item_is_told_when_somebody_starts_it(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="Rates"))["id"]
    await bob.update_backlog_item(item_id=item, claim=True)
    assert (await alice.heartbeat())["_notice"] == [f"bob started {item} (Rates), which you filed."]


async def test_a_start_costs_the_same_with_a_long_backlog(team):
    """The statements of the boot sections read by index: their plans sort and scan nothing that grows."""
    alice = await team.agent("alice")
    await alice.add_backlog_item(title="Cart", assigned_to="bob")

    async def add_many(tx, start: int, end: int) -> None:
        await tx.many(
            "insert into backlog (project, id, n, title, description, priority, rank, status, closed, assigned_to, tags,"
            " milestone, deferred_reason, resolution, completed_by, completed_at, created_by, created_at, updated_at,"
            " version) values ($1, $2, $3, 'Task', '', 'medium', 2, 'open', 0, '', '[]', '', '', '', '', null, 'carol',"
            " $3, $3, 1)",
            [("shop", f"backlog_{number:012x}", number) for number in range(start, end)],
        )

    async def measure() -> float:
        if team.database.kind == "postgresql":  # as its background workers do soon
            await team.database.write(lambda tx: tx.run("analyze backlog"))
        best = 1.0
        for _ in range(5):
            began = time.perf_counter()
            await team.database.read(
                lambda tx: store.list_own_and_ready_items(tx, "shop", "bob", 100, team.clock())
            )
            best = min(best, time.perf_counter() - began)
        return best

    await team.database.write(lambda tx: add_many(tx, 1_000, 2_000))
    before = await measure()
    await team.database.write(lambda tx: add_many(tx, 2_000, 11_000))
    assert await measure() < 2 * before + 0.002
