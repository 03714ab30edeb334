"""A text by another agent never loses its author, and a reply says which authors are verified by a key."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pytest

from commonplace import access
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from team import Agent, Team

pytestmark = pytest.mark.sqlite_only

TOPIC = "Rounding of cart totals"


@dataclass
class Authors:
    """dora, whose key is bound to her name, wrote a text of every kind; finn reads them with a key for a team."""

    reader: Agent
    ids: dict[str, str]


async def make_key(team: Team, name: str, agent: str | None = None) -> Caller:
    arguments: dict[str, Any] = {"action": "create_key", "name": name, "projects": ["shop"]}
    made = await team.anyone(access.OPERATOR).call(
        "memory_admin", **arguments | ({"agent": agent} if agent else {})
    )
    return Caller("agent", frozenset({"shop"}), made["id"], agent)


@pytest.fixture
async def authors(team: Team) -> Authors:
    guarded = Team(Calls(team.database, CATALOGUE, Settings(auth="on"), team.clock), team.clock)
    dora = await guarded.agent("dora", caller=await make_key(guarded, "dora", "dora"))
    shared = await make_key(guarded, "team")
    await guarded.agent("finn", caller=shared)
    ids = {
        "learning": (await dora.record_learning(topic=TOPIC, content="Round once, at the end."))["id"],
        "pattern": (await dora.store(title=f"{TOPIC} in cents", content="Integers.", memory_type="pattern"))[
            "id"
        ],
        "spec": (await dora.define_spec(name="cart totals", content="GET /cart"))["id"],
        "backlog": (await dora.add_backlog_item(title=TOPIC, description="off by one"))["id"],
        "function": (await dora.register_function(name="round_total", file_path="a.py", purpose=TOPIC))["id"],
    }
    await dora.checklist(action="create", name="rounding", items=["cents"])
    await dora.update_work(title=TOPIC, status="in_progress", signals=["ready"], signal_details="go")
    await dora.send_message(to_instance="finn", message=TOPIC)
    ids["board"] = (await dora.create_session(purpose=TOPIC, project="shop"))["session_id"]
    await dora.add_message(session_id=ids["board"], content=TOPIC, agent_session=dora.session_id)
    await dora.register_workspace(machine="laptop", tool="cli", project="shop")
    await dora.write_knowledge(path="rounding.md", content=f"# {TOPIC}")
    await dora.write_overview(content=f"# {TOPIC}")
    await dora.lock_files(files=["a.py"], reason="rounding")
    await dora.end_session(summary="half", handoff_notes="next: tax")
    await (await guarded.agent("dora", caller=dora.caller)).lock_files(files=["a.py"])
    reader = await guarded.agent("finn", caller=shared, task_description=TOPIC, token_budget=6000)
    return Authors(reader, ids)


Read = Callable[[Authors], Awaitable[dict[str, Any]]]
READS: dict[str, Read] = {
    "boot pack": lambda authors: _started(authors.reader),
    "mail": lambda authors: authors.reader.get_messages(include_delivered=True),
    "query": lambda authors: authors.reader.query(query=TOPIC, limit=10),
    "global search": lambda authors: authors.reader.search_global(query=TOPIC),
    "spec": lambda authors: authors.reader.get_spec(name="cart totals"),
    "specs": lambda authors: authors.reader.list_specs(),
    "backlog": lambda authors: authors.reader.list_backlog(),
    "checklist": lambda authors: authors.reader.checklist(action="get", name="rounding"),
    "function": lambda authors: authors.reader.find_function(query="round total"),
    "work": lambda authors: authors.reader.get_active_work(),
    "locks": lambda authors: authors.reader.get_locks(),
    "blackboard": lambda authors: authors.reader.get_context(
        session_id=authors.ids["board"], agent_session=authors.reader.session_id
    ),
    "file": lambda authors: authors.reader.read_knowledge(workspace_id="laptop-cli-shop", path="rounding.md"),
    "files": lambda authors: authors.reader.search_knowledge(query="rounding"),
    "overview": lambda authors: authors.reader.get_overview(workspace_id="laptop-cli-shop"),
    **{
        f"{kind} by id": lambda authors, kind=kind: authors.reader.get_by_id(doc_id=authors.ids[kind])
        for kind in ("learning", "pattern", "spec", "backlog", "function")
    },
}


async def _started(reader: Agent) -> dict[str, Any]:
    return reader.started


async def test_a_reply_names_the_author_and_that_a_key_verifies_it(authors: Authors):
    for name, read in READS.items():
        reply = await read(authors)
        assert {"kind": "agent", "name": "dora", "verified": True} in reply["_by"], name


async def test_every_text_of_the_boot_pack_has_its_author(authors: Authors):
    started = authors.reader.started
    for section in ("learnings", "patterns"):
        assert [entry["author"] for entry in started[section]] == ["dora"]
    assert [item["created_by"] for item in started["backlog"]] == ["dora"]
    handoffs = [*started["handoff"].get("others", []), started["handoff"]]
    assert "dora" in {handoff.get("from") or handoff.get("agent") for handoff in handoffs}


async def test_guidelines_of_the_boot_pack_have_their_author(team: Team):
    alice = await team.agent("alice")
    await alice.guidelines(action="set", name="tests", rule="Run them.", scope="shop")
    bob = await team.agent("bob")
    assert bob.started["proposed_guidelines"] == [{"name": "tests", "rule": "Run them.", "by": "alice"}]


async def test_a_name_without_a_key_is_not_verified(team: Team):
    guarded = Team(Calls(team.database, CATALOGUE, Settings(auth="on"), team.clock), team.clock)
    shared = await make_key(guarded, "team")
    alice, bob = [await guarded.agent(name, caller=shared) for name in ("alice", "bob")]
    await alice.send_message(to_instance="bob", message="hello")
    reply = await bob.get_messages()
    assert [mail["from"] for mail in reply["messages"]] == ["alice"]
    assert "_by" not in reply


async def test_a_text_that_only_mentions_a_verified_name_does_not_verify_it(team: Team):
    guarded = Team(Calls(team.database, CATALOGUE, Settings(auth="on"), team.clock), team.clock)
    await make_key(guarded, "dora", "dora")
    shared = await make_key(guarded, "team")
    alice, bob = [await guarded.agent(name, caller=shared) for name in ("alice", "bob")]
    await alice.send_message(to_instance="bob", message=msgspec.json.encode({"from": "dora"}).decode())
    assert "_by" not in await bob.get_messages()


async def test_a_notice_verifies_who_did_something_and_not_whom_its_text_names(team: Team):
    guarded = Team(Calls(team.database, CATALOGUE, Settings(auth="on"), team.clock), team.clock)
    dora = await guarded.agent("dora", caller=await make_key(guarded, "dora", "dora"))
    await make_key(guarded, "erin", "erin")
    shared = await make_key(guarded, "team")
    alice, bob = [await guarded.agent(name, caller=shared) for name in ("alice", "bob")]
    await alice.add_backlog_item(title="Ask dora or erin", assigned_to="bob")
    assert "_by" not in await bob.heartbeat()
    await dora.add_backlog_item(title="Ask erin", assigned_to="bob")
    reply = await bob.heartbeat()
    assert (len(reply["_notice"]), [by["name"] for by in reply["_by"]]) == (1, ["dora"])
    await dora.send_message(to_instance="bob", message="erin")
    assert [by["name"] for by in (await bob.heartbeat())["_by"]] == ["dora"]


async def test_the_audit_log_names_the_key(team: Team):
    dora = await make_key(team, "dora", "dora")
    agent = await team.agent("dora", caller=dora)
    team.clock.advance(seconds=1)
    await agent.record_learning(topic="Carts", content="They expire.")
    log = await team.anyone(access.OPERATOR).admin(action="audit_log", agent="dora", limit=1)
    assert (log["events"][0]["operation"], log["events"][0]["key"]) == ("memory_record_learning", dora.key)
