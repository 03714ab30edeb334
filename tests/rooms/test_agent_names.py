"""An agent that gets another name takes everything with it; no column that holds a name is forgotten."""

import contextlib
import re
from dataclasses import replace
from typing import Any

import pytest

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.catalogue import CATALOGUE
from commonplace.room import list_operations
from team import Agent, Team

DECLARED = {str(column) for column in CATALOGUE.agent_columns}
AGENT_WORDS = re.compile(r"agent|author|owner|sender|actor|audience|\w+_(by|to|owner)")
"""What a column that holds the name of an agent is called; tables of names call it `name`."""
NOT_NAMES = {"document.superseded_by", "message.reply_to"}
KEY = Caller("agent", frozenset({"*"}), "key_team")


async def list_text_columns(team: Team) -> list[tuple[str, str]]:
    async def read(tx: Any) -> list[tuple[str, str]]:
        if tx.kind == "postgresql":
            rows = await tx.all(
                "select table_name, column_name from information_schema.columns"
                " where table_schema = 'public' and data_type = 'text'"
            )
            return [(row["table_name"], row["column_name"]) for row in rows]
        tables = await tx.all(
            "select name from sqlite_schema where type = 'table' and sql not like '%virtual%'"
        )
        return [
            (table["name"], column["name"])
            for table in tables
            for column in await tx.all(f"select name, type from pragma_table_info('{table['name']}')")
            if column["type"].lower() == "text"
        ]

    return await team.database.read(read)


async def find_columns_with(team: Team, name: str) -> set[str]:
    """The columns that hold this name, alone or as an audience or private owner."""
    columns = await list_text_columns(team)
    pattern = re.compile(rf"(\w+:/?)?{name}(/.*)?")

    async def read(tx: Any) -> set[str]:
        return {
            f"{table}.{column}"
            for table, column in columns
            for row in await tx.all(f"select distinct {column} as value from {table}")
            if pattern.fullmatch(row["value"] or "")
        }

    return await team.database.read(read)


async def test_every_column_that_holds_an_agents_name_is_declared_by_its_room(team: Team):
    columns = {f"{table}.{column}" for table, column in await list_text_columns(team)}
    named = {name for name in columns if AGENT_WORDS.fullmatch(name.partition(".")[2])} - NOT_NAMES
    assert named - DECLARED == set()
    assert DECLARED - columns == set()


LEFT_OUT = {"memory_end_session", "memory_start_session", "memory_call_operation"}


async def run_every_write(team: Team, agent: Agent) -> None:
    """Call each write with its example; what an example lacks is refused, which is no matter here."""
    for tool in CATALOGUE.tools.values():
        for operation in list_operations(tool):
            if operation.writes and operation.name not in LEFT_OUT:
                with contextlib.suppress(errors.Refusal):
                    arguments = dict(operation.example)
                    if operation.session_argument:
                        arguments[operation.session_argument] = agent.session_id
                    await team.calls.run_operation(operation, arguments, agent.caller)


async def test_no_write_leaves_a_name_in_a_column_that_is_not_declared(team: Team):
    quill = await team.agent("quill", caller=KEY)
    await team.agent("backend", caller=KEY)
    board = (await quill.create_session(purpose="plan"))["session_id"]
    as_quill = {"session_id": board, "agent_session": quill.session_id}
    for visibility in ("public", "private", "agent_only"):
        await quill.add_message(**as_quill, content="x", visibility=visibility)
    item = await quill.add_backlog_item(title="Tax", assigned_to="quill")
    await quill.update_backlog_item(item_id=item["id"], claim=True)
    await run_every_write(team, quill)
    child = await team.agent("helper", caller=KEY, spawned_by="quill")
    await child.update_work(title="wait", status="blocked", blocked_by="quill")
    await quill.close_session(session_id=board, agent_session=quill.session_id)
    await quill.complete_backlog_item(item_id=item["id"])
    await quill.end_session(summary="done", handoff_notes="next")
    found = await find_columns_with(team, "quill")
    assert found - DECLARED == set()
    assert {"session.spawned_by", "context_message.audience", "context_memory_usage.agent"} <= found


def in_window(window: str, caller: Caller = access.LOCAL) -> Caller:
    return replace(caller, windows=(window,), seat="claude@laptop")


@pytest.fixture(params=["keys off", "one key"])
def caller(request: pytest.FixtureRequest) -> Caller:
    return access.LOCAL if request.param == "keys off" else KEY


async def start_claude(team: Team, caller: Caller, window: str = "claude:1") -> Agent:
    """A hook's session: the server chose its name."""
    claude = team.anyone(in_window(window, caller))
    started = await claude.start_session(project="shop", working_directory="/shop")
    assert started["agent"] == "claude"
    return claude


async def choose_name(claude: Agent, name: str = "backend") -> dict[str, Any]:
    started = await claude.start_session(project="shop", claude_instance=name)
    assert (started["agent"], started["already_started"]) == (name, True)
    return started


async def test_chosen_name_takes_everything_of_the_agent_with_it(team: Team, caller: Caller):
    ann = await team.agent("ann", caller=caller)
    await ann.define_spec(name="cart", content="v1")
    await ann.lock_files(files=["tax.py"])
    claude = await start_claude(team, caller)
    board = (await claude.create_session(purpose="plan"))["session_id"]
    await claude.set_memory(key="plan", value="mine")
    await claude.add_private_note(session_id=board, content="a secret thought")
    await claude.define_spec(name="orders", content="v1")
    await claude.register_workspace(machine="laptop", tool="cli", project="shop")
    await claude.get_spec(name="cart")
    await claude.lock_files(files=["cart.py"])
    await claude.lock_files(files=["tax.py"])
    item = await claude.add_backlog_item(title="Tax")
    await claude.update_backlog_item(item_id=item["id"], claim=True)
    question = await claude.send_message(to_instance="ann", message="may I?")
    await ann.send_message(to_instance="claude", message="yes", reply_to=question["message_id"])

    await choose_name(claude)

    assert (await claude.get_memory(key="plan"))["value"] == "mine"
    notes = await claude.get_context(session_id=board, visibility_filter="private")
    assert [(note["sender"], note["content"]) for note in notes["messages"]] == [
        ("backend", "a secret thought")
    ]
    hits = await claude.search_context(session_id=board, query="thought")
    assert hits["message_count"] == 1
    assert (await claude.define_spec(name="orders", content="v2"))["owner"] == "backend"
    await claude.write_knowledge(path="notes.md", content="# Notes")
    assert [mail["message"] for mail in (await claude.get_messages(include_delivered=True))["messages"]] == [
        "yes"
    ]
    assert [mail["from"] for mail in (await ann.get_messages(include_delivered=True))["messages"]] == [
        "backend"
    ]
    locks = await ann.get_locks()
    assert [(lock["file"], lock["held_by"]) for lock in locks["locks"]] == [("cart.py", "backend")]
    assert [(each["file"], each["agent"]) for each in locks["wanted_by"]] == [("tax.py", "backend")]
    assert (await claude.complete_backlog_item(item_id=item["id"]))["completed_by"] == "backend"
    await ann.define_spec(name="cart", content="v2")
    await ann.unlock_files()
    notices = " ".join((await claude.list_specs())["_notice"])
    assert "spec cart" in notices
    assert "tax.py" in notices
    roster = {agent["instance"] for agent in (await ann.list_agents())["agents"]}
    assert roster == {"ann", "backend"}
    left = await find_columns_with(team, "claude")
    assert left <= {str(column) for column in CATALOGUE.agent_columns if column.follows == "never"}


async def test_an_unfinished_handoff_follows_the_name(team: Team, caller: Caller):
    claude = await start_claude(team, caller)
    await claude.end_session(summary="half", handoff_notes="next: tax")
    claude = await start_claude(team, caller, "claude:2")
    started = await choose_name(claude)
    assert (started["handoff"]["notes"], started["handoff"]["from"]) == ("half\n\nnext: tax", "backend")


async def test_merging_into_a_known_name_is_as_if_both_had_been_one_agent(team: Team, caller: Caller):
    ann = await team.agent("ann", caller=caller)
    before = await team.agent("backend", caller=caller)
    board = (await before.create_session(purpose="plan"))["session_id"]
    await before.set_memory(key="plan", value="old", session_id=None, agent_session=before.session_id)
    await before.set_memory(key="own", value="kept", session_id=None, agent_session=before.session_id)
    await before.add_private_note(session_id=board, content="first", agent_session=before.session_id)
    await before.register_workspace(machine="laptop", tool="x", project="shop")
    await before.end_session(summary="done")
    team.clock.advance(minutes=1)
    claude = await start_claude(team, caller)
    await ann.send_message(to_instance="*", message="for all")
    await ann.send_message(to_instance="backend", message="for backend")
    await claude.set_memory(key="plan", value="new")
    await claude.add_private_note(session_id=board, content="second")
    assert [mail["message"] for mail in (await claude.get_messages(include_delivered=True))["messages"]] == [
        "for all"
    ]

    await choose_name(claude)

    assert (await claude.get_memory(key="plan"))["value"] == "new"
    assert (await claude.get_memory(key="own"))["value"] == "kept"
    assert (await claude.list_memory())["total"] == 2
    notes = await claude.get_context(session_id=board, visibility_filter="private")
    assert [note["content"] for note in notes["messages"]] == ["first", "second"]
    assert [mail["message"] for mail in (await claude.get_messages())["messages"]] == ["for backend"]
    await claude.write_knowledge(path="notes.md", content="# Notes")
    agents = {agent["instance"]: agent for agent in (await ann.list_agents())["agents"]}
    assert (agents.keys(), agents["backend"]["session_count"]) == ({"ann", "backend"}, 2)


async def test_another_window_under_the_old_name_keeps_what_belongs_to_the_agent(team: Team, caller: Caller):
    claude = await start_claude(team, caller)
    await claude.set_memory(key="plan", value="ours")
    await claude.lock_files(files=["cart.py"])
    other = await team.agent("claude", caller=caller)
    await choose_name(claude)
    assert (await other.get_memory(key="plan", session_id=None, agent_session=other.session_id))[
        "value"
    ] == "ours"
    with pytest.raises(errors.NotFound):
        await claude.get_memory(key="plan")
    assert [lock["held_by"] for lock in (await other.get_locks())["locks"]] == ["backend"]


async def test_a_registered_agent_keeps_its_name_when_one_of_its_windows_chooses_another(team: Team):
    operator = team.anyone(access.OPERATOR)
    await operator.project(action="create", name="shop")
    await operator.project(action="add_agent", name="shop", agent="claude", tier="admin")
    claude = team.anyone(in_window("claude:1"))
    await claude.start_session(project="shop", claude_instance="claude")
    await choose_name(claude)
    tiers = {agent["instance"]: agent["tier"] for agent in (await claude.list_agents())["agents"]}
    assert tiers == {"claude": "admin", "backend": "pending"}
