"""Who sees which message: four visibilities, seven kinds of caller, every way to read that the room offers.

The names of the ways are their own list: a surface that reads messages in another way adds itself here.
"""

import re
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.config import Settings
from commonplace.rooms.projects.event_feed import read_events
from commonplace.store.database import Database
from team import Agent, HandClock

VISIBILITIES = ("public", "private", "agent_only", "admin_only")


def make_caller(
    name: str | None, role: access.Role = "agent", agent_type: str = "", project: str = "shop"
) -> Caller:
    return Caller(role, frozenset({project}), f"key_{name}_{role}", name, agent_type)


CALLERS = {
    "sender": make_caller("alice", agent_type="claude"),
    "same type": make_caller("carol", agent_type="claude"),
    "other type": make_caller("bob", agent_type="codex"),
    "no type": make_caller("dan"),
    "no agent": make_caller(None, role="readonly"),
    "admin": make_caller("root", role="admin"),
    "owner": make_caller("boss", role="owner"),
    "other project": make_caller("alice", agent_type="claude", project="docs"),
}
VISIBLE_TO = {
    "sender": {"public", "private", "agent_only"},
    "same type": {"public", "agent_only"},
    "other type": {"public"},
    "no type": {"public"},
    "no agent": {"public"},
    "admin": {"public", "admin_only"},
    "owner": {"public", "admin_only"},
    "other project": set(),
}


class Board:
    """A session on which alice wrote one message of each visibility, each with a word of its own."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self.id = ""
        self.messages: dict[str, str] = {}
        self.question = ""

    def agent(self, kind: str) -> Agent:
        return Agent(self.calls, caller=CALLERS[kind])

    async def write(self) -> None:
        alice = self.agent("sender")
        self.id = (await alice.create_session(purpose="matrix"))["session_id"]
        self.question = (await alice.add_message(session_id=self.id, content="opening"))["message_id"]
        for visibility in VISIBILITIES:
            added = await alice.add_message(
                session_id=self.id,
                content=f"secret_{visibility}",
                metadata={"note": f"secret_{visibility}"},
                visibility=visibility,
                parent_message_id=self.question,
            )
            self.messages[visibility] = added["message_id"]


@pytest.fixture
async def board(database: Database, clock: HandClock) -> Board:
    calls = Calls(database, CATALOGUE, Settings(auth="on"), clock)
    board = Board(calls)
    await board.write()
    return board


def find_visibilities(text: str) -> set[str]:
    return set(re.findall(r"secret_(public|private|agent_only|admin_only)", text))


ReadWay = Callable[[Board, str], Awaitable[str]]


def read_with_tool(name: str, **arguments) -> ReadWay:
    async def read(board: Board, kind: str) -> str:
        answer = await board.calls.run(name, {"session_id": board.id} | arguments, CALLERS[kind])
        return answer.to_text().decode()

    return read


def read_resource(page: str) -> ReadWay:
    async def read(board: Board, kind: str) -> str:
        uri = f"session://{board.id}{page}"
        for resource in board.calls.catalogue.resources:
            if (arguments := resource.match_uri(uri)) is not None:
                return (
                    (await board.calls.run_operation(resource.operation, arguments, CALLERS[kind]))
                    .to_text()
                    .decode()
                )
        raise errors.NotFound

    return read


async def read_each_message(board: Board, kind: str) -> str:
    """get_message for every id, as somebody who guessed the ids would ask."""
    texts = []
    for message_id in board.messages.values():
        try:
            answer = await board.calls.run(
                "get_message", {"session_id": board.id, "message_id": message_id}, CALLERS[kind]
            )
        except errors.NotFound:
            continue
        texts.append(answer.to_text().decode())
    return " ".join(texts)


async def read_replies(board: Board, kind: str) -> str:
    """The ids of the replies, told by what they say."""
    answer = await board.calls.run(
        "get_message", {"session_id": board.id, "message_id": board.question}, CALLERS[kind]
    )
    ids = msgspec.json.decode(answer.to_text()).get("replies", [])
    return " ".join(f"secret_{visibility}" for visibility, own in board.messages.items() if own in ids)


async def read_event_stream(board: Board, kind: str) -> str:
    """The events that an edge passes on: those of an audience of the caller."""
    if not CALLERS[kind].sees_project("shop"):
        with pytest.raises(errors.Forbidden):
            await board.calls.run_operation(read_events, {"project": "shop", "after": 0}, CALLERS[kind])
        return ""
    answer = await board.calls.run_operation(read_events, {"project": "shop", "after": 0}, CALLERS[kind])
    ids = {event.body.get("message_id") for event in answer.reply.events}
    return " ".join(f"secret_{visibility}" for visibility, own in board.messages.items() if own in ids)


async def read_with_every_filter(board: Board, kind: str) -> str:
    """Each filter gives what it names, if the caller may see it, and nothing else."""
    texts = ""
    for visibility in VISIBILITIES:
        answer = await read_with_tool("get_context", visibility_filter=visibility)(board, kind)
        assert find_visibilities(answer) <= {visibility}
        texts += answer
    return texts


async def count_messages(board: Board, kind: str) -> str:
    """Counts tell as much as texts do; admins see that more is there, in a field of its own."""
    answer = msgspec.json.decode(await read_with_tool("get_session")(board, kind))
    listed = msgspec.json.decode((await board.calls.run("list_sessions", {}, CALLERS[kind])).to_text())
    page = msgspec.json.decode(await read_with_tool("get_context", include_private=True)(board, kind))
    expected = 1 + len(VISIBLE_TO[kind])
    assert {answer["message_count"], listed["sessions"][0]["message_count"], page["total_count"]} == {
        expected
    }
    assert answer.get("hidden_count") == (5 - expected if "admin_only" in VISIBLE_TO[kind] else None)
    return " ".join(f"secret_{visibility}" for visibility in VISIBLE_TO[kind])


READ_WAYS: dict[str, ReadWay] = {
    "get_context": read_with_tool("get_context", include_private=True),
    "get_messages": read_with_tool("get_messages", include_private=True),
    "get_context by sender": read_with_tool("get_context", include_private=True, sender="alice"),
    "get_context by time": read_with_tool("get_context", include_private=True, since="2020-01-01T00:00:00Z"),
    "get_context within tokens": read_with_tool("get_context", include_private=True, max_tokens=100_000),
    "get_context filters": read_with_every_filter,
    "get_session": read_with_tool("get_session"),
    "get_message": read_each_message,
    "replies": read_replies,
    "search_context": read_with_tool("search_context", query="secret", limit=100),
    "search_context loosely": read_with_tool("search_context", query="secret", limit=100, fuzzy_threshold=0),
    "session://id": read_resource(""),
    "session://id/messages/0": read_resource("/messages/0"),
    "events": read_event_stream,
    "counts": count_messages,
}


ASKING_FOR_PRIVATE = {name for name in READ_WAYS if name.startswith(("get_context", "get_messages"))} | {
    "counts"
}


@pytest.mark.parametrize("kind", CALLERS)
async def test_message_is_seen_by_those_who_may_and_by_nobody_else(board: Board, kind: str):
    for name, read in READ_WAYS.items():
        try:
            visible = find_visibilities(await read(board, kind))
        except errors.NotFound:
            visible = set()
            assert kind == "other project", name
        except errors.Forbidden:
            # Who is nobody cannot ask for what is private.
            assert (kind, name in ASKING_FOR_PRIVATE) == ("no agent", True), name
            continue
        assert visible == VISIBLE_TO[kind], name


@pytest.mark.parametrize("kind", [kind for kind in CALLERS if kind != "no agent"])
async def test_search_over_everything_shows_only_what_is_public(board: Board, kind: str):
    expected = {"public"} if kind != "other project" else set()
    agent = board.agent(kind)
    found = await agent.search_global(query="secret public private agent_only admin_only", limit=50)
    assert find_visibilities(str(found["results"])) == expected
    opened = set()
    for visibility, message in board.messages.items():
        try:
            item = await agent.get_by_id(id=f"{board.id}/{message}", project="shop")
        except errors.Forbidden:
            continue
        opened |= {visibility} if item["found"] else set()
    assert opened == expected
    if kind == "other project":
        with pytest.raises(errors.Forbidden):
            await agent.query(query="secret", project="shop")
        return
    found = await agent.query(query="secret public private", project="shop", limit=50)
    assert find_visibilities(str(found["results"])) == expected


async def test_search_stays_within_audiences_after_others_have_searched(board: Board):
    """Shelves are kept in memory: who searches first must not decide what the next one finds."""
    search = READ_WAYS["search_context"]
    for kind in ("sender", "admin", "other type", "same type", "sender", "no agent"):
        assert find_visibilities(await search(board, kind)) == VISIBLE_TO[kind]


async def test_private_messages_are_left_out_unless_asked_for(board: Board):
    assert find_visibilities(await read_with_tool("get_context")(board, "sender")) == {"public", "agent_only"}
    assert find_visibilities(
        await read_with_tool("search_context", query="secret", scope="public")(board, "sender")
    ) == {"public"}
    assert find_visibilities(
        await read_with_tool("search_context", query="secret", scope="private")(board, "sender")
    ) == {"private"}
    assert (
        find_visibilities(
            await read_with_tool("search_context", query="secret", scope="private")(board, "admin")
        )
        == set()
    )


@pytest.mark.parametrize("operation", ["get_context", "get_messages"])
@pytest.mark.parametrize("unknown", ["everything", "", "PRIVATE", "*"])
async def test_unknown_filter_is_refused(board: Board, operation: str, unknown: str):
    with pytest.raises(errors.Invalid):
        await read_with_tool(operation, visibility_filter=unknown)(board, "sender")


async def test_sessions_of_one_name_under_two_keys_do_not_share_their_notes(board: Board):
    for key in ("key_1", "key_2"):
        caller = Caller("agent", frozenset({"shop"}), key)
        started = await board.calls.run("memory_start_session", {"project": "shop", "agent": "ann"}, caller)
        own = {"session_id": board.id, "agent_session": started.reply.session_id}
        await board.calls.run("add_private_note", own | {"content": caller.key}, caller)
        page = await board.calls.run("get_context", own | {"visibility_filter": "private"}, caller)
        assert [message["content"] for message in msgspec.json.decode(page.to_text())["messages"]] == [
            caller.key
        ]


async def test_a_started_session_does_not_open_the_notes_of_a_bound_agent(board: Board):
    impostor = Caller("agent", frozenset({"shop"}), "key_impostor")
    started = msgspec.json.decode(
        (
            await board.calls.run("memory_start_session", {"project": "shop", "agent": "alice"}, impostor)
        ).to_text()
    )
    asked = {"session_id": board.id, "include_private": True, "agent_id": started["session_id"]}
    answer = await board.calls.run("get_context", asked, impostor)
    assert find_visibilities(answer.to_text().decode()) == {"public"}


async def test_agents_without_a_type_do_not_share_agent_only_messages(board: Board):
    await board.agent("no type").add_message(session_id=board.id, content="mine", visibility="agent_only")
    asked = {"session_id": board.id, "visibility_filter": "agent_only"}
    assert len((await board.agent("no type").get_context(**asked))["messages"]) == 1
    other = Agent(board.calls, caller=make_caller("erin"))
    assert (await other.get_context(**asked))["count"] == 0


async def test_with_keys_nobody_acts_as_another(board: Board):
    for name in ("sender", "agent_id"):
        with pytest.raises(errors.Forbidden):
            await board.agent("other type").add_message(session_id=board.id, content="x", **{name: "alice"})
    with pytest.raises(errors.Forbidden):
        await board.agent("admin").get_context(session_id=board.id, agent_id="alice")
    with pytest.raises(errors.Forbidden):
        await board.agent("admin").get_memory(key="k", agent_id="alice")


async def test_reply_that_not_everyone_sees_does_not_change_what_everyone_gets(board: Board):
    alice = board.agent("sender")
    asked = (await alice.add_message(session_id=board.id, content="Who tests it?"))["message_id"]
    before = await board.agent("other type").get_context(session_id=board.id, max_tokens=200)
    await alice.add_message(
        session_id=board.id, content="not me", visibility="private", parent_message_id=asked
    )
    after = await board.agent("other type").get_context(session_id=board.id, max_tokens=200)
    assert after == before


@pytest.mark.parametrize("page", ["/messages", "/messages/x", "/other/1", "/messages/1/2", "/messages/-1"])
async def test_resource_that_is_none_is_refused(board: Board, page: str):
    with pytest.raises((errors.NotFound, errors.Invalid)):
        await read_resource(page)(board, "sender")


async def test_resource_shows_the_session_its_newest_messages_and_statistics(board: Board):
    view = msgspec.json.decode(await read_resource("")(board, "admin"))
    assert (view["session"]["session_id"], view["session"]["message_count"]) == (board.id, 3)
    assert [message["sequence"] for message in view["messages"]] == [1, 2, 5]
    assert view["statistics"] == {
        "message_count": 3,
        "by_visibility": {"public": 2, "admin_only": 1},
        "hidden_count": 2,
    }
    page = msgspec.json.decode(await read_resource("/messages/1")(board, "sender"))
    assert [message["sequence"] for message in page.pop("messages")] == [2, 3, 4]
    assert page == {"count": 3, "total_count": 4, "next_after": 4, "has_more": False}
