"""Documents are found, explained and read."""

import pytest

from commonplace import access, errors

IDLE = "PgBouncer closes server connections that nobody used for ten minutes."


def ids(answer):
    return [each["id"] for each in answer.get("results", [])]


async def test_query_finds_what_was_stored_one_call_before(team):
    alice = await team.agent("alice")
    stored = await alice.record_learning(
        topic="PgBouncer", content=IDLE, tags=["Postgres"], files_related=["db/pool.py"]
    )
    found = await alice.query(query="pgbouncer connections")
    assert stored == {
        "status": "recorded",
        "id": stored["id"],
        "expires_at": "2027-07-14T08:00:00Z",
    }
    assert (await alice.get_by_id(doc_id=stored["id"]))["expires_at"] == stored["expires_at"]
    assert found == {
        "query": "pgbouncer connections",
        "result_count": 1,
        "results": [
            {
                "kind": "document",
                "id": stored["id"],
                "source": "shop",
                "title": "PgBouncer",
                "type": "learning",
                "status": "active",
                "relevance": found["results"][0]["relevance"],
                "age": "just now",
                "content": IDLE,
                "why": "words: pgbouncer, connections",
                "author": "alice",
                "tags": ["postgres"],
            }
        ],
    }
    assert 0 < found["results"][0]["relevance"] <= 1


async def test_query_finds_names_of_code_whole_and_in_parts(team):
    alice = await team.agent("alice")
    stored = await alice.store(
        title="Loader",
        content="Call getUserName() from src/app/user_store.py first.",
        memory_type="code_snippet",
    )
    for spelled in (
        "getUserName",
        "get_user_name",
        "user name",
        "user_store.py",
        "src/app/user_store.py",
        "USERNAME",
    ):
        found = await alice.query(query=spelled)
        assert (ids(found) == [stored["id"]]) is (spelled != "USERNAME"), spelled


async def test_query_that_finds_nothing_says_so_and_names_what_is_near(team):
    alice = await team.agent("alice")
    await alice.record_learning(topic="PgBouncer", content=IDLE)
    assert await alice.query(query="zebra") == {
        "results": [],
        "query": "zebra",
        "result_count": 0,
        "message": "Nothing relevant found.",
        "nearest_titles": ["PgBouncer"],
    }


async def test_search_global_that_finds_nothing_names_what_is_near_and_readable(team):
    alice = await team.agent("alice")
    await alice.record_learning(topic="PgBouncer", content=IDLE)
    bob = await team.agent("bob", project="bank")
    await bob.record_learning(topic="Zebras", content="The xylophone account is closed.")
    limited = await team.agent("carol", caller=access.Caller("agent", frozenset({"shop"}), key="key_1"))
    assert await limited.search_global(query="giraffe") == {
        "results": [],
        "query": "giraffe",
        "result_count": 0,
        "message": "Nothing relevant found.",
        "nearest_titles": ["PgBouncer"],
    }
    assert (await alice.search_global(query="zzebra"))["nearest_titles"] == ["PgBouncer"]


async def test_query_filters_by_type_tag_age_and_status(team):
    alice = await team.agent("alice")
    old = await alice.store(
        title="Old cache", content="The cache is cold.", memory_type="adr", tags=["cache"]
    )
    team.clock.advance(days=40)
    young = await alice.store(title="Young cache", content="The cache is warm now.", memory_type="pattern")
    asked = {"query": "cache", "limit": 10}
    assert set(ids(await alice.query(**asked))) == {old["id"], young["id"]}
    assert ids(await alice.query(**asked, memory_types=["adr"])) == [old["id"]]
    assert ids(await alice.query(**asked, tags=["CACHE"])) == [old["id"]]
    assert ids(await alice.query(**asked, tags=["c_che%"])) == []
    assert ids(await alice.query(**asked, updated_within_days=7)) == [young["id"]]
    await alice.change_status(doc_id=old["id"], new_status="deprecated")
    assert ids(await alice.query(**asked)) == [young["id"]]
    assert set(ids(await alice.query(**asked, include_inactive=True))) == {old["id"], young["id"]}


async def test_query_leaves_out_what_expired_and_warns_of_what_is_old(team):
    alice = await team.agent("alice")
    await alice.store(
        title="Handoff", content="Cache work goes on.", memory_type="handoff", expires_in_days=1
    )
    lasting = await alice.store(title="Decision", content="Cache on the edge.", memory_type="adr")
    team.clock.advance(days=35)
    found = await alice.query(query="cache", limit=10)
    assert [(each["id"], each["age"], each["warning"]) for each in found["results"]] == [
        (lasting["id"], "1mo", "unchanged for 1mo: check before use")
    ]
    inactive = await alice.query(query="cache", limit=10, include_inactive=True)
    assert {each["title"]: each["status"] for each in inactive["results"]} == {
        "Handoff": "expired",
        "Decision": "active",
    }


@pytest.mark.slow
async def test_query_stays_within_max_tokens_and_marks_what_it_cut(team):
    alice = await team.agent("alice")
    for n in range(6):
        filler = "\n".join(f"Line {line} of part {n} tells of other things." for line in range(200))
        content = f"{filler}\nThe walrus {n} sleeps.\n{filler}"
        await alice.store(title=f"Walrus {n}", content=content, memory_type="adr")
    for detail in ("auto", "snippet", "full"):
        for budget in (300, 1000, 4000):
            answer = await alice.calls.run(
                "memory_query",
                {
                    "session_id": alice.session_id,
                    "query": "walrus sleeps",
                    "limit": 6,
                    "max_tokens": budget,
                    "detail": detail,
                },
                alice.caller,
            )
            assert len(answer.to_text()) <= budget * 4
            assert all(each.truncated for each in answer.reply.results[1:])
    snippets = await alice.query(query="walrus sleeps", detail="snippet", limit=6)
    assert all("walrus" in each["content"] for each in snippets["results"])


async def test_query_reads_shared_knowledge_unless_told_not_to(team):
    alice = await team.agent("alice")
    shared = await alice.store(
        title="Retry", content="Back off twice.", memory_type="pattern", project="shared"
    )
    assert [(each["id"], each["source"]) for each in (await alice.query(query="retry"))["results"]] == [
        (shared["id"], "shared")
    ]
    assert ids(await alice.query(query="retry", include_shared=False)) == []


async def test_query_never_shows_another_project(team):
    alice = await team.agent("alice")
    bob = await team.agent("bob", project="bank")
    await bob.record_learning(topic="Ledger", content="The xylophone account is closed.")
    assert await alice.query(query="xylophone") == {
        "results": [],
        "query": "xylophone",
        "result_count": 0,
        "message": "Nothing relevant found.",
    }
    limited = access.Caller("agent", frozenset({"shop"}), key="key_1")
    carol = await team.agent("carol", caller=limited)
    with pytest.raises(errors.Forbidden):
        await carol.query(query="xylophone", project="bank")
    assert (await carol.search_global(query="xylophone"))["result_count"] == 0
    assert (await alice.search_global(query="xylophone"))["result_count"] == 1


async def test_search_global_finds_in_every_project_and_says_where(team):
    alice = await team.agent("alice")
    bob = await team.agent("bob", project="bank")
    mine = await alice.record_learning(topic="Retry", content="Retry thrice with jitter.")
    his = await bob.store(title="Retry", content="Never retry a transfer.", memory_type="gotcha")
    found = await alice.search_global(query="retry")
    assert {(each["kind"], each["id"], each["project"]) for each in found["results"]} == {
        ("document", mine["id"], "shop"),
        ("document", his["id"], "bank"),
    }
    assert [
        each["id"] for each in (await alice.search_global(query="retry", memory_types=["gotcha"]))["results"]
    ] == [his["id"]]


async def test_get_by_id_gives_the_whole_document_with_versions_and_links(team):
    alice = await team.agent("alice")
    first = await alice.store(title="Base", content="The base.", memory_type="adr")
    made = await alice.store(
        title="Pool",
        content=f"Follows from {first['id']}.",
        memory_type="adr",
        files_related=["db/pool.py:12@abcdef1"],
    )
    await alice.change_status(doc_id=made["id"], new_status="review_pending", reason="unsure")
    assert await alice.get_by_id(id=made["id"][:10]) == {
        "found": True,
        "id": made["id"],
        "title": "Pool",
        "type": "adr",
        "status": "review_pending",
        "project": "shop",
        "created": "2027-01-15T08:00:00Z",
        "updated": "2027-01-15T08:00:00Z",
        "author": "alice",
        "content": f"Follows from {first['id']}.",
        "versions": [
            {
                "version": 2,
                "at": "2027-01-15T08:00:00Z",
                "by": "alice",
                "what": "status",
                "status": "review_pending",
                "reason": "unsure",
            },
            {
                "version": 1,
                "at": "2027-01-15T08:00:00Z",
                "by": "alice",
                "what": "created",
                "status": "active",
            },
        ],
        "links": {
            "derived_from": [first["id"]],
            "cites": [{"place": "db/pool.py:12@abcdef1", "state": "unchecked"}],
        },
        "warning": "not reviewed yet",
    }


@pytest.mark.parametrize("unknown", ["doc_ffffffffffff", "zebra_ffffffffffff", "some/where/1234"])
async def test_get_by_id_of_an_unknown_id_says_what_to_do(team, unknown):
    alice = await team.agent("alice")
    answer = await alice.get_by_id(doc_id=unknown)
    assert (answer["found"], answer["id"], "message" in answer) == (False, unknown, True)


async def test_get_by_id_counts_as_use(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="Pool", content=IDLE)
    await alice.get_by_id(doc_id=made["id"])
    await team.calls.search.write_uses()
    (listed,) = (await alice.list_documents(project="shop"))["documents"]
    assert listed["opened"] == 1


async def test_start_session_gives_the_learnings_of_the_task_and_changed_interfaces(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="PgBouncer", content=IDLE)
    await alice.store(title="Jitter", content="Back off with jitter.", memory_type="pattern")
    await alice.store(
        title="cart.add", content="Takes an item.", memory_type="interface", interface_name="cart.add"
    )
    bob = await team.agent("bob", task_description="fix dropped pgbouncer connections")
    assert [(each["id"], each["snippet"]) for each in bob.started["learnings"]] == [(made["id"], IDLE)]
    assert bob.started["learnings"][0]["why"].startswith("words: ")
    assert "patterns" not in bob.started
    assert [each["interface"] for each in bob.started["interface_updates"]] == ["cart.add"]
