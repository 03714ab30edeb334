"""Work items, overlaps and signals between agents."""

import pytest

from commonplace import errors
from commonplace.clock import iso
from commonplace.masking.session_ids import hash_session_id
from commonplace.server import delete_old_rows

CLOCK_START = "2027-01-15T08:00:00Z"


async def list_work_events(team):
    rows = await team.database.read(
        lambda tx: tx.all(
            "select kind, uri, audience from event where project = 'shop' and kind = any($1) order by n",
            ["WorkUpdated", "SignalSent", "WorkUnblocked"],
        )
    )
    return [(row["kind"], row["uri"], row["audience"]) for row in rows]


def without_id(reply):
    """Return the reply of this call alone: its id is random, and notices are of earlier calls."""
    return {name: value for name, value in reply.items() if name not in ("id", "_notice")}


async def report_files(agent, *files, title="work"):
    answer = await agent.update_work(title=title, status="in_progress", files_touched=list(files))
    return {(overlap["file"], overlap["agent"], overlap["how"]) for overlap in answer.get("overlaps", [])}


# -- work items -----------------------------------------------------------------------------------------------


async def test_update_work_keeps_one_item_for_each_title_of_a_session(team):
    alice = await team.agent("alice")
    first = await alice.update_work(title="cart", status="in_progress", files_touched=["a.py"], notes="half")
    team.clock.advance(minutes=5)
    second = await alice.update_work(title="cart", status="completed", files_touched=["./b.py", "a.py"])
    assert (without_id(first), second["id"]) == ({"status": "updated", "first_report": True}, first["id"])
    team.clock.advance(minutes=3)
    assert (await alice.get_active_work())["recent_work_items"] == [
        {
            "id": first["id"],
            "title": "cart",
            "agent": "alice",
            "status": "done",
            "age": "3min",
            "files": ["b.py", "a.py"],
        }
    ]


async def _show_notes(agent) -> list[str]:
    return [entry.get("notes", "") for entry in (await agent.get_active_work())["recent_work_items"]]


async def test_completed_work_shows_the_notes_of_its_completion_and_no_older_ones(team):
    alice = await team.agent("alice")
    await alice.update_work(title="cart", status="in_progress", notes="waits for iris")
    await alice.update_work(title="cart", status="completed")
    assert await _show_notes(alice) == [""]
    await alice.update_work(title="cart", status="completed", notes="per line")
    await alice.update_work(title="cart", status="completed", files_touched=["cart.py"])
    assert await _show_notes(alice) == ["per line"]
    await alice.update_work(title="cart", status="in_progress")
    await alice.update_work(title="cart", status="abandoned")
    assert await _show_notes(alice) == ["per line"]


@pytest.mark.parametrize("resolution", ["rounds per line", None])
async def test_work_that_its_backlog_item_closed_shows_the_resolution(team, resolution):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="Rounding"))["id"]
    await alice.update_backlog_item(item_id=item, claim=True)
    await alice.update_work(title="Rounding", status="in_progress", notes="waits for iris")
    team.clock.advance(minutes=1)
    await alice.complete_backlog_item(item_id=item, resolution=resolution)
    assert await _show_notes(alice) == [resolution or ""]


async def test_work_that_was_completed_before_its_backlog_item_shows_the_resolution_or_its_own_notes(team):
    alice = await team.agent("alice")
    for title, resolution in (("Rounding", None), ("Totals", "in cents")):
        item = (await alice.add_backlog_item(title=title))["id"]
        await alice.update_backlog_item(item_id=item, claim=True)
        await alice.update_work(title=title, status="completed", notes="per line")
        team.clock.advance(minutes=1)
        await alice.complete_backlog_item(item_id=item, resolution=resolution)
    assert await _show_notes(alice) == ["in cents", "per line"]


async def test_update_work_of_another_session_is_another_item(team):
    first, second = await team.agent("alice"), await team.agent("alice")
    one = await first.update_work(title="cart", status="in_progress")
    other = await second.update_work(title="cart", status="in_progress")
    assert one["id"] != other["id"]


async def test_blocked_item_keeps_what_it_waits_for_until_it_continues(team):
    alice = await team.agent("alice")
    await alice.update_work(
        title="cart",
        status="blocked",
        blocked_by="bob",
        blocked_reason="no API",
        waiting_for_signal="api_ready",
    )
    await alice.update_work(title="cart", status="blocked", notes="still")
    assert (await alice.get_active_work())["blocked_agents"] == [
        {
            "agent": "alice",
            "waiting_for": "bob",
            "signal": "api_ready",
            "reason": "no API",
            "title": "cart",
            "since": CLOCK_START,
        }
    ]
    await alice.update_work(title="cart", status="in_progress")
    assert (await alice.get_active_work())["blocked_agents"] == []
    await alice.update_work(title="cart", status="blocked")
    [blocked] = (await alice.get_active_work())["blocked_agents"]
    assert (blocked["waiting_for"], blocked["signal"], blocked["reason"]) == ("", "", "")


@pytest.mark.parametrize(
    "arguments",
    [
        {"title": "", "status": "in_progress"},
        {"title": "cart", "status": "in_progress", "files_touched": ["../outside.py"]},
        {"title": "cart", "status": "in_progress", "files_touched": ["a.py", "/etc/passwd"]},
        {"title": "cart", "status": "in_progress", "signals": [" padded "]},
        {"title": "cart", "status": "in_progress", "files_touched": [f"f{n}" for n in range(201)]},
    ],
)
async def test_update_work_refuses_wrong_arguments_and_changes_nothing(team, arguments):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid):
        await alice.update_work(**arguments)
    assert (await alice.get_active_work())["recent_work_items"] == []


async def test_end_session_hands_over_open_work_and_leaves_closed_work_as_reported(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.update_work(title="cart", status="in_progress")
    await alice.update_work(title="till", status="blocked", waiting_for_signal="api_ready")
    await alice.update_work(title="shelf", status="abandoned")
    await alice.update_work(title="mail", status="completed")
    await alice.update_work(title="Edits", status="in_progress", files_touched=["a.py"])
    await alice.end_session(summary="done")
    active = await bob.get_active_work()
    assert {(item["title"], item["status"]) for item in active["recent_work_items"]} == {
        ("cart", "handed over"),
        ("till", "handed over"),
        ("shelf", "abandoned"),
        ("mail", "done"),
        ("Edits", "done"),
    }
    assert active["blocked_agents"] == []
    reply = await bob.update_work(title="api", status="completed", signals=["api_ready"])
    assert reply["unblocked"] == []


async def test_work_that_the_next_session_resumes_is_one_piece_of_work(team):
    bob = await team.agent("bob")
    item = (await bob.add_backlog_item(title="Prices"))["id"]
    for status in ("in_progress", "done"):
        alice = await team.agent("alice")
        await alice.update_backlog_item(item_id=item, claim=True)
        await alice.update_work(title="prices", status="in_progress")
        await alice.add_backlog_item(title="Cart")
        await alice.update_work(title="Cart", status=status)
        if status == "done":
            await alice.complete_backlog_item(item_id=item)
        team.clock.advance(minutes=1)
        await alice.end_session(summary="enough for now")
        team.clock.advance(minutes=1)
        shown = "handed over" if status == "in_progress" else "done"
        work = (await bob.get_active_work())["recent_work_items"]
        assert sorted((entry["title"], entry["status"]) for entry in work) == [
            ("Cart", shown),
            ("Prices", shown),
        ]


async def test_work_of_two_agents_or_items_with_one_title_is_two_pieces_of_work(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.update_work(title="Cart", status="in_progress")
    for _ in range(2):
        item = (await alice.add_backlog_item(title="Cart"))["id"]
        await alice.update_backlog_item(item_id=item, claim=True)
        team.clock.advance(minutes=1)
        await alice.end_session(summary="enough for now")
        await bob.complete_backlog_item(item_id=item)
        alice = await team.agent("alice")
    work = (await bob.get_active_work())["recent_work_items"]
    assert sorted(entry["agent"] for entry in work) == ["alice", "alice", "bob"]


# -- overlaps -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("theirs", "ours", "seen"),
    [
        ("src/a.py", "src/a.py", {("src/a.py", "bob", "same file")}),
        ("src/a.py", "./src//b/../a.py", {("src/a.py", "bob", "same file")}),
        ("src/", "src/lib/a.py", {("src/lib/a.py", "bob", "inside src/")}),
        ("src", "src/lib/a.py", {("src/lib/a.py", "bob", "inside src")}),
        ("src/lib/a.py", "src/", {("src/lib/a.py", "bob", "contains")}),
        ("src/lib/a.py", "./", {("src/lib/a.py", "bob", "contains")}),
        ("./", "a.py", {("a.py", "bob", "inside ./")}),
        ("src/ab.py", "src/a", set()),
        ("src/a.py", "src/b.py", set()),
        ("app/[id].tsx", "app/[id].tsx", {("app/[id].tsx", "bob", "same file")}),
        ("app/[id].tsx", "app/i.tsx", set()),
        ("README.md", "readme.md", set()),
    ],
)
async def test_update_work_reports_overlaps_with_others(team, theirs, ours, seen):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await report_files(bob, theirs)
    assert await report_files(alice, ours) == seen


async def test_overlap_names_file_agent_project_and_time(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await report_files(bob, "src/a.py")
    team.clock.advance(minutes=10)
    answer = await alice.update_work(title="cart", status="in_progress", files_touched=["src/a.py", "b.py"])
    assert without_id(answer) == {
        "status": "updated",
        "first_report": True,
        "overlaps": [
            {"file": "src/a.py", "agent": "bob", "project": "shop", "when": CLOCK_START, "how": "same file"}
        ],
    }


async def test_overlap_ignores_case_if_the_project_ignores_case(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await team.database.write(lambda tx: tx.run("update project set ignore_case = 1 where name = 'shop'"))
    await report_files(bob, "Src/README.md")
    assert await report_files(alice, "src/readme.md") == {("src/readme.md", "bob", "same file")}


async def test_overlap_is_with_other_sessions_of_the_project_in_the_last_day(team):
    alice, twin = await team.agent("alice"), await team.agent("alice")
    stranger = await team.agent("bob", project="other")
    await report_files(alice, "a.py")
    await report_files(stranger, "a.py")
    assert await report_files(alice, "a.py") == set()
    assert await report_files(twin, "a.py") == {("a.py", "alice", "same file")}
    team.clock.advance(days=1)
    assert await report_files(twin, "a.py") == set()


async def test_overlaps_are_found_among_many_files_and_bounded(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await report_files(bob, *(f"src/{n}.py" for n in range(200)))
    assert await report_files(alice, *(f"src/{n}.py" for n in range(190, 390))) == {
        (f"src/{n}.py", "bob", "same file") for n in range(190, 200)
    }
    assert len(await report_files(alice, "src/")) == 50


# -- signals --------------------------------------------------------------------------------------------------


async def test_signal_unblocks_those_who_wait_for_it_and_notifies_them_once(team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    await alice.update_work(
        title="cart", status="blocked", blocked_by="carol", waiting_for_signal="api_ready"
    )
    await bob.update_work(title="till", status="blocked", waiting_for_signal="other")
    answer = await carol.update_work(
        title="api", status="completed", signals=["api_ready", "api_ready"], signal_details="v2"
    )
    assert without_id(answer) == {
        "status": "updated",
        "first_report": True,
        "signals_broadcast": ["api_ready"],
        "unblocked": ["alice"],
    }
    active = await alice.get_active_work()
    assert "Signal api_ready from carol: your work 'cart' no longer waits. v2" in active["_notice"]
    assert [blocked["agent"] for blocked in active["blocked_agents"]] == ["bob"]
    assert active["recent_signals"] == [
        {"name": "api_ready", "from": "carol", "at": CLOCK_START, "details": "v2"}
    ]
    assert "_notice" not in await alice.get_active_work()
    again = await carol.update_work(title="api", status="completed", signals=["api_ready"])
    assert again["unblocked"] == []


async def test_signal_that_was_sent_before_is_returned_to_who_begins_to_wait(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.update_work(title="api", status="completed", signals=["api_ready"], signal_details="v2")
    answer = await alice.update_work(title="cart", status="blocked", waiting_for_signal="api_ready")
    assert without_id(answer) == {
        "status": "updated",
        "first_report": True,
        "sent_before": [{"name": "api_ready", "from": "bob", "at": CLOCK_START, "details": "v2"}],
        "message": "This signal was sent before you began to wait. You are shown as blocked until you report"
        " status='in_progress', or it is sent again.",
    }


async def test_signal_of_another_project_does_not_unblock(team):
    alice, bob = await team.agent("alice"), await team.agent("bob", project="other")
    await alice.update_work(title="cart", status="blocked", waiting_for_signal="api_ready")
    answer = await bob.update_work(title="api", status="completed", signals=["api_ready"])
    assert answer["unblocked"] == []


async def test_update_work_and_signals_are_events(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.update_work(title="cart", status="blocked", waiting_for_signal="api_ready")
    await bob.update_work(title="api", status="completed", signals=["api_ready"])
    assert await list_work_events(team) == [
        ("WorkUpdated", "work://shop", ""),
        ("WorkUpdated", "work://shop", ""),
        ("SignalSent", "signals://shop", ""),
        ("WorkUnblocked", "work://shop", "inbox:alice"),
    ]


# -- seeing ---------------------------------------------------------------------------------------------------


async def test_get_active_work_lists_active_agents_and_their_work(team):
    alice = await team.agent("alice", task_description="the shop")
    await team.agent("bob")
    await alice.update_work(title="cart", status="in_progress", files_touched=["a.py"])
    answer = await alice.get_active_work(instance="alice")
    assert {name: answer[name] for name in ("overlap_window_hours", "currently_active")} == {
        "overlap_window_hours": 24,
        "currently_active": [
            {
                "agent": "alice",
                "last_active": CLOCK_START,
                "working_on": ["cart"],
                "files": ["a.py"],
            }
        ],
    }
    assert {row["agent"] for row in (await alice.get_active_work())["currently_active"]} == {"alice", "bob"}


async def test_get_active_work_is_bounded_in_time_and_count(team):
    alice = await team.agent("alice")
    for n in range(5):
        await alice.update_work(title=f"part {n}", status="completed", signals=[f"part_{n}"])
        team.clock.advance(minutes=59)
    answer = await alice.get_active_work(since_hours=2)
    assert [item["title"] for item in answer["recent_work_items"]] == ["part 4", "part 3"]
    assert [signal["name"] for signal in answer["recent_signals"]] == ["part_4", "part_3"]
    limited = await alice.get_active_work(limit=1)
    assert (len(limited["recent_work_items"]), len(limited["recent_signals"])) == (1, 1)


async def test_get_active_work_of_an_unknown_project_is_empty(team):
    alice = await team.agent("alice")
    await alice.update_work(title="cart", status="in_progress")
    assert await alice.get_active_work(project="Nowhere") == {
        "overlap_window_hours": 24,
        "currently_active": [],
        "blocked_agents": [],
        "recent_signals": [],
        "recent_work_items": [],
    }


async def test_get_active_work_never_shows_a_session_id(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.update_work(title="cart", status="blocked", waiting_for_signal="x", signals=["y"])
    reply = repr(await bob.get_active_work())
    assert alice.session_id not in reply
    assert hash_session_id(alice.session_id) not in reply


async def test_start_session_shows_what_others_signalled_since_and_wait_for(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await alice.update_work(title="cart", status="in_progress", signals=["before"])
    team.clock.advance(minutes=1)
    bob = await team.agent("bob")
    team.clock.advance(minutes=1)
    await bob.update_work(title="api", status="in_progress", signals=["own"])
    await alice.update_work(title="cart", status="in_progress", signals=["cart_ready"])
    await alice.update_work(
        title="cart",
        status="blocked",
        files_touched=["a.py"],
        blocked_by="bob",
        waiting_for_signal="api_ready",
    )
    await alice.update_work(title="till", status="blocked", waiting_for_signal="tills_ready")
    started = (await team.agent("bob", token_budget=5000)).started
    now = iso(team.clock.now)
    assert {name: started[name] for name in ("signals", "blocking_others")} == {
        "signals": [{"name": "cart_ready", "from": "alice", "at": now, "details": ""}],
        "blocking_others": [
            {
                "agent": "alice",
                "waiting_for": "bob",
                "signal": "api_ready",
                "reason": "",
                "title": "cart",
                "since": now,
            }
        ],
    }


async def test_retention_deletes_work_touched_files_and_signals_after_two_weeks(team):
    alice = await team.agent("alice")
    await alice.update_work(title="old", status="completed", files_touched=["a.py"], signals=["x"])
    team.clock.advance(days=10)
    await alice.update_work(title="young", status="completed", files_touched=["b.py"], signals=["y"])
    team.clock.advance(days=5)
    await delete_old_rows(team.calls)

    async def count_remaining_rows(tx):
        return [
            (await tx.one(f"select count(*) as n from {table} where project = 'shop'"))["n"]
            for table in ("work", "touched", "signal")
        ]

    assert await team.database.read(count_remaining_rows) == [1, 1, 1]


@pytest.mark.parametrize("title", ["Cart loses items!", "cart  loses ITEMS", "{item}: tests", "{work} done"])
async def test_update_work_that_names_the_claimed_item_reports_on_it_and_keeps_its_title(team, title):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="Cart loses items"))["id"]
    claimed = await alice.update_backlog_item(item_id=item, claim=True)
    title = title.format(item=item, work=claimed["work_id"])
    report = await alice.update_work(title=title, status="in_progress", files_touched=["cart.py"])
    assert report == {
        "status": "updated",
        "id": claimed["work_id"],
        "title": "Cart loses items",
        "item": item,
    }
    work = (await bob.get_active_work())["recent_work_items"]
    assert [(entry["title"], entry["files"]) for entry in work] == [("Cart loses items", ["cart.py"])]
    await alice.complete_backlog_item(item_id=item)
    assert [entry["status"] for entry in (await bob.get_active_work())["recent_work_items"]] == ["done"]


async def test_update_work_by_the_title_of_the_item_finds_work_that_was_begun_under_another(team):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="Review vouchers"))["id"]
    begun = await alice.update_work(title=f"{item}: look", status="in_progress")
    await alice.update_backlog_item(item_id=item, claim=True)
    report = await alice.update_work(title="review vouchers", status="in_progress")
    assert (report["id"], report["title"], report["item"]) == (begun["id"], f"{item}: look", item)


async def test_update_work_beside_two_claims_is_work_of_its_own(team):
    alice = await team.agent("alice")
    for title in ("Cart", "Tax"):
        item = (await alice.add_backlog_item(title=title))["id"]
        await alice.update_backlog_item(item_id=item, claim=True)
    await alice.update_work(title="Review", status="in_progress")
    work = (await alice.get_active_work())["recent_work_items"]
    assert sorted(entry["title"] for entry in work) == ["Cart", "Review", "Tax"]


async def test_agent_status_shows_the_current_work_and_nothing_when_it_is_done(team):
    alice = await team.agent("alice")

    async def current_task():
        return (await alice.get_agent_status(instance="alice"))["agents"][0].get("current_task", "")

    item = (await alice.add_backlog_item(title="Cart"))["id"]
    await alice.update_backlog_item(item_id=item, claim=True)
    assert await current_task() == "Cart"
    await alice.update_work(title="Edits", status="in_progress", files_touched=["cart.py"])
    assert await current_task() == "Cart"
    await alice.complete_backlog_item(item_id=item)
    assert await current_task() == ""


async def test_update_work_under_another_title_than_the_only_claim_is_work_of_its_own(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await alice.add_backlog_item(title="Cart loses items on reload"))["id"]
    claimed = await alice.update_backlog_item(item_id=item, claim=True)
    report = await alice.update_work(title="Cart", status="in_progress")
    assert without_id(report) == {
        "status": "updated",
        "first_report": True,
        "message": f"Separate from your claim {item}: a report on that has the title 'Cart loses items on reload'.",
    }
    work = (await bob.get_active_work())["recent_work_items"]
    assert {entry["id"]: entry["title"] for entry in work} == {
        claimed["work_id"]: "Cart loses items on reload",
        report["id"]: "Cart",
    }
    assert "message" not in await alice.update_work(title="Cart", status="in_progress")


async def test_update_work_that_names_another_open_item_is_work_of_its_own(team):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="Cart"))["id"]
    await alice.add_backlog_item(title="Tax rates")
    claimed = await alice.update_backlog_item(item_id=item, claim=True)
    other = await alice.update_work(title="Tax rates", status="in_progress")
    assert other["first_report"]
    assert other["id"] != claimed["work_id"]


async def test_update_work_ignores_case_spaces_and_punctuation_of_a_title_and_nothing_else(team):
    alice = await team.agent("alice")
    first = await alice.update_work(title="Coupons in the cart", status="in_progress")
    again = await alice.update_work(title="coupons - in the  Cart.", status="in_progress")
    assert (again["id"], again["title"]) == (first["id"], "Coupons in the cart")
    other = await alice.update_work(title="Coupons: tests are green", status="in_progress")
    assert (other["id"] != first["id"], other["first_report"]) == (True, True)


@pytest.mark.parametrize("status", ["in_progress", "done"])
async def test_update_work_never_renames_work_that_is_finished(team, status):
    alice = await team.agent("alice")
    item = (await alice.add_backlog_item(title="Coupon rounding"))["id"]
    claimed = await alice.update_backlog_item(item_id=item, claim=True)
    await alice.complete_backlog_item(item_id=item)
    report = await alice.update_work(title="Coupon mails", status=status)
    assert without_id(report) == {"status": "updated", "first_report": True}
    work = (await alice.get_active_work())["recent_work_items"]
    assert {entry["id"]: (entry["title"], entry["status"]) for entry in work} == {
        claimed["work_id"]: ("Coupon rounding", "done"),
        report["id"]: ("Coupon mails", status),
    }


async def test_notice_of_a_wait_names_everything_that_ends_it(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = (await bob.add_backlog_item(title="Prices", assigned_to="bob"))["id"]
    await alice.update_work(title="cart", status="blocked", blocked_by=item, waiting_for_signal="prices")
    (notice,) = (await bob.heartbeat())["_notice"]
    assert notice.endswith("Completing the item or the signal prices (memory_update_work) ends the wait.")
    await bob.complete_backlog_item(item_id=item)
    assert (await alice.get_active_work())["blocked_agents"] == []


async def test_update_work_names_who_has_locked_a_touched_file(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await bob.lock_files(files=["src/"])
    await bob.lock_files(files=["docs/a.md:1-3"])
    touched = await report_files(alice, "src/cart.py", "docs/a.md", "tax.py")
    assert touched == {("src/cart.py", "bob", "locked by them")}
    assert await report_files(bob, "src/tax.py") == set()
    await bob.unlock_files()
    assert await report_files(alice, "src/cart.py") == set()


async def test_done_means_completed_and_any_other_text_is_a_note_on_work_in_progress(team):
    alice = await team.agent("alice")
    await alice.update_work(title="Cart", status="done")
    await alice.update_work(title="VAT", status="half of the rates are in", notes="see rates.py")
    items = {item["title"]: item for item in (await alice.get_active_work())["recent_work_items"]}
    assert items["Cart"]["status"] == "done"
    assert (items["VAT"]["status"], items["VAT"]["notes"]) == (
        "in_progress",
        "half of the rates are in\nsee rates.py",
    )


async def test_lists_of_agents_and_work_show_every_project_that_the_caller_may_see(team):
    alice, bob = await team.agent("alice"), await team.agent("bob", "web")
    await bob.update_work(title="Header", status="in_progress")
    assert {each["instance"] for each in (await alice.list_agents(project="*"))["agents"]} == {"alice", "bob"}
    assert (await alice.get_agent_status(project="*"))["count"] == 2
    assert [each["title"] for each in (await alice.get_active_work(project="*"))["recent_work_items"]] == [
        "Header"
    ]
