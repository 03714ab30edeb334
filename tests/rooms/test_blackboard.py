"""Blackboards: sessions, messages in order, search, what fits into few tokens, the trail."""

import asyncio
from dataclasses import replace

import pytest

from commonplace import access, errors, events
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.server import delete_old_rows
from team import Agent, HandClock, Team, open_store


def make_caller(name: str, *projects: str, role: access.Role = "agent", agent_type: str = "") -> Caller:
    return Caller(role, frozenset(projects or ("shop",)), f"key_{name}", name, agent_type)


@pytest.fixture
def alice(team: Team) -> Agent:
    return team.anyone(make_caller("alice"))


@pytest.fixture
def bob(team: Team) -> Agent:
    return team.anyone(make_caller("bob"))


@pytest.fixture
async def board(alice: Agent) -> str:
    return (await alice.create_session(purpose="Design the cart"))["session_id"]


async def test_create_session_is_found_again(team: Team, alice: Agent, bob: Agent):
    created = await alice.create_session(purpose="Design the cart", metadata={"ticket": 7})
    session_id = created["session_id"]
    assert created == {
        "session_id": session_id,
        "purpose": "Design the cart",
        "project": "shop",
        "created_at": "2027-01-15T08:00:00Z",
        "created_by": "alice",
    }
    assert session_id.startswith("session_")
    assert len(bytes.fromhex(session_id.removeprefix("session_"))) == 8
    session = {
        "session_id": session_id,
        "purpose": "Design the cart",
        "project": "shop",
        "status": "active",
        "created_by": "alice",
        "created_at": "2027-01-15T08:00:00Z",
        "updated_at": "2027-01-15T08:00:00Z",
        "message_count": 0,
        "metadata": {"ticket": 7},
    }
    assert await bob.get_session(session_id=session_id) == {
        "messages": [],
        "session": session,
        "message_count": 0,
        "last_activity": "2027-01-15T08:00:00Z",
    }
    assert await bob.list_sessions() == {"total": 1, "sessions": [session]}
    assert await team.anyone().list_sessions(project="Shop") == {"total": 1, "sessions": [session]}


async def test_create_session_without_project_goes_to_the_shared_one_or_the_only_one(team: Team):
    assert (await team.anyone().create_session(purpose="x"))["project"] == "shared"
    assert (await team.anyone(make_caller("carol", "docs")).create_session(purpose="x"))["project"] == "docs"
    with pytest.raises(errors.Invalid):
        await team.anyone(make_caller("dan", "docs", "shop")).create_session(purpose="x")


async def test_session_of_a_project_that_the_caller_does_not_see_is_not_found(team: Team, board: str):
    stranger = team.anyone(make_caller("eve", "docs"))
    for operation, more in (
        ("get_session", {}),
        ("get_context", {}),
        ("search_context", {"query": "cart"}),
        ("get_message", {"message_id": "msg_000000000000"}),
        ("add_message", {"content": "hi"}),
        ("add_private_note", {"content": "hi"}),
        ("close_session", {}),
        ("set_memory", {"key": "k", "value": 1}),
        ("get_memory", {"key": "k"}),
        ("list_memory", {}),
        ("delete_memory", {"key": "k"}),
    ):
        with pytest.raises(errors.NotFound):
            await stranger.call(operation, session_id=board, **more)
    with pytest.raises(errors.Forbidden):
        await stranger.list_sessions(project="shop")
    assert await stranger.list_sessions() == {"sessions": [], "total": 0}
    assert await stranger.list_sessions(project="shared") == {"total": 0, "sessions": []}


async def test_list_sessions_pages_and_leaves_closed_ones_out(team: Team, alice: Agent):
    made = []
    for n in range(5):
        team.clock.advance(seconds=1)
        made.append((await alice.create_session(purpose=f"work {n}"))["session_id"])
    await alice.close_session(session_id=made[4], summary="done")
    page = await alice.list_sessions(limit=2, offset=1)
    assert page["total"] == 4
    assert [item["session_id"] for item in page["sessions"]] == [made[2], made[1]]
    every = await alice.list_sessions(active_only=False)
    assert every["total"] == 5
    assert every["sessions"][0] | {"metadata": {}} == {
        "session_id": made[4],
        "purpose": "work 4",
        "project": "shop",
        "status": "completed",
        "created_by": "alice",
        "created_at": "2027-01-15T08:00:05Z",
        "updated_at": "2027-01-15T08:00:05Z",
        "message_count": 0,
        "metadata": {},
        "summary": "done",
        "closed_at": "2027-01-15T08:00:05Z",
        "closed_by": "alice",
    }


async def test_session_id_may_be_cut_and_an_ambiguous_beginning_is_refused(
    team: Team, alice: Agent, board: str
):
    assert (await alice.get_session(session_id=board[:16]))["session"]["session_id"] == board
    twin = board[:-1] + ("0" if board[-1] != "0" else "1")
    hidden = board[:-1] + ("2" if board[-1] != "2" else "3")

    async def insert_rows(tx):
        for session_id, project in ((twin, "shop"), (hidden, "docs")):
            await tx.run(
                "insert into context_session_place (id, project) values ($1, $2)", session_id, project
            )

    await team.database.write(insert_rows)
    with pytest.raises(errors.Conflict) as refused:
        await alice.get_session(session_id=board[:20])
    assert refused.value.details == {"candidates": sorted([board, twin])}
    for unknown in ("session_", "session_ffffffffffffffff0", "nonsense", "session_zzzzzzzzzz"):
        with pytest.raises(errors.NotFound):
            await alice.get_session(session_id=unknown)


async def test_add_message_is_seen_by_others_in_order(team: Team, alice: Agent, bob: Agent, board: str):
    first = await alice.add_message(
        session_id=board, content="Redis or not?", metadata={"files": ["cart.py"]}
    )
    team.clock.advance(seconds=0.000001)
    second = await bob.add_message(
        session_id=board,
        content="No.",
        message_type="status_update",
        parent_message_id=first["message_id"],
        sender="bob",
    )
    assert first == {
        "message_id": first["message_id"],
        "sequence": 1,
        "timestamp": "2027-01-15T08:00:00.000000Z",
    }
    assert await alice.get_context(session_id=board) == {
        "count": 2,
        "total_count": 2,
        "has_more": False,
        "next_after": 2,
        "messages": [
            {
                "id": first["message_id"],
                "sequence": 1,
                "sender": "alice",
                "content": "Redis or not?",
                "timestamp": "2027-01-15T08:00:00.000000Z",
                "message_type": "agent_response",
                "visibility": "public",
                "metadata": {"files": ["cart.py"]},
            },
            {
                "id": second["message_id"],
                "sequence": 2,
                "sender": "bob",
                "content": "No.",
                "timestamp": "2027-01-15T08:00:00.000001Z",
                "message_type": "status_update",
                "visibility": "public",
                "parent_message_id": first["message_id"],
            },
        ],
    }
    session = (await alice.get_session(session_id=board))["session"]
    assert (session["message_count"], session["participants"]) == (2, ["alice", "bob"])


async def test_get_messages_is_get_context(alice: Agent, board: str):
    await alice.add_message(session_id=board, content="hello")
    same = await alice.call("get_messages", session_id=board, limit=5)
    assert same == await alice.get_context(session_id=board, limit=5)
    assert same["count"] == 1


async def test_get_message_shows_parent_and_replies(alice: Agent, bob: Agent, board: str):
    parent = await alice.add_message(session_id=board, content="a question?")
    replies = [
        (
            await bob.add_message(
                session_id=board, content=f"answer {n}", parent_message_id=parent["message_id"][:12]
            )
        )["message_id"]
        for n in range(2)
    ]
    asked = await alice.get_message(session_id=board, message_id=parent["message_id"])
    assert (asked["message"]["content"], asked["replies"]) == ("a question?", replies)
    answer = await alice.get_message(session_id=board, message_id=replies[0])
    assert answer == {
        "replies": [],
        "message": answer["message"],
        "parent": asked["message"],
    }
    assert answer["message"]["parent_message_id"] == parent["message_id"]
    with pytest.raises(errors.NotFound):
        await alice.get_message(session_id=board, message_id="msg_")
    with pytest.raises(errors.NotFound):
        await alice.add_message(session_id=board, content="x", parent_message_id="msg_000000000000")


@pytest.mark.parametrize(
    "invalid",
    [
        {"content": ""},
        {"content": "x" * 100_001},
        {"content": "a\0b"},
        {"visibility": "everyone"},
        {"message_type": "shout"},
        {"metadata": {"x": "y" * 10_000}},
        {"idempotency_key": ""},
        {"sender": "a b"},
    ],
)
async def test_add_message_refuses_what_is_over_its_limits(alice: Agent, board: str, invalid: dict):
    with pytest.raises((errors.Invalid, errors.TooLarge)):
        await alice.add_message(**{"session_id": board, "content": "fine"} | invalid)
    assert (await alice.get_context(session_id=board))["total_count"] == 0


async def test_add_message_takes_the_largest_content(alice: Agent, board: str):
    await alice.add_message(session_id=board, content="ü" * 100_000, metadata={"x": "y" * 9_990})
    assert len((await alice.get_context(session_id=board))["messages"][0]["content"]) == 100_000


async def test_add_message_with_the_same_idempotency_key_is_one_message(alice: Agent, bob: Agent, board: str):
    post = {"session_id": board, "content": "once", "idempotency_key": "k"}
    answers = await asyncio.gather(*(alice.add_message(**post) for _ in range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]["sequence"] == 1
    with pytest.raises(errors.Conflict, match="other arguments"):
        await alice.add_message(**post | {"content": "another"})
    assert (await bob.add_message(**post))["sequence"] == 2


async def test_closed_session_refuses_messages_and_stays_readable(team: Team, alice: Agent, board: str):
    await alice.add_message(session_id=board, content="the end")
    closed = await alice.close_session(session_id=board, status="archived", summary="We chose Redis.")
    assert closed == {
        "session_id": board,
        "status": "archived",
        "closed_at": "2027-01-15T08:00:00Z",
        "message_count": 1,
    }
    with pytest.raises(errors.Conflict):
        await alice.add_message(session_id=board, content="one more")
    with pytest.raises(errors.Conflict):
        await alice.add_private_note(session_id=board, content="one more")
    assert (await alice.get_context(session_id=board))["total_count"] == 1
    team.clock.advance(minutes=1)
    again = await alice.close_session(session_id=board)
    assert (again["status"], again["closed_at"]) == ("completed", "2027-01-15T08:00:00Z")


async def test_idle_session_closes_itself(team: Team, alice: Agent, board: str):
    await alice.add_message(session_id=board, content="still here")
    team.clock.advance(days=7)
    with pytest.raises(errors.Conflict):
        await alice.add_message(session_id=board, content="late")
    idle_session = (await alice.get_session(session_id=board))["session"]
    assert (idle_session["status"], idle_session["closed_by"]) == ("completed", "idle")
    assert await alice.list_sessions() == {"sessions": [], "total": 0}
    await delete_old_rows(team.calls)
    closed_session = (await alice.get_session(session_id=board))["session"]
    assert closed_session == idle_session | {"closed_at": "2027-01-22T08:00:00Z"}
    published = await team.database.read(lambda tx: events.list_events_after(tx, "shop", 0))
    assert [event.kind for event in published] == ["SessionCreated", "MessageAdded", "SessionClosed"]


async def test_session_never_idles_out_when_no_hours_are_set(team: Team, alice: Agent, board: str):
    calls = Calls(team.database, CATALOGUE, Settings(context_idle_hours=0), team.clock)
    team.clock.advance(days=400)
    await Agent(calls, caller=alice.caller).add_message(session_id=board, content="still open")
    await delete_old_rows(calls)
    assert (await Agent(calls, caller=alice.caller).list_sessions())["total"] == 1


async def test_get_context_pages_by_offset_and_by_sequence(alice: Agent, board: str):
    for n in range(1, 8):
        await alice.add_message(session_id=board, content=f"m{n}")

    async def read_contents(**arguments):
        page = await alice.get_context(session_id=board, **arguments)
        contents = [message["content"] for message in page.get("messages", [])]
        return contents, page["total_count"], page["has_more"], page["next_after"]

    assert await read_contents(limit=3, offset=0) == (["m1", "m2", "m3"], 7, True, 3)
    assert await read_contents(limit=3, after=0) == (["m1", "m2", "m3"], 7, True, 3)
    assert await read_contents(limit=3, offset=3) == (["m4", "m5", "m6"], 7, True, 6)
    assert await read_contents(limit=3, after=4) == (["m5", "m6", "m7"], 7, False, 7)
    assert await read_contents(after=7) == ([], 7, False, 7)


async def test_get_context_filters_by_sender_and_time(team: Team, alice: Agent, bob: Agent, board: str):
    await alice.add_message(session_id=board, content="early")
    team.clock.advance(minutes=1)
    await bob.add_message(session_id=board, content="middle")
    team.clock.advance(minutes=1)
    await alice.add_message(session_id=board, content="late")

    async def read_contents(**arguments):
        page = await alice.get_context(session_id=board, **arguments)
        contents = [message["content"] for message in page.get("messages", [])]
        assert page["total_count"] == len(contents)
        return contents

    assert await read_contents(sender="alice") == ["early", "late"]
    assert await read_contents(since="2027-01-15T08:01:00Z") == ["middle", "late"]
    assert await read_contents(until="2027-01-15T09:01:00+01:00") == ["early", "middle"]
    assert (
        await read_contents(since="2027-01-15T08:00:00.000001", until="2027-01-15T08:01:59", sender="alice")
        == []
    )
    with pytest.raises(errors.Invalid):
        await alice.get_context(session_id=board, since="yesterday")


async def test_get_context_without_a_range_gives_the_newest_and_counts_the_older(alice: Agent, board: str):
    for n in range(1, 8):
        await alice.add_message(session_id=board, content=f"m{n}")
    page = await alice.get_context(session_id=board, limit=3)
    assert [message["content"] for message in page["messages"]] == ["m5", "m6", "m7"]
    assert {name: page[name] for name in ("count", "total_count", "has_more", "next_after", "left_out")} == {
        "count": 3,
        "total_count": 7,
        "has_more": True,
        "next_after": 7,
        "left_out": {"messages": 4, "hint": "These are the newest; after=0 reads from the beginning."},
    }
    whole = await alice.get_context(session_id=board, limit=7)
    assert (whole["count"], whole["has_more"], "left_out" in whole) == (7, False, False)


async def test_get_context_within_tokens_keeps_what_matters_and_says_what_it_left_out(
    alice: Agent, bob: Agent, board: str
):
    await alice.add_message(session_id=board, content="Redis for the cart", metadata={"kind": "decision"})
    asked = await alice.add_message(
        session_id=board, content="Who migrates the old carts?", metadata={"type": "question"}
    )
    answered = await alice.add_message(session_id=board, content="Is the staging cluster up?")
    for _ in range(3):
        await bob.add_message(session_id=board, content="It is.", parent_message_id=answered["message_id"])
    for n in range(60):
        await bob.add_message(session_id=board, content=f"progress {n} " + "filler " * 20)
    page = await alice.get_context(session_id=board, max_tokens=700)
    sequences = [message["sequence"] for message in page["messages"]]
    assert sequences[:3] == [1, asked["sequence"], answered["sequence"]]
    assert sequences == sorted(sequences)
    assert sequences[-1] == 66
    assert sum(len(message["content"]) for message in page["messages"]) < 700 * 4
    assert page["total_count"] == 66
    assert page["has_more"]
    assert page["left_out"]["messages"] == 66 - page["count"]
    assert (page["left_out"].get("decisions"), page["left_out"].get("open_questions")) == (None, None)


async def test_get_context_within_tokens_gives_all_that_fits(alice: Agent, board: str):
    for n in range(3):
        await alice.add_message(session_id=board, content=f"short {n}")
    page = await alice.get_context(session_id=board, max_tokens=2000)
    assert (page["count"], page["has_more"], "left_out" in page) == (3, False, False)


async def test_get_context_within_tokens_counts_decisions_that_did_not_fit(alice: Agent, board: str):
    for _ in range(4):
        await alice.add_message(session_id=board, content="x" * 300, metadata={"kind": "decision"})
    await alice.add_message(session_id=board, content="y" * 300 + "?")
    page = await alice.get_context(session_id=board, max_tokens=140)
    assert [message["sequence"] for message in page["messages"]] == [5]
    assert page["left_out"]["decisions"] == 4


async def test_search_context_forgives_typos_and_explains_itself(alice: Agent, board: str):
    await alice.add_message(session_id=board, content="The database migration is done.")
    await alice.add_message(session_id=board, content="Lunch at noon.")
    reply = await alice.search_context(session_id=board, query="databse migraton")
    [hit] = reply["results"]
    assert hit == {
        "message": hit["message"],
        "score": hit["score"],
        "relevance": "high",
        "match_preview": "The database migration is done.",
        "why": ["migraton ~ migration 94", "databse ~ database 93"],
    }
    assert hit["message"]["sequence"] == 1
    assert 90 < hit["score"] < 100
    assert reply["message_count"] == 1
    assert reply["search_time_ms"] >= 0


async def test_search_context_finds_metadata_senders_parts_and_other_scripts(
    alice: Agent, bob: Agent, board: str
):
    await alice.add_message(
        session_id=board,
        content="done",
        metadata={"files_modified": ["src/cart_totals.py"], "deep": [{"a": "Zürich"}]},
    )
    await bob.add_message(session_id=board, content="数据库迁移完成")
    await alice.add_message(session_id=board, content="Authentication works")

    async def find_sequences(query, **arguments):
        answer = await alice.search_context(session_id=board, query=query, **arguments)
        return [item["message"]["sequence"] for item in answer.get("results", [])]

    assert await find_sequences("cart_totals") == [1]
    assert await find_sequences("totals") == [1]
    assert await find_sequences("zürich") == [1]
    assert await find_sequences("bob") == [2]
    assert await find_sequences("迁移") == [2]
    assert await find_sequences("authent") == [3]
    assert await find_sequences("totals", search_metadata=False) == []
    assert await find_sequences("unrelatedword") == []
    assert await find_sequences("autentication", fuzzy_threshold=100) == []
    assert await find_sequences("autentication", fuzzy_threshold=0) == [3]


async def test_search_context_gives_one_row_for_one_message_best_first(alice: Agent, board: str):
    for content in ("cart cart carts", "cart", "the car", "cart and redis", "cart"):
        await alice.add_message(session_id=board, content=content, metadata={"topic": "cart"})
    results = (await alice.search_context(session_id=board, query="cart redis"))["results"]
    sequences = [item["message"]["sequence"] for item in results]
    assert sequences[0] == 4
    assert len(sequences) == len(set(sequences))
    assert [item["score"] for item in results] == sorted((item["score"] for item in results), reverse=True)
    assert len((await alice.search_context(session_id=board, query="cart", limit=2))["results"]) == 2


async def test_search_context_sees_what_was_added_since_the_last_search(alice: Agent, board: str):
    assert (await alice.search_context(session_id=board, query="walrus"))["message_count"] == 0
    await alice.calls.database.write(lambda tx: _insert_messages(tx, board, 1200))
    assert (await alice.search_context(session_id=board, query="walrus1200"))["results"][0]["score"] == 100
    await alice.add_message(session_id=board, content="a walrus swims")
    newest = (await alice.search_context(session_id=board, query="walrus swims"))["results"][0]
    assert newest["message"]["sequence"] == 1201


async def _insert_messages(tx, session: str, messages: int) -> None:
    await tx.many(
        "insert into context_message (project, session, sequence, id, audience, sender, owner, key_id, message_type,"
        " mark, content, metadata, size, parent, replies, at)"
        " values ('shop', $1, $2, $3, '', 'alice', 'alice', '', 'error', '', $4, '{}', 1, '', 0, 1)",
        [(session, n, f"msg_{n:012x}", f"walrus{n}") for n in range(1, messages + 1)],
    )
    await tx.run(
        "update context_session set last_sequence = $2 where project = 'shop' and id = $1", session, messages
    )


@pytest.mark.parametrize(
    "invalid", [{"query": "?!"}, {"query": ""}, {"scope": "secret"}, {"fuzzy_threshold": 101}]
)
async def test_search_context_refuses_what_it_cannot_search(alice: Agent, board: str, invalid: dict):
    with pytest.raises(errors.Invalid):
        await alice.search_context(**{"session_id": board, "query": "cart"} | invalid)


async def test_messages_are_announced_to_their_audience_alone(team: Team, board: str):
    typed = team.anyone(make_caller("alice", agent_type="claude"))
    for visibility in ("public", "private", "agent_only", "admin_only"):
        await typed.add_message(session_id=board, content="secret words", visibility=visibility)
    published = await team.database.read(lambda tx: events.list_events_after(tx, "shop", 1))
    assert [(event.kind, event.uri, event.audience, event.body["sequence"]) for event in published] == [
        ("MessageAdded", f"session://{board}", "", 1),
        ("MessageAdded", f"session://{board}", "agent:alice", 2),
        ("MessageAdded", f"session://{board}", "type:claude", 3),
        ("MessageAdded", f"session://{board}", "admin", 4),
    ]
    assert all("secret words" not in str(event) for event in published)


async def test_get_session_audit_is_in_order_pages_and_never_shows_content(
    team: Team, alice: Agent, board: str
):
    admin = team.anyone(make_caller("root", role="admin"))
    await alice.add_message(session_id=board, content="visible words")
    note = await alice.add_private_note(session_id=board, content="secret words")
    await alice.close_session(session_id=board)
    acts, after = [], -1
    while after is not None:
        page = await admin.get_session_audit(session_id=board, after=after, limit=1)
        acts += page.get("acts", [])
        after = page.get("next_after")
    assert [(act["n"], act["act"], act["agent"]) for act in acts] == [
        (0, "session_created", "alice"),
        (1, "message_added", "alice"),
        (2, "message_added", "alice"),
        (3, "session_closed", "alice"),
    ]
    assert acts == (await admin.get_session_audit(session_id=board))["acts"]
    assert acts[2] == {
        "n": 2,
        "at": "2027-01-15T08:00:00.000000Z",
        "act": "message_added",
        "agent": "alice",
        "key": "key_alice",
        "message_id": note["message_id"],
        "message_type": "agent_response",
        "visibility": "private",
    }
    assert "words" not in str(acts)
    with pytest.raises(errors.Forbidden):
        await alice.get_session_audit(session_id=board)


async def test_every_write_leaves_an_audit_row_without_content(team: Team, alice: Agent, board: str):
    await alice.add_private_note(session_id=board, content="secret words")
    with pytest.raises(errors.Forbidden):
        await alice.add_message(session_id=board, content="secret words", sender="bob")
    rows = await team.database.read(
        lambda tx: tx.all(
            "select operation, outcome, agent, key_id, detail from audit order by at, operation desc"
        )
    )
    assert sorted((row["operation"], row["outcome"], row["agent"], row["key_id"]) for row in rows) == [
        ("add_message", "forbidden", "alice", "key_alice"),
        ("add_private_note", "ok", "alice", "key_alice"),
        ("create_session", "ok", "alice", "key_alice"),
    ]
    assert all("secret" not in row["detail"] for row in rows)


async def test_without_keys_the_caller_is_who_it_says(team: Team):
    anyone = team.anyone()
    board = (await anyone.create_session(purpose="x", agent_id="alice"))["session_id"]
    await anyone.add_message(session_id=board, content="from alice", sender="alice")
    await anyone.add_private_note(session_id=board, content="note of bob", agent_id="bob")
    await anyone.add_message(session_id=board, content="from nobody")

    async def read_messages(**identity):
        page = await anyone.get_context(session_id=board, include_private=True, **identity)
        return [(message["sender"], message["content"]) for message in page["messages"]]

    public = [("alice", "from alice"), ("anonymous", "from nobody")]
    assert await read_messages(agent_id="alice") == public
    assert await read_messages(agent_id="bob") == [public[0], ("bob", "note of bob"), public[1]]
    with pytest.raises(errors.Forbidden):
        await read_messages()
    with pytest.raises(errors.Forbidden):
        await anyone.add_message(session_id=board, content="x", sender="alice", agent_id="bob")
    rows = await team.database.read(
        lambda tx: tx.all("select agent from audit where operation = 'create_session'")
    )
    assert [row["agent"] for row in rows] == ["alice"]


async def test_without_keys_a_caller_named_by_its_edge_is_that_agent(team: Team):
    named = team.anyone(replace(access.LOCAL, agent="alice"))
    board = (await named.create_session(purpose="x"))["session_id"]
    with pytest.raises(errors.Forbidden):
        await named.add_message(session_id=board, content="x", sender="bob")
    operator = team.anyone(access.OPERATOR)
    await operator.add_message(session_id=board, content="x", sender="bob")
    [message] = (await named.get_context(session_id=board))["messages"]
    assert message["sender"] == "bob"


async def test_a_started_session_says_who_the_caller_is(team: Team):
    alice = await team.agent("alice")
    anyone = team.anyone()
    board = (await anyone.create_session(purpose="x", agent_id=alice.session_id))["session_id"]
    await anyone.add_private_note(session_id=board, content="mine", agent_id=alice.session_id)
    page = await anyone.get_context(session_id=board, include_private=True, agent_id=alice.session_id)
    assert [message["sender"] for message in page["messages"]] == ["alice"]
    with pytest.raises(errors.SessionNotFound):
        await anyone.get_context(session_id=board, agent_id="shop_alice_" + "0" * 32 + "04")


@pytest.mark.slow
async def test_fifty_agents_lose_and_double_no_sequence_number(team: Team, board: str):
    agents = [team.anyone(make_caller(f"agent{n}")) for n in range(50)]

    async def post_messages(agent: Agent, n: int) -> list[int]:
        return [
            (await agent.add_message(session_id=board, content=f"{n} says {turn}"))["sequence"]
            for turn in range(21)
        ]

    sequences = await asyncio.gather(*(post_messages(agent, n) for n, agent in enumerate(agents)))
    assert sorted(number for own in sequences for number in own) == list(range(1, 1051))
    assert all(own == sorted(own) for own in sequences)
    page = await agents[0].get_context(session_id=board, limit=1000, after=50)
    assert [message["sequence"] for message in page["messages"]] == list(range(51, 1051))


@pytest.mark.slow
async def test_two_replicas_lose_and_double_no_sequence_number(postgres_dsn: str, clock: HandClock):
    stores = [await open_store(postgres_dsn, clock) for _ in range(2)]
    replicas = [Calls(store, CATALOGUE, Settings(), clock) for store in stores]
    try:
        board = (await Agent(replicas[0], caller=make_caller("a0")).create_session(purpose="x"))["session_id"]

        async def post_messages(n: int) -> list[int]:
            agent = Agent(replicas[n % 2], caller=make_caller(f"a{n}"))
            return [
                (await agent.add_message(session_id=board, content=f"{n}.{turn}"))["sequence"]
                for turn in range(20)
            ]

        sequences = await asyncio.gather(*(post_messages(n) for n in range(50)))
        assert sorted(number for own in sequences for number in own) == list(range(1, 1001))
        for calls in replicas:
            reply = await Agent(calls, caller=make_caller("a0")).search_context(
                session_id=board, query="49", limit=100
            )
            assert reply["message_count"] >= 20
    finally:
        for store in stores:
            await store.close()


async def test_search_finds_public_messages_and_no_others(team: Team):
    alice = await team.agent("alice")
    boards = team.anyone()
    board = (await boards.create_session(purpose="cart design", project="shop", agent_id="alice"))[
        "session_id"
    ]
    posted = await boards.add_message(session_id=board, content="the cart lives in redis", agent_id="alice")
    await boards.add_private_note(session_id=board, content="redis worries me", agent_id="alice")
    entry = f"{board}/{posted['message_id']}"
    for reply in (await alice.search_global(query="redis cart"), await alice.query(query="redis cart")):
        assert [(item["kind"], item["id"], item["author"]) for item in reply["results"]] == [
            ("blackboard", entry, "alice")
        ]
    assert (await alice.get_by_id(id=entry))["content"] == "the cart lives in redis"
