"""What is live: who waits, who works, what was prevented, what happened; and Markdown as a tree."""

import pytest

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.rooms.live_state.markdown import parse_markdown

PERSON = Caller("owner", frozenset({"*"}), agent="eve")


async def test_live_state_shows_live_agents_with_what_they_hold(team):
    ann = await team.agent("ann", task_description="VAT in the cart", working_directory="/home/ann/shop")
    await ann.lock_files(files=["src/cart.py"], reason="VAT")
    (card,) = (await team.anyone(PERSON).get_live_state(project="shop"))["agents"]
    assert {name: card[name] for name in ("agent", "project", "task", "holds", "last_act", "directory")} == {
        "agent": "ann",
        "project": "shop",
        "task": "VAT in the cart",
        "holds": ["src/cart.py"],
        "last_act": "FilesLocked",
        "directory": "/home/ann/shop",
    }
    assert sum(card["acts"]) == 2


async def test_live_state_shows_the_branch_that_hooks_saw_last(team):
    ann = await team.agent("ann")
    for branch in ("main", "feature/vat"):
        await ann.report_checkout(machine="laptop", root="/shop", repository="/shop", branch=branch)
    (card,) = (await team.anyone(PERSON).get_live_state(project="shop"))["agents"]
    assert card["branch"] == "feature/vat"


async def test_live_state_leaves_out_ended_sessions_and_other_projects(team):
    ann, ben = await team.agent("ann"), await team.agent("ben", project="web")
    await ann.end_session(summary="done")
    everything = await team.anyone(PERSON).get_live_state()
    assert [card["agent"] for card in everything["agents"]] == ["ben"]
    assert (await team.anyone(PERSON).get_live_state(project="shop"))["agents"] == []
    await ben.end_session(summary="done")


async def test_live_state_of_all_projects_shows_those_of_the_key(team):
    await team.agent("ann")
    await team.agent("ben", project="bank")
    seen = await team.anyone(Caller("readonly", frozenset({"shop"}), "key_1", "eve")).get_live_state(
        project="*"
    )
    assert [card["agent"] for card in seen["agents"]] == ["ann"]


async def test_live_state_counts_locks_that_were_not_granted_today(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.lock_files(files=["src/cart.py"])
    await ben.lock_files(files=["src/cart.py"])
    seen = await team.anyone(PERSON).get_live_state(project="shop")
    assert seen["prevented_counts"] == {"edits": 1}
    assert [(row["kind"], row["agent"]) for row in seen["prevented"]] == [("edits", "ben")]
    team.clock.advance(days=1)
    assert "prevented_counts" not in await team.anyone(PERSON).get_live_state(project="shop")


async def test_live_state_counts_what_hooks_and_guards_prevented(team):
    ann = await team.agent("ann")
    await ann.report_prevented(kind="command_denied", what="git stash")
    await ann.report_prevented(kind="edit_denied", what="src/cart.py is held by ben")
    seen = await team.anyone(PERSON).get_live_state(project="shop")
    assert seen["prevented_counts"] == {"commands": 1, "edits": 1}


async def test_live_state_counts_an_edit_that_a_hook_denied_once(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.lock_files(files=["src/cart.py"])
    await ben.lock_files(files=["src/cart.py"], reason="by hand")
    team.clock.advance(minutes=1)
    await ben.lock_files(files=["src/cart.py"], reason="editing (claude-1)")
    team.clock.advance(seconds=1)
    await ben.report_prevented(kind="edit_denied", what="edit of src/cart.py", files=["src/cart.py"])
    seen = await team.anyone(PERSON).get_live_state(project="shop")
    assert [(row["operation"], row["agent"]) for row in seen["prevented"]] == [
        ("memory_report_prevented", "ben"),
        ("memory_lock_files", "ben"),
    ]


async def test_live_state_lists_held_and_touched_files_with_their_agent(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.lock_files(files=["src/cart.py"], reason="VAT")
    await ben.update_work(title="Invoices", status="in_progress", files_touched=["src/cart.py", "src/pdf.py"])
    files = (await team.anyone(PERSON).get_live_state(project="shop"))["files"]
    assert {(file["path"], file["agent"], file.get("mode", "")) for file in files} == {
        ("src/cart.py", "ann", "exclusive"),
        ("src/cart.py", "ben", ""),
        ("src/pdf.py", "ben", ""),
    }


async def test_needs_you_lists_what_waits_for_a_person_newest_first(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    await ann.update_work(title="VAT", status="blocked", blocked_by="ben", blocked_reason="needs rates")
    team.clock.advance(seconds=1)
    item = (await ann.add_backlog_item(title="Export as CSV"))["id"]
    await ann.update_backlog_item(item_id=item, status="needs_info")
    team.clock.advance(seconds=1)
    document = await ben.record_learning(topic="Rates", content="They change on Mondays, in every country.")
    await ben.change_status(doc_id=document["id"], new_status="conflicted")
    team.clock.advance(seconds=1)
    await ann.send_message(to_instance="ben", message="Who decides?", require_human=True)
    needs = (await team.anyone(PERSON).get_live_state(project="shop"))["needs_you"]
    assert [(need["kind"], need["agent"]) for need in needs] == [
        ("mail", "ann"),
        ("disputed", "ben"),
        ("question", "ann"),
        ("blocked", "ann"),
    ]


async def test_needs_you_forgets_mail_that_is_done(team):
    ann, ben = await team.agent("ann"), await team.agent("ben")
    sent = await ann.send_message(to_instance="ben", message="Who decides?", require_human=True)
    await ben.update_message_status(message_id=sent["message_id"], status="completed")
    assert (await team.anyone(PERSON).get_live_state(project="shop"))["needs_you"] == []


async def test_list_events_pages_backwards_and_filters(team):
    ann = await team.agent("ann")
    for number in range(4):
        team.clock.advance(seconds=1)
        await ann.lock_files(files=[f"f{number}.py"])
    first = await team.anyone(PERSON).list_events(project="shop", kinds=["FilesLocked"], limit=3)
    rest = await team.anyone(PERSON).list_events(
        project="shop", kinds=["FilesLocked"], limit=3, cursor=first["next_cursor"]
    )
    files = [event["body"]["files"][0] for event in [*first["events"], *rest["events"]]]
    assert files == ["f3.py", "f2.py", "f1.py", "f0.py"]
    assert (await team.anyone(PERSON).list_events(project="shop", actor="nobody"))["events"] == []


async def test_list_events_reaches_back_over_hours_and_days(team):
    ann = await team.agent("ann")
    for minutes in (0, 10, 120, 3000):
        team.clock.advance(minutes=minutes)
        await ann.lock_files(files=[f"{minutes}.py"])
    reader, given = team.anyone(PERSON), {"project": "shop", "kinds": ["FilesLocked"]}
    whole = await reader.list_events(**given)
    assert [event["body"]["files"] for event in whole["events"]] == [
        ["3000.py"],
        ["120.py"],
        ["10.py"],
        ["0.py"],
    ]
    paged, cursor = [], {}
    while len(paged) < len(whole["events"]):
        page = await reader.list_events(**given, limit=1, **cursor)
        paged += page["events"]
        cursor = {"cursor": page["next_cursor"]}
    assert paged == whole["events"]


async def test_list_events_hides_what_the_caller_may_not_see(team):
    ann = await team.agent("ann")
    await team.agent("ben")
    await ann.send_message(to_instance="ben", message="between us")
    stranger = Caller("readonly", frozenset({"shop"}), "key_1", "eve")
    kinds = [event["kind"] for event in (await team.anyone(stranger).list_events(project="shop"))["events"]]
    assert "SessionStarted" in kinds
    assert "MessageSent" not in kinds


async def test_get_live_state_refuses_a_project_of_others(team):
    with pytest.raises(errors.Forbidden):
        await team.anyone(Caller("admin", frozenset({"shop"}), "key_1")).get_live_state(project="bank")


async def test_render_markdown_answers_trees(team):
    reply = await team.anyone(access.LOCAL).render_markdown(texts=["**a** `b`", "# t"])
    assert reply["trees"] == [
        [["p", {}, [["strong", {}, ["a"]], " ", ["code", {}, ["b"]]]]],
        [["h1", {}, ["t"]]],
    ]


HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))",
    "[x](JaVaScRiPt:alert(1))",
    "[x](data:text/html,<script>alert(1)</script>)",
    "![x](javascript:alert(1))",
    "<svg onload=alert(1)>",
    "[x](vbscript:x)",
    "<a href='javascript:alert(1)'>x</a>",
    "[a]: javascript:alert(1)\n\n[a]",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_keeps_no_markup_and_no_dangerous_address(text: str):
    def check(node: object) -> None:
        if isinstance(node, str):
            return
        tag, attributes, children = node
        assert tag in {"p", "a", "code", "pre", "br"}
        assert set(attributes) <= {"href"}
        assert attributes.get("href", "https:").startswith(("https:", "http:", "mailto:"))
        for child in children:
            check(child)

    for node in parse_markdown(text):
        check(node)


def test_markdown_of_a_huge_text_is_not_parsed():
    assert parse_markdown("x" * 300_000) == [["pre", {}, ["x" * 300_000]]]


def test_markdown_nests_lists_tables_and_code():
    tree = parse_markdown("1. a\n   - b\n\n| x |\n|---|\n| y |\n\n```py\nz\n```\n")
    assert [node[0] for node in tree] == ["ol", "table", "pre"]
    assert tree[2] == ["pre", {"lang": "py"}, [["code", {}, ["z\n"]]]]


async def test_file_record_tells_who_holds_and_changed_a_file_and_what_cites_it(team):
    ann, ben = await team.agent("ann", task_description="VAT"), await team.agent("ben")
    await ann.update_work(title="VAT", status="in_progress", files_touched=["src/cart.py"])
    await ann.lock_files(files=["src/cart.py"], reason="VAT")
    await ben.report_prevented(kind="edit_denied", what="src/cart.py is held by ann")
    note = await ann.store(
        title="Cart", content="Rounds per line.", memory_type="adr", files_related=["src/cart.py:3"]
    )
    record = await team.anyone(PERSON).get_file_record(project="shop", path="src/cart.py")
    assert [(row["agent"], row["reason"]) for row in record["held"]] == [("ann", "VAT")]
    assert [(row["agent"], row["task"]) for row in record["changed"]] == [("ann", "VAT")]
    assert [(row["id"], row["place"], row["state"]) for row in record["documents"]] == [
        (note["id"], "src/cart.py:3", "unchecked")
    ]
    assert [(row["kind"], row["agent"]) for row in record["prevented"]] == [("edits", "ben")]
    empty = await team.anyone(PERSON).get_file_record(project="shop", path="src/other.py")
    assert empty == {"path": "src/other.py", "held": [], "changed": [], "documents": [], "prevented": []}


async def test_live_state_lists_no_more_than_the_limit_and_counts_everything(team):
    for name in ("ann", "ben", "mia"):
        agent = await team.agent(name)
        await agent.lock_files(files=[f"src/{name}.py"])
        await agent.update_work(title="Tax", status="blocked", blocked_by="zoe", files_touched=["src/all.py"])
    state = await team.anyone(PERSON).get_live_state(project="shop", limit=2)
    assert {name: len(state[name]) for name in ("needs_you", "agents", "files")} == {
        "needs_you": 2,
        "agents": 2,
        "files": 2,
    }
    assert state["counts"] == {"needs_you": 3, "idle": 0, "agents": 3, "files": 6}
    assert all(file["mode"] for file in state["files"])


async def test_events_of_the_backlog_name_the_title_that_the_item_has_now(team):
    ann = await team.agent("ann")
    item = (await ann.add_backlog_item(title="Rates of 2026"))["id"]
    await ann.update_backlog_item(item_id=item, title="Rates of 2027")
    events = (await team.anyone(PERSON).list_events(project="shop", kinds=["BacklogChanged"]))["events"]
    assert [event["body"] for event in events] == [{"id": item, "title": "Rates of 2027"}] * 2
