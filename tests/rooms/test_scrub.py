"""A secret that slipped in is removed from everything that the store keeps, and what is left still works."""

import json
from typing import Any

import pytest
from sync_client import register_sync_client
from test_archives_masked import everything_stored
from transcript_script import TranscriptScript

from commonplace import access, errors
from commonplace.rooms.admin.audit_sealing import LATE_COMMIT_MICROSECONDS, AuditSealer
from commonplace.rooms.archives.contributes import renew_sessions
from team import Team

SECRET = "quokka-lagoon-7Zk2pWvQ91x"


@pytest.fixture
async def operator(team: Team) -> Any:
    return team.anyone(access.OPERATOR)


async def _leak(team: Team) -> dict[str, str]:
    """The secret has no shape that masking knows, so it is stored wherever somebody writes it."""
    alice = await team.agent("alice")
    ids = {
        "document": (await alice.record_learning(topic="Deploy", content=f"Use {SECRET} to deploy."))["id"],
        "backlog": (await alice.add_backlog_item(title=f"Rotate {SECRET}"))["id"],
    }
    await alice.store(title="Deploy notes", content=f'first {SECRET} "quoted"', memory_type="pattern")
    await alice.send_message(to_instance="bob", message=f"the key is {SECRET}")
    await alice.define_spec(name="state:alice", content=json.dumps({"key": SECRET}))
    await alice.lock_files(files=["a.py"], reason=SECRET)
    await alice.checklist(action="create", name="release", items=[f"paste {SECRET}"])
    return ids


async def test_scrub_removes_a_secret_everywhere(team: Team, operator: Any):
    ids = await _leak(team)
    looked = await operator.call("memory_scrub", name="shop", secret=SECRET)
    assert looked["is_dry_run"]
    assert SECRET in await everything_stored(team.database)
    done = await operator.call("memory_scrub", name="shop", secret=SECRET, dry_run=False)
    assert done["found"].keys() >= {"document", "backlog", "message", "spec_version", "lease", "entry"}
    dump = await everything_stored(team.database)
    assert SECRET not in dump
    assert "7zk2pwvq91x" not in dump.lower()
    alice = await team.agent("alice")
    shown = await alice.get_by_id(doc_id=ids["document"])
    assert shown["content"] == "Use [scrubbed] to deploy."
    assert (await alice.query(query=SECRET)).get("results", []) == []
    assert [found["id"] for found in (await alice.query(query="deploy"))["results"]]


async def test_scrub_finds_nothing_the_second_time(team: Team, operator: Any):
    await _leak(team)
    await operator.call("memory_scrub", name="shop", secret=SECRET, dry_run=False)
    again = await operator.call("memory_scrub", name="shop", secret=SECRET, dry_run=False)
    assert again.get("found", {}) == {}


async def test_scrub_redacts_the_audit_log_so_that_it_still_verifies(team: Team, operator: Any):
    alice = await team.agent("alice")
    await alice.lock_files(files=[f"{SECRET}.py"])
    team.clock.now += 2 * LATE_COMMIT_MICROSECONDS
    await AuditSealer(team.calls).seal_new_rows()
    done = await operator.call("memory_scrub", name="shop", secret=SECRET, dry_run=False)
    assert done["found"]["audit"] == 1
    assert SECRET not in str(await operator.admin(action="audit_log", limit=50))
    verified = await operator.call("memory_verify_audit", name="shop", after=0)
    assert (verified["problems"], len(verified["redacted"])) == ([], 1)


async def test_scrub_blanks_archives_and_keeps_their_offsets(team: Team, operator: Any):
    laptop = await register_sync_client(team)
    script = TranscriptScript().user(f"Deploy with {SECRET} please").assistant(f"Used {SECRET}.")
    content = script.content
    await laptop.upload("s1", content)
    done = await operator.call("memory_scrub", name="shop", secret=SECRET, dry_run=False)
    assert done["found"]["archive_frame"] == 1
    await renew_sessions(team.calls)
    assert SECRET not in await everything_stored(team.database)
    raw = await laptop.read_all_bytes("s1")
    assert raw == content.replace(SECRET.encode(), b"*" * len(SECRET))
    again = await operator.call("memory_scrub", name="shop", secret=SECRET, dry_run=False)
    assert again.get("found", {}) == {}


async def test_a_short_text_is_not_scrubbed(operator: Any):
    with pytest.raises(errors.Invalid):
        await operator.call("memory_scrub", name="shop", secret="short", dry_run=False)


async def test_only_an_owner_scrubs(team: Team):
    caller = access.Caller("admin", frozenset({"shop"}), key="key_1", agent="ann")
    with pytest.raises(errors.Forbidden):
        await team.anyone(caller).call("memory_scrub", name="shop", secret=SECRET)
