"""Claims of backlog items: leases of a session, which lapse with it and make the item ready again."""

import pytest

from commonplace import errors
from commonplace.clock import iso
from commonplace.rooms.backlog.model import CLAIM_LIFETIME
from team import Agent, Team


async def _claim_item(team: Team, claimer: Agent, **fields) -> str:
    lead = await team.agent("lead")
    item = (await lead.add_backlog_item(title="Cart", **fields))["id"]
    await claimer.update_backlog_item(item_id=item, claim=True)
    return item


async def _list_ready(agent: Agent) -> list[tuple[str, str]]:
    items = (await agent.list_backlog(ready=True)).get("items", [])
    return [(item["id"], item.get("was_claimed_by", "")) for item in items]


async def test_a_claim_shows_until_when_it_holds(team: Team):
    bob = await team.agent("bob")
    await _claim_item(team, bob)
    (listed,) = (await bob.list_backlog())["items"]
    assert (listed["status"], listed["assigned_to"]) == ("in_progress", "bob")
    assert listed["claimed_until"] == iso(team.clock.now + CLAIM_LIFETIME)
    assert "was_claimed_by" not in listed


async def test_an_item_is_ready_again_when_the_session_of_its_claim_ends(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    ended = await bob.end_session(summary="enough")
    assert ended["returned_to_backlog"] == [{"id": item, "title": "Cart"}]
    assert await _list_ready(carol) == [(item, "bob")]
    (listed,) = (await carol.list_backlog())["items"]
    assert (listed["status"], listed["was_claimed_until"]) == ("open", iso(team.clock.now))
    claimed = await carol.update_backlog_item(item_id=item, claim=True)
    assert (claimed["item_status"], claimed["assigned_to"]) == ("in_progress", "carol")
    assert "was_claimed_by" not in claimed


async def test_a_claim_lapses_when_its_session_is_silent_and_its_holder_is_told_who_took_it(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    team.clock.now += CLAIM_LIFETIME - 1
    assert await _list_ready(carol) == []
    team.clock.now += 1
    assert await _list_ready(carol) == [(item, "bob")]
    assert (await carol.list_backlog(status="in_progress"))["total"] == 0
    assert (await carol.list_backlog(status="open"))["total"] == 1
    assert (await carol.list_backlog(assigned_to="bob"))["total"] == 0
    assert (await carol.list_backlog(assigned_to=""))["total"] == 1
    await carol.update_backlog_item(item_id=item, claim=True)
    (notice,) = (await bob.heartbeat())["_notice"]
    assert item in notice
    assert "carol" in notice
    with pytest.raises(errors.Conflict):
        await bob.update_backlog_item(item_id=item, claim=True)


async def test_every_call_of_the_session_renews_its_claims(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    elsewhere = (await bob.add_backlog_item(title="Ledger", project="bank"))["id"]
    await bob.update_backlog_item(item_id=elsewhere, claim=True)
    team.clock.now += CLAIM_LIFETIME - 1
    await bob.heartbeat()
    team.clock.now += CLAIM_LIFETIME - 1
    with pytest.raises(errors.Conflict):
        await carol.update_backlog_item(item_id=item, claim=True)
    with pytest.raises(errors.Conflict):
        await carol.update_backlog_item(item_id=elsewhere, claim=True)


async def test_a_holder_that_returns_keeps_a_claim_that_nobody_took(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    team.clock.now += 2 * CLAIM_LIFETIME
    await bob.update_backlog_item(item_id=item, priority="high")
    assert await _list_ready(carol) == []
    assert (await bob.complete_backlog_item(item_id=item))["completed_by"] == "bob"


async def test_an_assignment_stays_when_the_claim_lapses(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob, assigned_to="bob")
    await bob.end_session(summary="enough")
    assert await _list_ready(carol) == []
    returned = await team.agent("bob")
    assert await _list_ready(returned) == [(item, "bob")]


async def test_the_next_boot_pack_names_what_the_agent_had_claimed(team: Team):
    bob = await team.agent("bob")
    item = await _claim_item(team, bob)
    lead = await team.agent("lead")
    for number in range(6):
        await lead.add_backlog_item(title=f"Urgent {number}", priority="critical")
    await bob.end_session(summary="enough")
    first = (await team.agent("bob")).started["backlog"][0]
    assert (first["id"], first["was_claimed_by"]) == (item, "bob")


async def test_another_session_of_the_same_agent_takes_the_claim_over(team: Team):
    bob = await team.agent("bob")
    item = await _claim_item(team, bob)
    second = await team.agent("bob")
    await second.update_backlog_item(item_id=item, claim=True)
    assert "returned_to_backlog" not in await bob.end_session(summary="enough")
    assert await _list_ready(second) == []
    assert (await second.end_session(summary="enough"))["returned_to_backlog"] == [
        {"id": item, "title": "Cart"}
    ]


async def test_a_completed_item_is_not_an_open_claim(team: Team):
    bob = await team.agent("bob")
    item = await _claim_item(team, bob)
    await bob.complete_backlog_item(item_id=item)
    assert "returned_to_backlog" not in await bob.end_session(summary="enough")
    assert (await (await team.agent("carol")).get_by_id(doc_id=item))["status"] == "done"


async def test_unassigning_a_claimed_item_makes_it_ready(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    freed = await bob.update_backlog_item(item_id=item, assigned_to="")
    assert freed["item_status"] == "open"
    assert "claimed_until" not in freed
    assert await _list_ready(carol) == [(item, "")]


async def test_a_blocked_item_is_claimed_only_with_force(team: Team):
    bob = await team.agent("bob")
    first = (await bob.add_backlog_item(title="first"))["id"]
    second = (await bob.add_backlog_item(title="second", depends_on=[first]))["id"]
    with pytest.raises(errors.Conflict) as refused:
        await bob.update_backlog_item(item_id=second, claim=True)
    assert refused.value.details == {"blocked_by": [first]}
    forced = await bob.update_backlog_item(item_id=second, claim=True, force=True)
    assert forced["item_status"] == "in_progress"


async def test_who_had_a_blocked_item_is_shown_it_at_the_next_start_and_goes_on_without_force(team: Team):
    bob = await team.agent("bob")
    first = (await bob.add_backlog_item(title="first", assigned_to="carol"))["id"]
    second = (await bob.add_backlog_item(title="second"))["id"]
    await bob.update_backlog_item(item_id=second, claim=True, depends_on=[first])
    await bob.end_session(summary="half", handoff_notes="The rest waits.")
    bob = await team.agent("bob")
    [own] = [item for item in bob.started["backlog"] if item["id"] == second]
    assert (own["was_claimed_by"], own["blocked_by"]) == ("bob", [first])
    claimed = await bob.update_backlog_item(item_id=second, claim=True)
    assert claimed["item_status"] == "in_progress"


async def test_setting_an_item_in_progress_for_oneself_is_a_claim(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = (await bob.add_backlog_item(title="Cart"))["id"]
    await bob.update_backlog_item(item_id=item, status="in_progress", assigned_to="bob")
    await bob.end_session(summary="enough")
    assert await _list_ready(carol) == [(item, "bob")]


async def test_a_claim_moves_with_its_item(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    await carol.update_backlog_item(item_id=item, project="web")
    team.clock.now += CLAIM_LIFETIME - 1
    await bob.heartbeat()
    team.clock.now += CLAIM_LIFETIME - 1
    (moved,) = (await carol.list_backlog(project="web"))["items"]
    assert moved["assigned_to"] == "bob"
    assert (await bob.end_session(summary="enough"))["returned_to_backlog"] == [{"id": item, "title": "Cart"}]


async def test_the_assignee_is_told_once_with_the_id(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    added = (await alice.add_backlog_item(title="Cart", assigned_to="bob"))["id"]
    assert (await bob.list_backlog())["_notice"] == [f"alice assigned {added} to you: Cart"]
    free = (await alice.add_backlog_item(title="Tax"))["id"]
    await alice.update_backlog_item(item_id=free, assigned_to="bob")
    await alice.update_backlog_item(item_id=free, priority="high", assigned_to="bob")
    assert sorted((await bob.list_backlog())["_notice"]) == [
        f"alice assigned {free} to you: Tax",
        f"alice changed {free} (Tax), which is yours: priority medium -> high",
    ]
    assert "_notice" not in await bob.list_backlog()
    await bob.add_backlog_item(title="Mine", assigned_to="bob")
    assert "_notice" not in await bob.list_backlog()


async def _list_work(agent: Agent) -> dict[tuple[str, str], str]:
    items = (await agent.get_active_work())["recent_work_items"]
    return {(item["agent"], item["title"]): item["status"] for item in items}


async def test_a_claim_is_work_of_its_agent_and_completing_the_item_completes_the_work(team: Team):
    bob = await team.agent("bob")
    item = await _claim_item(team, bob)
    carol = await team.agent("carol")
    active = (await carol.get_active_work())["currently_active"]
    assert [entry["working_on"] for entry in active if entry["agent"] == "bob"] == [["Cart"]]
    await bob.update_work(title=f"{item} totals", status="in_progress", files_touched=["cart.py"])
    await carol.add_backlog_item(title="something else")
    await bob.update_work(title="something else", status="in_progress")
    await bob.complete_backlog_item(item_id=item)
    assert await _list_work(carol) == {
        ("bob", "Cart"): "done",
        ("bob", "something else"): "in_progress",
    }


async def test_completing_an_item_closes_work_of_the_same_title_that_began_without_a_claim(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = (await bob.add_backlog_item(title="Cart"))["id"]
    await bob.update_work(title="cart", status="in_progress")
    await carol.update_work(title="Cart", status="in_progress")
    await bob.complete_backlog_item(item_id=item)
    assert await _list_work(carol) == {("bob", "cart"): "done", ("carol", "Cart"): "in_progress"}


async def test_claim_continues_the_work_that_was_reported_before_it(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = (await carol.add_backlog_item(title="Cart uses prices"))["id"]
    other = (await carol.add_backlog_item(title="Invoices"))["id"]
    title = f"{item}: prices"
    reported = await bob.update_work(title=title, status="blocked", blocked_by="carol", notes="half done")
    claimed = await bob.update_backlog_item(item_id=item, claim=True)
    assert (claimed["work_id"], claimed["work_title"]) == (reported["id"], title)
    assert await _list_work(carol) == {("bob", title): "in_progress"}
    board = await carol.get_active_work()
    assert (board["blocked_agents"], board["recent_work_items"][0]["notes"]) == ([], "half done")
    await bob.update_backlog_item(item_id=other, claim=True)
    assert len(await _list_work(carol)) == 2


async def test_claim_leaves_other_work_of_the_session_alone(team: Team):
    bob = await team.agent("bob")
    item = (await bob.add_backlog_item(title="Voucher endpoint"))["id"]
    reported = await bob.update_work(title="Voucher mails in three languages", status="in_progress")
    claimed = await bob.update_backlog_item(item_id=item, claim=True)
    assert claimed["work_id"] != reported["id"]
    assert await _list_work(bob) == {
        ("bob", "Voucher mails in three languages"): "in_progress",
        ("bob", "Voucher endpoint"): "in_progress",
    }
    completed = await bob.complete_backlog_item(item_id=item)
    assert completed["open_work"] == ["Voucher mails in three languages"]


@pytest.mark.parametrize("title", ["Review vouchers", "{item}: security"])
async def test_claim_continues_work_on_the_same_subject_under_its_own_title(team: Team, title: str):
    bob = await team.agent("bob")
    item = (await bob.add_backlog_item(title="Review vouchers"))["id"]
    title = title.format(item=item)
    reported = await bob.update_work(title=title, status="in_progress")
    claimed = await bob.update_backlog_item(item_id=item, claim=True)
    assert (claimed["work_id"], claimed.get("work_title", "Review vouchers")) == (reported["id"], title)
    await bob.complete_backlog_item(item_id=item)
    assert await _list_work(bob) == {("bob", title): "done"}


async def test_report_of_completed_work_says_that_its_item_is_still_open(team: Team):
    bob = await team.agent("bob")
    item = await _claim_item(team, bob)
    report = await bob.update_work(title="Cart", status="completed")
    assert report["message"] == (
        f"{item} is still in progress and yours: memory_complete_backlog_item(item_id='{item}') closes it."
    )
    await bob.complete_backlog_item(item_id=item)
    assert "message" not in await bob.update_work(title="Cart", status="completed")


async def test_work_of_a_claim_is_abandoned_if_it_is_taken_and_handed_over_if_its_session_ends(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    await carol.update_backlog_item(item_id=item, assigned_to="carol")
    assert await _list_work(carol) == {("bob", "Cart"): "abandoned", ("carol", "Cart"): "in_progress"}
    assert (await bob.list_backlog())["_notice"] == [f"carol took {item} from you: Cart"]
    await carol.end_session(summary="enough")
    assert (await _list_work(bob))["carol", "Cart"] == "handed over"


async def test_work_is_completed_if_its_agent_does_the_item_after_all(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    await bob.update_backlog_item(item_id=item, status="open")
    assert await _list_work(carol) == {("bob", "Cart"): "abandoned"}
    await bob.complete_backlog_item(item_id=item)
    await bob.end_session(summary="done")
    assert await _list_work(carol) == {("bob", "Cart"): "done"}


async def test_work_of_an_item_that_its_agent_gives_to_another_is_handed_over(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    await bob.update_backlog_item(item_id=item, status="retest", assigned_to="carol")
    assert await _list_work(carol) == {("bob", "Cart"): "handed over"}


async def test_work_on_an_item_that_is_done_is_completed_at_the_end_of_its_session(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    await bob.complete_backlog_item(item_id=item)
    await bob.update_work(title="cart", status="in_progress", notes="merged")
    await bob.end_session(summary="done")
    assert await _list_work(carol) == {("bob", "Cart"): "done"}


async def test_who_claims_a_task_reads_its_description(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="Rates", description="In src/tax/rates.py."))["id"]
    assert (await bob.update_backlog_item(item_id=item, claim=True))["description"] == "In src/tax/rates.py."
    assert "description" not in await bob.update_backlog_item(item_id=item, priority="low")


async def test_claim_of_a_blocked_item_names_what_blocks_it_and_how_to_be_told(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    first = (await alice.add_backlog_item(title="Prices", assigned_to="alice"))["id"]
    second = (await alice.add_backlog_item(title="Cart", depends_on=[first]))["id"]
    with pytest.raises(errors.Conflict) as refusal:
        await bob.update_backlog_item(item_id=second, claim=True)
    assert f"{first} 'Prices' (open, alice)" in refusal.value.message
    await bob.update_work(title="Cart", status="blocked", blocked_by=first)
    await alice.complete_backlog_item(item_id=first)
    assert any("no longer waits" in notice for notice in (await bob.heartbeat())["_notice"])


async def test_complete_says_which_files_are_still_locked(team):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="Cart"))["id"]
    await alice.lock_files(files=["src/cart.py"])
    assert (await alice.complete_backlog_item(item_id=item))["still_locked"] == ["src/cart.py"]


async def test_blocked_item_makes_its_work_blocked_and_goes_on_with_it(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    reply = await bob.update_backlog_item(item_id=item, status="blocked", deferred_reason="waits for a key")
    assert (reply["item_status"], "message" in reply) == ("blocked", False)
    seen = await carol.get_active_work()
    [blocked] = seen["blocked_agents"]
    assert (blocked["agent"], blocked["title"], blocked["reason"]) == ("bob", "Cart", "waits for a key")
    assert [work["status"] for work in seen["recent_work_items"]] == ["blocked"]
    again = await bob.update_backlog_item(item_id=item, status="in_progress")
    assert "deferred_reason" not in again
    seen = await carol.get_active_work()
    assert seen["blocked_agents"] == []
    assert [work["status"] for work in seen["recent_work_items"]] == ["in_progress"]


async def _block_on(team: Team, claimer: Agent, **fields) -> tuple[str, str]:
    """Let the agent claim an item and set it to blocked by another; return the ids of both."""
    need = (await (await team.agent("lead")).add_backlog_item(title="Price list", assigned_to="carol"))["id"]
    item = await _claim_item(team, claimer)
    await claimer.update_backlog_item(item_id=item, status="blocked", depends_on=[need], **fields)
    return item, need


@pytest.mark.parametrize("reason", [None, "{need} is not done"])
async def test_blocked_item_goes_on_with_its_claim_when_its_last_dependency_is_closed(team: Team, reason):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item, need = await _block_on(team, bob)
    if reason is not None:
        await bob.update_backlog_item(
            item_id=item, status="blocked", deferred_reason=reason.format(need=need)
        )
    assert (await carol.get_active_work())["blocked_agents"][0]["waiting_for"] == need
    closed = await carol.complete_backlog_item(item_id=need)
    assert (closed["unblocked"], closed["notified"]) == ([item], ["bob", "lead"])
    listing = await bob.list_backlog()
    (listed,) = listing["items"]
    assert (listed["status"], listed["assigned_to"], "claimed_until" in listed) == (
        "in_progress",
        "bob",
        True,
    )
    assert "deferred_reason" not in listed
    assert listing["_notice"][-1].endswith(f"Unblocked: {item} (Cart).")
    assert (await carol.get_active_work())["blocked_agents"] == []
    await bob.end_session(summary="enough")
    assert await _list_ready(carol) == []
    assert (await carol.list_backlog())["items"][0]["status"] == "open"


async def test_blocked_item_of_an_agent_without_a_session_is_open_when_its_last_dependency_is_closed(
    team: Team,
):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item, need = await _block_on(team, bob)
    other = (await carol.add_backlog_item(title="Labels"))["id"]
    await bob.update_backlog_item(item_id=item, depends_on=[need, other])
    await bob.end_session(summary="waits")
    assert "unblocked" not in await carol.complete_backlog_item(item_id=need)
    assert (await carol.complete_backlog_item(item_id=other))["unblocked"] == [item]
    (listed,) = (await carol.list_backlog())["items"]
    assert (listed["status"], listed["assigned_to"]) == ("open", "bob")


@pytest.mark.parametrize("waits_for", ["reason", "agent", "signal"])
async def test_item_that_is_blocked_for_another_reason_stays_blocked_and_its_owner_is_told(
    team: Team, waits_for
):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    reason = "legal has to approve" if waits_for == "reason" else ""
    item, need = await _block_on(team, bob, deferred_reason=reason)
    if waits_for == "agent":
        await bob.update_work(title="Cart", status="blocked", blocked_by="dave")
    elif waits_for == "signal":
        await bob.update_work(title="Cart", status="blocked", waiting_for_signal="rates_ready")
    await bob.list_backlog()
    assert "unblocked" not in await carol.complete_backlog_item(item_id=need)
    listing = await bob.list_backlog()
    assert [each["status"] for each in listing["items"]] == ["blocked"]
    shown = " (legal has to approve)" if reason else ""
    assert listing["_notice"][-1].endswith(
        f"{item} (Cart) has no open dependency left but stays blocked for another reason{shown}:"
        " claim it, or set status='open', when that is over."
    )


async def test_item_that_was_blocked_without_open_dependencies_stays_blocked(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    item = await _claim_item(team, bob)
    other = (await carol.add_backlog_item(title="Labels"))["id"]
    await bob.update_backlog_item(item_id=item, status="blocked")
    await carol.complete_backlog_item(item_id=other)
    assert [each["status"] for each in (await bob.list_backlog())["items"]] == ["blocked"]


async def test_blocked_item_without_a_reason_is_asked_for_one(team: Team):
    bob = await team.agent("bob")
    item = await _claim_item(team, bob)
    assert "deferred_reason" in (await bob.update_backlog_item(item_id=item, status="blocked"))["message"]


async def test_blocked_item_shows_its_reason_at_the_next_start(team: Team):
    bob = await team.agent("bob")
    item = await _claim_item(team, bob)
    await bob.update_backlog_item(item_id=item, status="blocked", deferred_reason="waits for a key")
    assert "returned_to_backlog" not in await bob.end_session(summary="enough")
    [shown] = (await team.agent("bob")).started["backlog"]
    assert (shown["id"], shown["status"], shown["deferred_reason"]) == (item, "blocked", "waits for a key")


async def test_blocked_item_keeps_whom_its_work_waits_for(team: Team):
    bob = await team.agent("bob")
    await team.agent("carol")
    item = await _claim_item(team, bob)
    await bob.update_work(title="Cart", status="blocked", blocked_by="carol", blocked_reason="no API yet")
    await bob.update_backlog_item(item_id=item, status="blocked", deferred_reason="waits for the API")
    [blocked] = (await bob.get_active_work())["blocked_agents"]
    assert (blocked["waiting_for"], blocked["reason"]) == ("carol", "waits for the API")


async def test_batch_backlog_claims_an_item_that_it_creates(team: Team):
    bob = await team.agent("bob")
    batch = await bob.batch_backlog(
        action="create", items=[{"title": "Cart", "claim": True}, {"title": "Tax", "claim": False}]
    )
    cart, tax = batch["items"]
    assert (cart["status"], cart["item_status"], cart["assigned_to"]) == ("added", "in_progress", "bob")
    assert cart["claimed_until"] == iso(team.clock.now + CLAIM_LIFETIME)
    assert cart["work_id"].startswith("work_")
    assert (tax["item_status"], "assigned_to" in tax) == ("open", False)
    carol = await team.agent("carol")
    with pytest.raises(errors.Conflict):
        await carol.update_backlog_item(item_id=cart["id"], claim=True)


async def test_batch_backlog_claims_what_it_creates_by_the_rules_of_a_claim(team: Team):
    bob = await team.agent("bob")
    items = [
        {"title": "Cart", "claim": True},
        {"title": "Tax", "claim": True, "assigned_to": "carol"},
        {"title": "Sum", "claim": True, "depends_on": ["#0"]},
    ]
    with pytest.raises(errors.Invalid) as refused:
        await bob.batch_backlog(action="create", items=items)
    problems = refused.value.details["problems"]
    assert [(problem["index"], problem["error"]) for problem in problems] == [
        (1, "conflict"),
        (2, "conflict"),
    ]
    assert (await bob.list_backlog())["items"] == []
    forced = await bob.batch_backlog(action="create", items=[items[0], {**items[2], "force": True}])
    assert [item["item_status"] for item in forced["items"]] == ["in_progress", "in_progress"]


async def test_batch_backlog_names_the_action_that_takes_an_argument(team: Team):
    bob = await team.agent("bob")
    with pytest.raises(errors.Invalid) as refused:
        await bob.batch_backlog(action="create", items=[{"title": "Cart", "wont_do": True}])
    (problem,) = refused.value.details["problems"]
    assert problem["error"] == "unknown_argument"
    assert problem["message"] == "action='create' does not take 'wont_do'."
    assert problem["hint"] == "It is an argument of: complete."


async def test_a_new_item_can_be_claimed_in_the_same_call(team: Team):
    bob, carol = await team.agent("bob"), await team.agent("carol")
    added = await bob.add_backlog_item(title="Cart", claim=True)
    assert (added["status"], added["item_status"], "claimed_until" in added) == ("added", "in_progress", True)
    with pytest.raises(errors.Conflict):
        await carol.update_backlog_item(item_id=added["id"], claim=True)
