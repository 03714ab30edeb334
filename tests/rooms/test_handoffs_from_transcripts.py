"""The handoff that the server writes also has what the session's transcript shows, whenever that is archived."""

import json
from dataclasses import replace

import pytest
from sync_client import SyncClient, register_sync_client
from transcript_script import TranscriptScript

from commonplace import access
from commonplace.rooms.sessions.receipts import FIRST_LINE
from team import Agent, Team

FAILED = "Exit code 2\nTraceback (most recent call last):\nValueError: totals differ"


@pytest.fixture
async def sync(team: Team) -> SyncClient:
    return await register_sync_client(team)


def injected_line(session_id: str) -> bytes:
    """What Claude Code records of a hook that injected the boot pack."""
    text = f"You are the agent alice in the project shop of Commonplace, the shared memory of this team's agents (tools memory_*). Your session is already started; its session_id for these tools: {session_id}\nThe state of the project now, as memory_start_session returned it:\n{{}}"
    attachment = {"type": "hook_additional_context", "content": [text], "hookEvent": "SessionStart"}
    return json.dumps({"type": "attachment", "uuid": "u0", "attachment": attachment}).encode() + b"\n"


def work_script() -> TranscriptScript:
    return (
        TranscriptScript()
        .user("Round the cart totals")
        .use_tool("Edit", "/home/ann/shop/src/cart.py")
        .run("make lint", "ok")
        .user("Now make the tests pass")
        .run("make test", FAILED, failed=True)
    )


async def alice_of(team: Team) -> Agent:
    return await team.agent("alice", working_directory="/home/ann/shop")


async def shown_notes(team: Team) -> str:
    team.clock.advance(minutes=1)
    return (await alice_of(team)).started.get("handoff", {}).get("notes", "")


async def test_transcript_that_arrives_after_the_end_completes_the_handoff(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    await alice.end_session(summary="", files_modified=["src/cart.py"])
    assert "make test" not in await shown_notes(team)
    await sync.upload("c1", injected_line(alice.session_id) + work_script().content)
    assert (await shown_notes(team)).splitlines() == [
        FIRST_LINE,
        "Files changed: src/cart.py",
        "",
        "From its transcript:",
        "Last prompt: Now make the tests pass",
        "Files edited: src/cart.py",
        "Last commands: make test (exit code 2); make lint (exit code 0)",
        "Last error: ValueError: totals differ (make test)",
    ]


async def test_transcript_that_was_there_before_the_end_is_in_the_handoff(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    await sync.upload("c1", injected_line(alice.session_id) + work_script().content)
    await alice.end_session(summary="")
    notes = await shown_notes(team)
    assert notes.startswith(FIRST_LINE)
    for text in ("Last prompt: Now make the tests pass", "src/cart.py", "make test (exit code 2)"):
        assert text in notes


async def test_more_of_the_transcript_replaces_what_was_taken_from_it(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    first = injected_line(alice.session_id) + work_script().content
    await sync.upload("c1", first)
    await alice.end_session(summary="", files_modified=["src/cart.py"])
    await sync.upload("c1", TranscriptScript(9).user("Thank you").content, offset=len(first))
    notes = await shown_notes(team)
    assert notes.count("From its transcript:") == 1
    assert "Last prompt: Thank you" in notes
    assert "Now make the tests pass" not in notes


async def test_session_that_its_model_started_again_is_found_by_either_id(team: Team, sync: SyncClient):
    window = replace(access.LOCAL, windows=("claude:c1",))
    alice = await team.agent("alice", caller=window, working_directory="/home/ann/shop")
    again = await team.anyone(window).start_session(project="shop")
    assert again["already_started"]
    await alice.end_session(summary="", files_modified=["src/cart.py"])
    await sync.upload("c1", injected_line(again["session_id"]) + work_script().content)
    assert "Now make the tests pass" in await shown_notes(team)


async def test_handoff_that_an_agent_wrote_is_not_changed(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    await alice.end_session(summary="Totals", handoff_notes="Next: tax")
    await sync.upload("c1", injected_line(alice.session_id) + work_script().content)
    assert await shown_notes(team) == "Totals\n\nNext: tax"


async def test_handoff_that_was_taken_is_not_changed(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    left = (await alice.end_session(summary="", files_modified=["src/cart.py"]))["handoff_id"]
    bob = await team.agent("bob")
    await bob.end_session(summary="Done", takes_handoff=[left])
    await sync.upload("c1", injected_line(alice.session_id) + work_script().content)
    reader = await team.agent("reader")
    assert "make test" not in json.dumps(await reader.get_by_id(doc_id=left))


async def test_transcript_of_another_project_or_session_changes_nothing(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    await alice.end_session(summary="", files_modified=["src/cart.py"])
    bank = await register_sync_client(team, "server", project="bank")
    await bank.upload("c1", injected_line(alice.session_id) + work_script().content)
    await sync.upload("c2", injected_line(alice.session_id[:-34] + "0" * 32 + "04") + work_script().content)
    await sync.upload("c3", work_script().content)
    assert "make test" not in await shown_notes(team)


async def test_session_that_only_looked_around_leaves_no_handoff(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    looked = TranscriptScript().user("What is here?").run("ls", "src")
    await sync.upload("c1", injected_line(alice.session_id) + looked.content)
    assert "handoff_id" not in await alice.end_session(summary="")


async def test_notes_are_bounded_and_have_no_secrets(team: Team, sync: SyncClient):
    alice = await alice_of(team)
    await alice.end_session(summary="", files_modified=["src/cart.py"])
    script = TranscriptScript()
    for number in range(40):
        script.use_tool("Edit", f"/home/ann/shop/src/{'x' * 100}{number}.py").run(f"make {'y' * 500}{number}")
    script.user("Use ghp_" + "a1B2" * 9 + " and " + "go on " * 2_000)
    await sync.upload("c1", injected_line(alice.session_id) + script.content)
    notes = await shown_notes(team)
    assert "From its transcript:" in notes
    assert len(notes) < 5_000
    assert "ghp_" not in notes
