"""Who shares a working tree, whose changes it holds, and what was prevented there."""

from typing import Any

import pytest

from commonplace.clock import iso
from team import Agent, Team

SHOP = {"machine": "laptop", "root": "/home/ann/shop", "repository": "/home/ann/shop"}
LINKED = {"machine": "laptop", "root": "/home/ann/shop-tax", "repository": "/home/ann/shop"}


async def edit(agent: Agent, *files: str) -> None:
    await agent.update_work(title="Edits", status="in_progress", files_touched=list(files))


async def report(agent: Agent, place: dict[str, str] = SHOP, **more: Any) -> dict[str, Any]:
    return await agent.report_checkout(**place | {"branch": "main", "head": "a1"} | more)


async def two_in_one_tree(team: Team) -> tuple[Agent, Agent]:
    ann, ben = [await team.agent(name, working_directory=SHOP["root"]) for name in ("ann", "ben")]
    await report(ann)
    await report(ben)
    return ann, ben


async def test_a_lone_session_sees_nobody_else(team: Team):
    ann = await team.agent("ann", working_directory=SHOP["root"])
    await edit(ann, "src/cart.py")
    facts = await report(ann, files=["src/cart.py", "src/tax.py"])
    assert facts["others"] == []
    assert facts["files"] == [
        {"file": "src/cart.py", "agent": "ann", "mine": True, "live": True, "at": iso(team.clock.now)},
        {"file": "src/tax.py"},
    ]


async def test_sessions_of_one_working_tree_and_of_one_repository_are_told_apart(team: Team):
    ann, ben = await two_in_one_tree(team)
    cid = await team.agent("cid", working_directory=LINKED["root"])
    await report(cid, LINKED, branch="tax")
    others = (await report(ann))["others"]
    assert {other["agent"]: (other["here"], other["branch"]) for other in others} == {
        "ben": (True, "main"),
        "cid": (False, "tax"),
    }
    await ben.end_session(summary="done")
    assert [other["agent"] for other in (await report(ann))["others"]] == ["cid"]


async def test_the_same_path_on_another_machine_is_another_working_tree(team: Team):
    ann, _ben = await two_in_one_tree(team)
    far = await team.agent("far", working_directory=SHOP["root"])
    assert (await report(far, SHOP | {"machine": "desktop"}))["others"] == []
    assert "far" not in [other["agent"] for other in (await report(ann))["others"]]


async def test_the_last_editor_in_this_working_tree_owns_a_file(team: Team):
    ann, ben = await two_in_one_tree(team)
    cid = await team.agent("cid", working_directory=LINKED["root"])
    await report(cid, LINKED)
    await edit(ann, "src/cart.py", "src/tax.py")
    team.clock.advance(seconds=5)
    await edit(ben, "src/cart.py")
    team.clock.advance(seconds=5)
    await edit(cid, "src/tax.py")
    files = (await report(ann, files=["src/cart.py", "src/tax.py"]))["files"]
    assert [(file["agent"], file.get("mine", False)) for file in files] == [("ben", False), ("ann", True)]


async def test_an_ended_session_owns_what_it_left_but_does_not_live(team: Team):
    ann, ben = await two_in_one_tree(team)
    await edit(ben, "src/cart.py")
    await ben.end_session(summary="done")
    (file,) = (await report(ann, files=["src/cart.py"]))["files"]
    assert (file["agent"], file.get("live", False)) == ("ben", False)


async def test_a_lease_owns_a_file_that_nobody_reported(team: Team):
    ann, ben = await two_in_one_tree(team)
    await ben.lock_files(files=["src/"])
    (file,) = (await report(ann, files=["src/cart.py"]))["files"]
    assert (file["agent"], file["leased"], file["live"]) == ("ben", True, True)


async def test_an_agent_without_hooks_counts_once_it_changed_something(team: Team):
    ann = await team.agent("ann", working_directory=SHOP["root"])
    plain = await team.agent("plain", working_directory=SHOP["root"])
    assert (await report(ann))["others"] == []
    await edit(plain, "src/cart.py")
    assert [(other["agent"], other["here"]) for other in (await report(ann))["others"]] == [("plain", True)]


async def test_who_moved_the_branch_is_known(team: Team):
    ann, ben = await two_in_one_tree(team)
    await report(ann, is_moving=True)
    facts = await report(ben, branch="feature", head="b2")
    assert facts["moved_by"] == {"agent": "ann", "at": iso(team.clock.now)}
    assert (facts["known_branch"], facts["known_head"]) == ("main", "a1")


async def test_status_tells_who_is_here_and_whose_the_changes_are(team: Team):
    ann, ben = await two_in_one_tree(team)
    await edit(ann, "src/cart.py")
    await edit(ben, "src/tax.py")
    await report(ben, files=["src/cart.py", "src/tax.py"], shelved=["ben/1"])
    status = await ann.checkout_status()
    assert [(other["agent"], other["here"], other["touched"]) for other in status["others"]] == [
        ("ben", True, ["src/tax.py"])
    ]
    assert {file["file"]: file["agent"] for file in status["dirty"]} == {
        "src/cart.py": "ann",
        "src/tax.py": "ben",
    }
    assert (status["shelved"], status["as_of"]) == (["ben/1"], iso(team.clock.now))


async def test_status_without_hooks_shows_who_is_there_and_which_files_each_holds(team: Team):
    ann = await team.agent("ann", working_directory="/tmp/x")
    ben = await team.agent("ben", working_directory="/tmp/x", task_description="VAT")
    await team.agent("carl", working_directory="/tmp/y")
    await ben.lock_files(files=["src/tax.py"])
    await ben.update_work(title="VAT", status="in_progress", files_touched=["src/cart.py"])
    await ann.lock_files(files=["src/own.py"])
    status = await ann.checkout_status()
    assert (status["root"], "dirty" in status, "where the hooks run" in status["message"]) == (
        "/tmp/x",
        False,
        True,
    )
    shown = [
        (other["agent"], other["here"], other.get("locked"), other.get("touched"))
        for other in status["others"]
    ]
    assert shown == [("ben", True, ["src/tax.py"], ["src/cart.py"]), ("carl", False, None, None)]


async def test_status_of_a_session_without_a_folder_says_how_to_name_it(team: Team):
    ann = await team.agent("ann")
    await team.agent("ben")
    status = await ann.checkout_status()
    assert [(other["agent"], other["here"]) for other in status["others"]] == [("ben", False)]
    assert "working_directory" in status["message"]


@pytest.mark.parametrize(
    ("kind", "event"),
    [
        ("edit_denied", "EditDenied"),
        ("command_denied", "CommandDenied"),
        ("commit_refused", "CommitRefused"),
        ("rule_fired", "RuleFired"),
        ("rescue_made", "RescueMade"),
        ("conflict_predicted", "ConflictPredicted"),
    ],
)
async def test_what_was_prevented_becomes_an_event(team: Team, kind: str, event: str):
    ann, _ben = await two_in_one_tree(team)
    await ann.report_prevented(kind=kind, what="git stash", files=["src/cart.py"], others=["ben"])

    async def last(tx: Any) -> Any:
        return await tx.one(
            "select kind, uri, actor, body from event where project = 'shop' order by n desc limit 1"
        )

    row = await team.database.read(last)
    assert (row["kind"], row["uri"], row["actor"]) == (event, "checkouts://shop", "ann")
    assert '"what":"git stash"' in row["body"]
    assert '"others":["ben"]' in row["body"]
