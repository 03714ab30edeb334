"""One search: what every room keeps is found by its words by those who may read it, by nobody else, and opened by its id."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.server import delete_old_rows
from team import Agent, Team


def ids(answer: dict[str, Any]) -> list[str]:
    return [result["id"] for result in answer["results"]]


def kinds(answer: dict[str, Any]) -> set[str]:
    return {result["kind"] for result in answer["results"]}


@dataclass(frozen=True)
class Kind:
    """How an item with a word in it is made and changed; `make` and `change` return its id."""

    name: str
    make: Callable[[Agent, str], Awaitable[str]]
    change: Callable[[Agent, str, str], Awaitable[object]] | None = None
    delete: Callable[[Agent, str], Awaitable[object]] | None = None


async def define_spec(agent: Agent, word: str) -> str:
    return (await agent.define_spec(name="cart-api", content=f"GET /cart tells the {word}."))["id"]


async def add_task(agent: Agent, word: str) -> str:
    return (await agent.add_backlog_item(title="Cart totals", description=f"About {word}."))["id"]


async def change_task(agent: Agent, item: str, word: str) -> None:
    await agent.update_backlog_item(item_id=item, description=f"About {word}.")


async def create_checklist(agent: Agent, word: str) -> str:
    return (await agent.checklist(action="create", name="release", items=[f"check the {word}"]))["id"]


async def change_checklist(agent: Agent, _item: str, word: str) -> None:
    await agent.checklist(action="delete", name="release")
    await create_checklist(agent, word)


async def set_guideline(agent: Agent, word: str) -> str:
    rule = f"Mind the {word}."
    return (await agent.guidelines(action="set", name="money", rule=rule, scope="shop"))["id"]


async def set_global_guideline(agent: Agent, word: str) -> str:
    return (await agent.guidelines(action="set", name="money", rule=f"Mind the {word}."))["id"]


async def register_function(agent: Agent, word: str) -> str:
    made = await agent.register_function(name="total", file_path="cart.py:3", purpose=f"It does the {word}.")
    return made["id"]


async def update_work(agent: Agent, word: str) -> str:
    return (await agent.update_work(title="Cart", status="in_progress", notes=f"On the {word}."))["id"]


async def broadcast(agent: Agent, word: str) -> str:
    return (await agent.send_message(to_instance="*", message=f"Everyone: {word}!"))["message_id"]


async def record_learning(agent: Agent, word: str) -> str:
    return (await agent.record_learning(topic="Cart", content=f"Beware of the {word}."))["id"]


async def ask_person(agent: Agent, word: str) -> str:
    return (await agent.ask_person(question=f"May we keep the {word}?", wait_seconds=0))["request_id"]


KINDS = [
    Kind("spec", define_spec, lambda agent, _item, word: define_spec(agent, word)),
    Kind(
        "backlog",
        add_task,
        change_task,
        lambda agent, item: agent.complete_backlog_item(item_id=item, wont_do=True),
    ),
    Kind(
        "checklist",
        create_checklist,
        change_checklist,
        lambda agent, _item: agent.checklist(action="delete", name="release"),
    ),
    Kind(
        "guideline",
        set_guideline,
        lambda agent, _item, word: set_guideline(agent, word),
        lambda agent, _item: agent.guidelines(action="delete", name="money", scope="shop"),
    ),
    Kind("function", register_function, lambda agent, _item, word: register_function(agent, word)),
    Kind("work", update_work, lambda agent, _item, word: update_work(agent, word)),
    Kind("message", broadcast),
    Kind("request", ask_person),
    Kind(
        "document",
        record_learning,
        None,
        lambda agent, item: agent.change_status(doc_id=item, new_status="archived"),
    ),
]
EACH_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


@EACH_KIND
async def test_item_is_found_by_its_words_and_opened_by_its_id(team: Team, kind: Kind):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    item = await kind.make(alice, "walrus")
    for answer in (await bob.query(query="walrus"), await bob.search_global(query="walrus")):
        assert ids(answer) == [item]
        result = answer["results"][0]
        assert (result["kind"], result["author"]) == (kind.name, "alice")
        assert result["title"]
        assert result.get("status", "active")
        assert "walrus" in result.get("content", result.get("content_preview"))
    assert "walrus" in (await bob.get_by_id(id=item))["content"]
    assert (await bob.get_by_id(id=item[:-2]))["id"] == item


@EACH_KIND
async def test_item_is_not_found_from_another_project(team: Team, kind: Kind):
    await kind.make(await team.agent("alice"), "walrus")
    stranger = Caller("agent", frozenset({"bank"}), "key_bank")
    mallory = await team.agent("mallory", project="bank", caller=stranger)
    assert ids(await mallory.query(query="walrus")) == []
    assert ids(await mallory.search_global(query="walrus")) == []
    with pytest.raises(errors.Forbidden):
        await mallory.query(query="walrus", project="shop")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.change], ids=lambda kind: kind.name)
async def test_changed_item_is_found_by_its_new_words_only(team: Team, kind: Kind):
    alice = await team.agent("alice")
    item = await kind.make(alice, "walrus")
    assert kind.change
    await kind.change(alice, item, "ocelot")
    assert ids(await alice.query(query="walrus")) == []
    assert kinds(await alice.query(query="ocelot")) == {kind.name}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.delete], ids=lambda kind: kind.name)
async def test_item_that_is_gone_or_done_is_not_found(team: Team, kind: Kind):
    alice = await team.agent("alice")
    item = await kind.make(alice, "walrus")
    assert kind.delete
    await kind.delete(alice, item)
    assert ids(await alice.query(query="walrus")) == []


@EACH_KIND
async def test_memory_types_ask_for_a_kind_and_leave_it_out(team: Team, kind: Kind):
    alice = await team.agent("alice")
    items = {other.name: await other.make(alice, "walrus") for other in KINDS}
    every = await alice.query(query="walrus", limit=50, max_tokens=20000)
    assert set(ids(every)) == set(items.values())
    asked = await alice.query(query="walrus", limit=50, memory_types=[kind.name])
    assert ids(asked) == [items[kind.name]]
    left_out = await alice.query(query="walrus", limit=50, max_tokens=20000, memory_types=[f"-{kind.name}"])
    assert set(ids(left_out)) == set(items.values()) - {items[kind.name]}
    everywhere = await alice.search_global(query="walrus", limit=50, memory_types=[kind.name])
    assert ids(everywhere) == [items[kind.name]]


async def test_memory_types_take_types_of_documents_and_kinds_together(team: Team):
    alice = await team.agent("alice")
    learning, task = await record_learning(alice, "walrus"), await add_task(alice, "walrus")
    await alice.store(title="Walrus", content="A decision on the walrus.", memory_type="adr")
    found = await alice.query(query="walrus", limit=50, memory_types=["learning", "task"])
    assert set(ids(found)) == {learning, task}
    found = await alice.query(query="walrus", limit=50, memory_types=["document", "-learning"])
    assert [result["type"] for result in found["results"]] == ["adr"]


@EACH_KIND
async def test_memory_types_take_every_type_that_a_result_shows(team: Team, kind: Kind):
    alice = await team.agent("alice")
    items = {other.name: await other.make(alice, "walrus") for other in KINDS}
    every = await alice.query(query="walrus", limit=50, max_tokens=20000)
    (shown,) = [result["type"] for result in every["results"] if result["kind"] == kind.name]
    for answer in (
        await alice.query(query="walrus", limit=50, memory_types=[shown]),
        await alice.search_global(query="walrus", limit=50, memory_types=[shown]),
    ):
        assert ids(answer) == [items[kind.name]]


async def test_memory_types_take_types_that_authors_chose(team: Team):
    alice = await team.agent("alice")
    await define_spec(alice, "walrus")
    spec = await alice.define_spec(name="events", content="The walrus is sent as JSON.", spec_type="AsyncAPI")
    assert ids(await alice.query(query="walrus", memory_types=["AsyncAPI"])) == [spec["id"]]
    mallory = await team.agent("mallory", project="bank", caller=Caller("agent", frozenset({"bank"}), "key"))
    with pytest.raises(errors.Invalid):
        await mallory.search_global(query="walrus", memory_types=["AsyncAPI"])


async def test_unknown_memory_type_is_refused_with_those_that_exist(team: Team):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid) as refused:
        await alice.query(query="walrus", memory_types=["walrus"])
    assert "guideline" in (refused.value.hint or "")


async def test_guideline_that_says_rounding_is_found(team: Team):
    """Three agents asked for the rounding rule; a guideline had it, and nothing was found."""
    owner, frontend = await team.agent("olga"), await team.agent("frontend")
    await owner.guidelines(
        action="set", name="money", scope="shop", rule="Amounts are integers in cents; rounding is half-even."
    )
    found = await frontend.query(query="rounding")
    assert [(result["kind"], result["title"], result["author"]) for result in found["results"]] == [
        ("guideline", "money", "olga")
    ]


async def test_global_guideline_is_found_in_every_project_and_opened(team: Team):
    guideline = await set_global_guideline(await team.agent("olga"), "walrus")
    reader = Caller("readonly", frozenset({"bank"}), "key_bank")
    mallory = await team.agent("mallory", project="bank", caller=reader)
    found = await mallory.query(query="walrus", include_shared=False)
    assert [(result["id"], result["source"]) for result in found["results"]] == [(guideline, "global")]
    assert (await mallory.get_by_id(id=guideline))["project"] == "global"
    assert ids(await mallory.search_global(query="walrus")) == [guideline]


async def test_task_is_shown_with_priority_assignee_and_claim(team: Team, clock):
    alice = await team.agent("alice")
    task = await add_task(alice, "walrus")
    await alice.update_backlog_item(item_id=task, priority="high", claim=True)
    result = (await alice.query(query="walrus", memory_types=["backlog"]))["results"][0]
    assert (result["status"], result["priority"], result["assigned_to"]) == ("in_progress", "high", "alice")
    assert result["claimed_until"]
    clock.advance(days=2)
    result = (await alice.search_global(query="walrus", memory_types=["backlog"]))["results"][0]
    assert (result["status"], result.get("claimed_until")) == ("open", None)


async def test_done_task_is_found_behind_what_holds_now(team: Team):
    alice = await team.agent("alice")
    task = await add_task(alice, "walrus")
    await alice.complete_backlog_item(item_id=task, resolution="Fed the ocelot.")
    found = await alice.query(query="ocelot")
    assert [(result["id"], result["status"]) for result in found["results"]] == [(task, "done")]
    learning = (await alice.record_learning(topic="Food", content="An ocelot eats at night."))["id"]
    assert ids(await alice.query(query="ocelot")) == [learning, task]


async def test_task_that_was_not_done_is_found_on_request(team: Team):
    alice = await team.agent("alice")
    task = await add_task(alice, "walrus")
    await alice.complete_backlog_item(item_id=task, wont_do=True)
    assert ids(await alice.query(query="walrus")) == []
    assert ids(await alice.query(query="walrus", include_inactive=True)) == [task]


async def test_task_that_moves_is_found_where_it_is(team: Team):
    alice = await team.agent("alice")
    task = await add_task(alice, "walrus")
    await alice.update_backlog_item(item_id=task, project="bank")
    assert ids(await alice.query(query="walrus")) == []
    assert ids(await alice.query(query="walrus", project="bank")) == [task]


async def test_refused_batch_leaves_nothing_in_the_index(team: Team):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid):
        await alice.batch_backlog(action="create", items=[{"title": "walrus"}, {"title": ""}])
    assert ids(await alice.query(query="walrus")) == []


async def test_direct_mail_is_found_by_sender_and_recipient_alone(team: Team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    mail = (await alice.send_message(to_instance="bob", message="The walrus sleeps."))["message_id"]
    for reader in (alice, bob):
        assert ids(await reader.query(query="walrus")) == [mail]
        assert ids(await reader.search_global(query="walrus")) == [mail]
    for other in (carol, await team.agent("bob", project="bank")):
        assert ids(await other.search_global(query="walrus")) == []
    answer = await carol.query(query="walrus")
    assert (ids(answer), answer.get("nearest_titles")) == ([], None)


async def test_admins_do_not_find_the_mail_of_others(team: Team):
    alice, _bob = await team.agent("alice"), await team.agent("bob")
    await alice.send_message(to_instance="bob", message="The walrus sleeps.")
    boss = Caller("owner", frozenset({access.ALL_PROJECTS}), "key_boss", "boss")
    assert ids(await team.anyone(boss).query(query="walrus", project="shop")) == []
    assert ids(await (await team.agent("boss", caller=boss)).search_global(query="walrus")) == []


async def test_namesake_of_another_project_neither_finds_nor_opens_mail(team: Team):
    alice, _bob = await team.agent("alice"), await team.agent("bob")
    mail = (await alice.send_message(to_instance="bob", message="The walrus sleeps."))["message_id"]
    key = Caller("agent", frozenset({"shop", "bank"}), "key_bank")
    namesake = await team.agent("bob", project="bank", caller=key)
    assert ids(await namesake.query(query="walrus", project="shop")) == []
    assert (await namesake.get_by_id(id=mail, project="shop"))["found"] is False


async def test_mail_to_another_project_is_found_by_its_sender(team: Team):
    alice = await team.agent("alice")
    await team.agent("bob", project="bank")
    sent = await alice.send_message(to_instance="bob", to_project="bank", message="The walrus sleeps.")
    assert ids(await alice.search_global(query="walrus")) == [sent["message_id"]]
    assert ids(await alice.query(query="walrus", project="bank")) == [sent["message_id"]]


async def test_much_mail_of_others_does_not_hide_ones_own(team: Team):
    alice, bob, carol = [await team.agent(name) for name in ("alice", "bob", "carol")]
    mail = (await alice.send_message(to_instance="bob", message="One walrus for bob."))["message_id"]
    for number in range(150):
        await alice.send_message(to_instance="carol", message=f"walrus walrus {number}", subject="walrus")
    assert ids(await bob.query(query="walrus", limit=50)) == [mail]
    assert len(ids(await carol.query(query="walrus", limit=50, max_tokens=20000))) == 50


async def test_mail_follows_an_agent_that_gets_another_name(team: Team):
    caller = Caller("owner", frozenset({access.ALL_PROJECTS}), windows=("pid:here:1",))
    alice = await team.agent("alice")
    started = await team.anyone(caller).start_session(project="shop")
    before = Agent(team.calls, started["session_id"], caller)
    mail = (await alice.send_message(to_instance=started["agent"], message="The walrus sleeps."))[
        "message_id"
    ]
    after = await team.agent("backend", caller=caller)
    assert after.started["agent"] == "backend"
    await team.calls.search.run_requested_refreshes()
    assert ids(await after.query(query="walrus")) == [mail]
    assert ids(await before.query(query="walrus")) == [mail]
    other = await team.agent(started["agent"])
    assert ids(await other.query(query="walrus")) == []


async def test_expired_mail_and_work_leave_the_index(team: Team, clock):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    mail = (await alice.send_message(to_instance="bob", message="The walrus sleeps."))["message_id"]
    await bob.update_message_status(message_id=mail, status="completed")
    await update_work(alice, "walrus")
    clock.advance(days=40)
    await delete_old_rows(team.calls)
    alice, bob = await team.agent("alice"), await team.agent("bob")
    assert ids(await alice.query(query="walrus")) == ids(await bob.query(query="walrus")) == []
    left = await team.database.read(lambda tx: tx.all("select kind from entry where project = 'shop'"))
    assert list(left) == []


async def test_rows_from_before_the_index_are_indexed_in_the_background(team: Team):
    alice = await team.agent("alice")
    items = {kind.name: await kind.make(alice, "walrus") for kind in KINDS}
    filled = ("spec", "backlog", "message", "checklist", "guideline", "work")

    async def forget_index(tx):
        for table in ("entry", "term", "embedding_queue"):
            await tx.run(f"delete from {table} where project = 'shop'")
        await tx.run("delete from counter where project = 'shop' and name like 'entr%'")
        for name in filled:
            await tx.run("insert into index_fill (project, kind, last_id) values ('shop', $1, '')", name)

    await team.database.write(forget_index)
    assert ids(await alice.query(query="walrus")) == []
    await team.calls.search.run_requested_refreshes()
    found = await alice.query(query="walrus", limit=50, max_tokens=20000)
    assert set(ids(found)) == {items[name] for name in filled}
    assert not await team.database.read(lambda tx: tx.one("select 1 as yes from index_fill"))


async def test_interrupted_refresh_goes_on_where_it_ended(team: Team, monkeypatch: pytest.MonkeyPatch):
    alice = await team.agent("alice")
    for number in range(5):
        await alice.add_backlog_item(title=f"walrus {number}")
    await team.database.write(
        lambda tx: tx.run("insert into index_fill (project, kind, last_id) values ('shop', 'backlog', '')")
    )
    monkeypatch.setattr("commonplace.search.refresh._ROWS_PER_BATCH", 2)
    await team.calls.search.run_requested_refreshes()
    assert len(ids(await alice.query(query="walrus", limit=50))) == 5


async def test_change_of_status_does_not_embed_an_item_again(team: Team):
    alice = await team.agent("alice")
    task = await add_task(alice, "walrus")

    async def load_entry() -> tuple[int, str]:
        row = await team.database.read(
            lambda tx: tx.one("select n, status from entry where project = 'shop' and kind = 'backlog'")
        )
        return (row["n"], row["status"]) if row else (0, "")

    number, _ = await load_entry()
    await alice.update_backlog_item(item_id=task, priority="high", claim=True)
    assert await load_entry() == (number, "active")
    await alice.complete_backlog_item(item_id=task, wont_do=True)
    assert (await load_entry())[1] == "inactive"


async def test_results_stand_in_the_order_of_their_relevance_and_the_rest_is_counted(team: Team):
    alice = await team.agent("alice")
    for number in range(8):
        await alice.record_learning(
            topic=f"Note {number}", content=f"walrus {'sleeps ' * (number % 3)}ocelot{number} {number}."
        )
    await add_task(alice, "walrus sleeps")
    found = await alice.query(query="walrus sleeps soundly", limit=4)
    relevances = [result["relevance"] for result in found["results"]]
    assert relevances == sorted(relevances, reverse=True)
    assert found["more_matches"] == 5
    everywhere = await alice.search_global(query="walrus sleeps soundly", limit=4)
    relevances = [result["relevance"] for result in everywhere["results"]]
    assert relevances == sorted(relevances, reverse=True)


async def test_reader_who_opens_a_spec_by_its_id_is_told_of_its_next_version(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    spec = await define_spec(alice, "walrus")
    await bob.get_by_id(id=spec)
    await define_spec(alice, "ocelot")
    notices = (await bob.heartbeat())["_notice"]
    assert any("cart-api" in notice for notice in notices)


@pytest.mark.parametrize("kind", ["guideline", "checklist", "backlog_item", "message", "function", "Task"])
async def test_store_of_a_kind_with_its_own_tool_names_the_call(team: Team, kind: str):
    alice = await team.agent("alice")
    with pytest.raises(errors.Invalid) as refused:
        await alice.store(title="Walrus", content="It sleeps.", memory_type=kind)
    assert "memory_" in (refused.value.hint or "")


async def test_deleted_project_takes_its_private_statistics_along(team: Team):
    alice, _bob = await team.agent("alice"), await team.agent("bob")
    await alice.send_message(to_instance="bob", message="The walrus sleeps.")
    await (await team.agent("boss", project="bank")).project(action="delete", name="shop", confirm="shop")
    left = await team.database.read(
        lambda tx: tx.all("select name from counter where project = 'shop' and name like 'entr%@%'")
    )
    assert list(left) == []


async def test_writers_of_all_rooms_at_once_index_everything(team: Team):
    """The index has rows that every writer of a project changes; nobody may fail for it, or be lost."""
    words = ("okapi", "ocelot", "walrus", "heron", "newt", "otter")
    agents = [await team.agent(f"agent{number}") for number in range(len(words))]

    async def write_everywhere(number: int, word: str) -> None:
        agent = agents[number]
        await agent.send_message(
            to_instance=f"agent{(number + 1) % len(words)}", message=f"A {word} for you."
        )
        task = (await agent.add_backlog_item(title=f"Feed the {word}"))["id"]
        await agent.update_backlog_item(item_id=task, claim=True)
        await agent.record_learning(topic=f"Lesson of the {word}", content=f"The {word} sleeps.")
        await agent.define_spec(name=word, content=f"The {word} API.")
        await agent.end_session(summary=f"Fed the {word}", handoff_notes="Feed it again.")

    await asyncio.gather(*(write_everywhere(number, word) for number, word in enumerate(words)))
    reader = await team.agent("agent3")
    for number, word in enumerate(words):
        found = await reader.query(query=word, limit=50, max_tokens=20_000)
        mail = {"message"} if number in (2, 3) else set()
        assert kinds(found) == {"backlog", "document", "spec"} | mail


async def test_messages_of_a_blackboard_and_requests_to_people_open_by_their_id(team: Team):
    alice, bob = await team.agent("alice"), await team.agent("bob")

    async def use(agent, tool, **arguments):
        return await agent.call(tool, agent_session=agent.session_id, **arguments)

    board = (await use(alice, "create_session", purpose="Cart API"))["session_id"]
    public = await use(alice, "add_message", session_id=board, content="Use cents.")
    private = await use(alice, "add_private_note", session_id=board, content="I doubt it.")
    asked = await alice.ask_person(question="Cents or floats?", wait_seconds=0)
    for reader in (alice, bob):
        shown = await reader.get_by_id(doc_id=public["message_id"])
        assert (shown["content"], shown["links"]["session_id"]) == ("Use cents.", board)
    assert (await alice.get_by_id(doc_id=private["message_id"]))["content"] == "I doubt it."
    assert not (await bob.get_by_id(doc_id=private["message_id"]))["found"]
    assert (await alice.get_by_id(doc_id=asked["request_id"]))["status"] == "open"
