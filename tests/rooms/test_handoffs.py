"""A handoff belongs to the work: it is shown until somebody takes it, whatever happens in between."""

from dataclasses import replace

import pytest

from commonplace import access, errors
from team import Agent, Team


async def agent_in(team: Team, name: str, directory: str = "", branch: str = "", **more: str) -> Agent:
    caller = replace(access.LOCAL, branch=branch)
    given = more | ({"working_directory": directory} if directory else {})
    return await team.agent(name, caller=caller, **given)


def shown_id(agent: Agent) -> str:
    return agent.started.get("handoff", {}).get("id", "")


async def hand_over(team: Team, agent: Agent, **more: object) -> str:
    ended = await agent.end_session(**{"summary": "Totals", "handoff_notes": "Next: tax"} | more)
    team.clock.advance(minutes=1)
    return ended["handoff_id"]


async def test_trivial_session_does_not_hide_an_unfinished_handoff(team: Team):
    left = await hand_over(team, await team.agent("alice"))
    await (await team.agent("alice")).end_session(summary="looked around")
    team.clock.advance(minutes=1)
    again = await team.agent("alice")
    assert shown_id(again) == left
    assert again.started["handoff"]["notes"] == "Totals\n\nNext: tax"
    assert again.started["handoff"]["from"] == "alice"


async def test_unfinished_handoff_goes_to_who_works_in_the_same_directory_and_branch(team: Team):
    left = await hand_over(team, await agent_in(team, "alice", "/shop", "tax"))
    fitting = await agent_in(team, "bob", "/shop", "tax")
    other_branch = await agent_in(team, "carol", "/shop", "main")
    other_directory = await agent_in(team, "dave", "/bank", "tax")
    assert [shown_id(agent) for agent in (fitting, other_branch, other_directory)] == [left, "", ""]


async def test_unfinished_handoff_goes_to_who_has_the_same_task(team: Team):
    left = await hand_over(team, await agent_in(team, "alice", "/shop", task_description="Cart totals"))
    assert shown_id(await agent_in(team, "bob", "/elsewhere", task_description="cart totals ")) == left


async def test_handoff_of_an_agent_that_works_again_is_shown_to_it_alone(team: Team):
    left = await hand_over(team, await agent_in(team, "alice", "/shop"))
    alice = await agent_in(team, "alice", "/shop")
    bob = await agent_in(team, "bob", "/shop")
    assert (shown_id(alice), shown_id(bob)) == (left, "")


async def test_taken_handoff_is_not_shown_again(team: Team):
    left = await hand_over(team, await agent_in(team, "alice", "/shop"))
    bob = await agent_in(team, "bob", "/shop")
    ended = await bob.end_session(summary="Tax is done", takes_handoff=[left])
    again = await agent_in(team, "carol", "/shop")
    assert (ended["taken_handoffs"], shown_id(again)) == ([left], "")


async def test_new_handoff_of_the_same_work_replaces_the_old_one(team: Team):
    await hand_over(team, await agent_in(team, "alice", "/shop"))
    newer = await hand_over(team, await agent_in(team, "alice", "/shop"), handoff_notes="Next: shipping")
    await (await agent_in(team, "alice", "/shop")).end_session(summary="x", takes_handoff=[newer])
    team.clock.advance(minutes=1)
    shown = (await agent_in(team, "alice", "/shop")).started["handoff"]
    assert "unfinished" not in shown


async def test_archived_handoff_is_closed(team: Team):
    left = await hand_over(team, await agent_in(team, "alice", "/shop"))
    bob = await agent_in(team, "bob", "/elsewhere")
    await bob.change_status(doc_id=left, new_status="archived")
    assert shown_id(await agent_in(team, "carol", "/shop")) == ""


async def test_unknown_handoff_cannot_be_taken(team: Team):
    alice = await team.agent("alice")
    with pytest.raises(errors.NotFound) as refused:
        await alice.end_session(summary="x", takes_handoff=["doc_00000000000"])
    assert "there is no handoff 'doc_00000000000' in shop. The session goes on." in refused.value.message
    assert (await alice.end_session(summary="x"))["status"] == "ended"


async def test_handoff_that_leaves_nothing_open_can_be_taken(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    left = (await alice.end_session(summary="Nothing open"))["handoff_id"]
    note = (await bob.store(title="Cart", content="Totals are cents.", memory_type="pattern"))["id"]
    with pytest.raises(errors.NotFound):
        await bob.end_session(summary="x", takes_handoff=[note])
    assert (await bob.end_session(summary="x", takes_handoff=[left]))["taken_handoffs"] == [left]


async def test_end_without_a_word_does_not_hide_what_the_agent_wrote_before(team: Team):
    left = await hand_over(team, await agent_in(team, "alice", "/shop"))
    later = await agent_in(team, "alice", "/shop")
    await later.end_session(summary="", files_modified=["tax.py"])
    team.clock.advance(minutes=1)
    assert shown_id(await agent_in(team, "alice", "/shop")) == left


async def test_boot_pack_lists_the_last_handoff_of_each_other_agent(team: Team):
    await hand_over(team, await team.agent("alice"))
    of_bob = await hand_over(team, await team.agent("bob"))
    last_of_alice = await hand_over(team, await team.agent("alice"), summary="Taxes")
    carol = await team.agent("carol")
    assert [other["id"] for other in carol.started["handoff"]["others"]] == [last_of_alice, of_bob]


@pytest.mark.parametrize(
    ("notes", "is_unfinished"),
    [
        ("Nothing is open: both claims are closed.", False),
        ("None", False),
        ("All done.", False),
        ("Nothing works on Windows yet", True),
        ("Nothing is open in the cart. " + "Tax is half done, see src/tax.py. " * 10, True),
        ("Next: tax", True),
    ],
)
async def test_notes_that_nothing_is_open_leave_no_unfinished_handoff(team, notes, is_unfinished):
    alice = await team.agent("alice")
    await alice.end_session(summary="Cart totals", handoff_notes=notes)
    assert ("unfinished" in (await team.agent("alice")).started["handoff"]) is is_unfinished


async def test_the_unfinished_handoff_of_another_agent_is_named_before_its_last_one(team):
    for summary, notes in (("Cart totals", "Next: tax"), ("Only read documents", None)):
        alice = await team.agent("alice")
        await alice.end_session(summary=summary, **({"handoff_notes": notes} if notes else {}))
        team.clock.advance(minutes=1)
    others = (await team.agent("bob")).started["handoff"]["others"]
    assert [(entry["title"], entry["resumed"], "unfinished" in entry) for entry in others] == [
        ("Cart totals", True, False)
    ]


async def test_handoff_of_another_agent_is_unfinished_until_its_agent_starts_again(team):
    await (await team.agent("alice")).end_session(summary="Cart totals", handoff_notes="Next: tax")
    team.clock.advance(minutes=1)
    (left,) = (await team.agent("bob")).started["handoff"]["others"]
    again = await team.agent("alice")
    (resumed,) = (await team.agent("carol")).started["handoff"]["others"]
    assert (left["unfinished"], "resumed" in left) == (True, False)
    assert ("unfinished" in resumed, resumed["resumed"]) == (False, True)
    assert again.started["handoff"]["unfinished"]


async def test_a_handoff_of_another_agent_that_has_no_notes_says_so(team):
    await (await team.agent("alice")).end_session(summary="Planned the sprint")
    await (await team.agent("carol")).end_session(summary="Cart totals", handoff_notes="Next: tax")
    others = (await team.agent("bob")).started["handoff"]["others"]
    assert {entry["agent"]: entry.get("notes") for entry in others} == {"alice": "none", "carol": None}


async def file_item(agent: Agent, title: str = "Remove a voucher") -> str:
    return (await agent.add_backlog_item(title=title))["id"]


async def test_handoff_whose_named_items_are_closed_is_finished(team: Team):
    alice = await team.agent("alice")
    done, first, second = [await file_item(alice, title) for title in ("Vouchers", "Removal", "Contract")]
    await alice.complete_backlog_item(item_id=done)
    team.clock.advance(minutes=1)
    left = await hand_over(team, alice, handoff_notes=f"{done} is done. Open: {first} and {second}")
    later = await team.agent("alice")
    await later.complete_backlog_item(item_id=first)
    halfway = await team.agent("carol")
    await later.complete_backlog_item(item_id=second)
    ended = await later.end_session(summary="Both are done")
    team.clock.advance(minutes=1)
    again = (await team.agent("alice")).started["handoff"]
    assert halfway.started["handoff"]["others"][0]["id"] == left
    assert halfway.started["handoff"]["others"][0]["resumed"]
    assert "open_handoffs" not in ended
    assert (again["id"], again["notes"], "unfinished" in again) == (
        ended["handoff_id"],
        "Both are done",
        False,
    )


async def test_handoff_is_unfinished_again_when_its_item_is_opened_again(team: Team):
    alice = await team.agent("alice")
    item = await file_item(alice)
    left = await hand_over(team, alice, handoff_notes=f"Open: {item}")
    bob = await team.agent("bob")
    await bob.complete_backlog_item(item_id=item)
    closed = (await team.agent("alice")).started["handoff"]
    await bob.update_backlog_item(item_id=item, status="open")
    opened = (await team.agent("alice")).started["handoff"]
    assert (closed["id"], "unfinished" in closed) == (left, False)
    assert (opened["id"], opened["unfinished"]) == (left, True)


async def test_handoff_of_a_returned_claim_is_finished_with_its_item(team: Team):
    alice = await team.agent("alice")
    item = await file_item(alice)
    await alice.update_backlog_item(item_id=item, claim=True)
    await hand_over(team, alice)
    bob = await team.agent("bob")
    await bob.complete_backlog_item(item_id=item)
    assert "unfinished" not in (await team.agent("alice")).started["handoff"]


async def test_handoff_whose_items_were_closed_before_it_stays_unfinished(team: Team):
    alice = await team.agent("alice")
    item = await file_item(alice)
    await alice.update_backlog_item(item_id=item, claim=True)
    await alice.complete_backlog_item(item_id=item)
    team.clock.advance(minutes=1)
    await hand_over(team, alice, handoff_notes=f"{item} is done; next: tax")
    assert (await team.agent("alice")).started["handoff"]["unfinished"]


async def test_end_names_the_handoff_that_stays_open_and_how_to_close_it(team: Team):
    left = await hand_over(team, await team.agent("alice"))
    again = await team.agent("alice")
    ended = await again.end_session(summary="Tax is done")
    call = f"memory_end_session(takes_handoff=['{left}'])"
    assert again.started["handoff"]["close_with"] == call
    assert ended["open_handoffs"] == [
        {"id": left, "title": "Totals", "close_with": f"{call} of your next session"}
    ]


async def test_end_names_no_handoff_that_it_closed_or_was_not_shown(team: Team):
    first = await agent_in(team, "alice", "/shop")
    parallel = await agent_in(team, "alice", "/bank")
    team.clock.advance(minutes=1)
    left = await hand_over(team, first)
    replaced = await (await agent_in(team, "alice", "/shop")).end_session(
        summary="x", handoff_notes="Next: y"
    )
    team.clock.advance(minutes=1)
    taken = await (await agent_in(team, "alice", "/shop")).end_session(
        summary="x", takes_handoff=[replaced["handoff_id"]]
    )
    unaware = await parallel.end_session(summary="x")
    assert left != replaced["handoff_id"]
    assert not any("open_handoffs" in ended for ended in (replaced, taken, unaware))


async def test_older_handoff_is_shown_with_what_its_agent_left_since(team: Team):
    left = await hand_over(team, await team.agent("alice"))
    first = (await team.agent("alice")).started["handoff"]
    newer = await hand_over(team, await team.agent("alice"), summary="Tax is done", handoff_notes="")
    shown = (await team.agent("alice")).started["handoff"]
    assert "since_then" not in first
    assert (shown["id"], shown["since_then"]) == (left, f"Tax is done ({newer}, 1min)")


async def test_standup_leaves_out_a_handoff_whose_items_are_closed(team: Team):
    alice = await team.agent("alice")
    item = await file_item(alice)
    await hand_over(team, alice, handoff_notes=f"Open: {item}")
    await hand_over(team, await team.agent("carol"), summary="Invoices")
    bob = await team.agent("bob")
    await bob.complete_backlog_item(item_id=item)
    standup = await bob.get_standup()
    assert [each["title"] for each in standup["open"] if each["kind"] == "handoff"] == ["Invoices"]
