"""No secret is kept by any operation that writes: each is given one in every argument that takes text."""

import re

import msgspec
import pytest

from commonplace import errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from team import Team

pytestmark = pytest.mark.sqlite_only

KEY = "ghp_" + "a1B2" * 9


async def everything(team: Team) -> str:
    """Every row of every table, as text."""

    async def read(tx) -> str:
        found = "select name from sqlite_schema where type = 'table'"
        if tx.kind == "postgresql":
            found = "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
        tables = [row["name"] for row in await tx.all(found)]
        rows = [await tx.all(f"select * from {table}") for table in tables if "words" not in table]
        return "\n".join(repr([dict(row) for row in each]) for each in rows)

    return await team.database.read(read)


WRITES = {
    "update_work": {
        "title": f"use {KEY}",
        "notes": KEY,
        "files_touched": [f"a/{KEY}.py"],
        "status": "in_progress",
    },
    "heartbeat": {"current_task": f"with {KEY}"},
    "send_message": {"to_instance": "bob", "message": f"here: {KEY}", "subject": f"key {KEY}"},
    "add_backlog_item": {"title": f"rotate {KEY}", "description": KEY, "tags": [KEY]},
    "define_spec": {"name": "cart", "content": f"token: {KEY}"},
    "lock_files": {"files": ["a.py"], "reason": f"because {KEY}"},
    "checklist": {"action": "create", "name": "go", "items": [f"check {KEY}"]},
    "guidelines": {"action": "set", "name": "one", "rule": f"never print {KEY}"},
    "store": {
        "title": "Cart",
        "content": f"uses {KEY}",
        "memory_type": "architecture",
        "tags": [KEY],
        "files_related": [f"src/{KEY}.py"],
        "interface_name": f"Cart {KEY}",
        "interface_schema": {f"x {KEY}": {"default": KEY}},
    },
    "record_learning": {"topic": f"Key {KEY}", "content": "It is short.", "tags": [KEY]},
    "register_function": {
        "name": "pay",
        "file_path": "pay.py",
        "purpose": f"pays with {KEY}",
        "requires": [KEY],
    },
    "end_session": {"summary": f"s {KEY}", "learnings": f"l {KEY}", "handoff_notes": f"h {KEY}"},
}


@pytest.mark.parametrize("operation", WRITES)
async def test_write_keeps_no_secret(team, operation):
    alice = await team.agent("alice", task_description=f"task {KEY}")
    await team.agent("bob")
    await getattr(alice, operation)(**WRITES[operation])
    kept = await everything(team)
    assert not re.search(KEY, kept, re.IGNORECASE)
    assert "[masked: github token]" in kept.lower()


async def test_blackboard_and_agent_memory_keep_no_secret(team):
    anyone = team.anyone()
    session = (await anyone.create_session(purpose=f"look at {KEY}", agent_id="alice"))["session_id"]
    place = {"session_id": session, "agent_id": "alice"}
    await anyone.add_message(**place, content=f"it is {KEY}", sender="alice", metadata={"a": [KEY]})
    await anyone.add_private_note(**place, content=f"mine is {KEY}")
    await anyone.set_memory(**place, key="plan", value={"step": [f"use {KEY}"]})
    assert KEY not in await everything(team)


@pytest.mark.parametrize("operation", WRITES)
async def test_write_is_refused_where_the_policy_says_so(team, operation):
    strict = Team(Calls(team.database, CATALOGUE, Settings(secrets="refuse"), team.clock), team.clock)
    alice = await strict.agent("alice")
    with pytest.raises(errors.Invalid):
        await getattr(alice, operation)(**WRITES[operation])
    assert KEY not in await everything(team)


ESCAPED = "\\u0067hp_" + KEY.removeprefix("ghp_")


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("record_learning", {"topic": "Key", "content": "It is short.", "tags": f'["{ESCAPED}"]'}),
        ("batch_backlog", {"action": "create", "items": f'[{{"title": "Rotate {ESCAPED}"}}]'}),
        (
            "batch_backlog",
            {"action": "create", "items": [{"title": "Rotate", "tags": f'["use {ESCAPED}"]'}]},
        ),
    ],
    ids=["list", "items", "list in an item"],
)
async def test_a_secret_behind_json_escapes_is_masked(team, operation, arguments):
    alice = await team.agent("alice")
    reply = await getattr(alice, operation)(**arguments)
    assert reply["_notice"] == ["Secrets were masked before storing: github token."]
    assert not re.search(KEY, await everything(team), re.IGNORECASE)


async def test_masking_is_told_with_the_reply(team):
    alice = await team.agent("alice")
    told = await alice.heartbeat(current_task=f"with {KEY}")
    assert told["_notice"] == ["Secrets were masked before storing: github token."]


async def test_file_is_locked_under_the_name_that_it_has(team):
    alice = await team.agent("alice")
    locked = await alice.lock_files(files=[f"keys/{KEY}.pem"])
    assert KEY in msgspec.json.encode(locked).decode()
