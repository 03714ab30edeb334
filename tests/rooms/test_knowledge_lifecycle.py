"""Documents change their status, are put away, brought back, and lose their evidence."""

import pytest

from commonplace import errors
from commonplace.events import list_events_after
from commonplace.rooms.knowledge import store
from commonplace.server import delete_old_rows
from patience import wait_until_async


def ids(answer):
    return [each["id"] for each in answer.get("results", [])]


async def test_change_status_keeps_the_age_and_names_the_successor(team):
    alice = await team.agent("alice")
    old = await alice.store(title="Old", content="Use the walrus cache.", memory_type="adr")
    team.clock.advance(days=3)
    new = await alice.store(title="New", content="Use the otter cache.", memory_type="adr")
    changed = await alice.change_status(
        doc_id=old["id"][:12], new_status="superseded", superseded_by=new["id"]
    )
    found = await alice.query(query="walrus", include_inactive=True)
    assert changed == {
        "status": "updated",
        "doc_id": old["id"],
        "old_status": "active",
        "new_status": "superseded",
        "superseded_by": new["id"],
    }
    assert ids(found) == [new["id"], old["id"]]
    assert (found["results"][1]["age"], found["results"][1]["warning"]) == (
        "3d",
        f"superseded: read what replaced it; replaced by {new['id']}",
    )
    with pytest.raises(errors.Invalid):
        await alice.change_status(doc_id=old["id"], new_status="superseded", superseded_by=old["id"])
    with pytest.raises(errors.NotFound):
        await alice.change_status(doc_id="doc_ffffffffffff", new_status="active")


async def test_change_status_to_the_same_status_says_that_nothing_changed(team):
    alice = await team.agent("alice")
    made = await alice.store(title="Rates", content="Rates are yearly.", memory_type="architecture")
    changed = await alice.change_status(doc_id=made["id"], new_status="active")
    assert changed["message"] == "Nothing changed: it was active already."
    assert "message" not in await alice.change_status(doc_id=made["id"], new_status="deprecated")
    stored = await team.database.read(lambda tx: list_events_after(tx, "shop", 0))
    assert [event.kind for event in stored].count("DocumentChanged") == 1


async def test_change_status_to_active_gives_an_expired_document_its_time_anew(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="Walrus", content="The walrus sleeps.")
    team.clock.advance(days=181)
    assert ids(await alice.query(query="walrus")) == []
    await alice.change_status(doc_id=made["id"], new_status="active")
    assert ids(await alice.query(query="walrus")) == [made["id"]]
    team.clock.advance(days=181)
    assert ids(await alice.query(query="walrus")) == []


async def test_change_status_to_active_gives_an_archived_document_its_time_anew_if_it_is_over(team):
    alice = await team.agent("alice")
    made = await alice.record_learning(topic="Walrus", content="The walrus sleeps.")
    team.clock.advance(days=181)
    await alice.change_status(doc_id=made["id"], new_status="archived")
    await alice.change_status(doc_id=made["id"], new_status="active")
    assert ids(await alice.query(query="walrus")) == [made["id"]]


async def test_restore_by_tag_brings_back_exactly_what_archiving_changed(team):
    alice = await team.agent("alice")
    made = {}
    for title, tags in (("One", ["old"]), ("Two", ["old"]), ("Three", ["old"]), ("Four", ["young"])):
        stored = await alice.store(title=title, content=f"Walrus {title}.", memory_type="adr", tags=tags)
        made[title] = stored["id"]
    await alice.change_status(doc_id=made["Two"], new_status="deprecated")
    await alice.change_status(doc_id=made["Three"], new_status="archived")
    archived = await alice.archive_by_tag(tag="OLD")
    assert (archived["archived_count"], {each["id"] for each in archived["docs"]}) == (
        2,
        {made["One"], made["Two"]},
    )
    assert ids(await alice.query(query="walrus", limit=10)) == [made["Four"]]
    restored = await alice.restore_by_tag(tag="old")
    assert restored["restored_count"] == 2
    statuses = {title: (await alice.get_by_id(doc_id=identity))["status"] for title, identity in made.items()}
    assert statuses == {"One": "active", "Two": "deprecated", "Three": "archived", "Four": "active"}
    assert await alice.restore_by_tag(tag="old") == {
        "docs": [],
        "status": "completed",
        "tag": "old",
        "restored_count": 0,
    }


async def test_report_citations_lowers_what_has_no_evidence_any_more(team):
    alice = await team.agent("alice")
    gone = await alice.store(
        title="Walrus pool",
        content="The walrus pool has ten.",
        memory_type="adr",
        files_related=["db/pool.py#size"],
    )
    held = await alice.store(
        title="Walrus cache",
        content="The walrus cache has ten.",
        memory_type="adr",
        files_related=["db/cache.py:3"],
    )
    listed = await alice.call("memory_list_citations", project="shop")
    assert {
        (each["document"], each["path"], each["line"], each["symbol"]) for each in listed["citations"]
    } == {
        (gone["id"], "db/pool.py", 0, "size"),
        (held["id"], "db/cache.py", 3, ""),
    }
    findings = [
        {"document": gone["id"], "place": "db/pool.py#size", "state": "gone"},
        {"document": held["id"], "place": "db/cache.py:3", "state": "fresh", "fingerprint": "1f"},
    ]
    told = await alice.call("memory_report_citations", project="shop", findings=findings)
    assert told == {"status": "recorded", "fresh": 1, "drifted": 0, "gone": 1}
    found = await alice.query(query="walrus", limit=5)
    assert [(each["id"], each.get("warning")) for each in found["results"]] == [
        (held["id"], None),
        (gone["id"], "evidence gone: db/pool.py#size"),
    ]


async def test_counts_follow_every_change_of_status(team):
    alice = await team.agent("alice")
    made = [
        await alice.store(title=f"N{n}", content=f"Walrus {n}.", memory_type="adr", tags=["w"])
        for n in range(3)
    ]

    async def count():
        return {row["project"]: row["n"] for row in await team.database.read(store.list_document_counts)}

    assert await count() == {"shop": 3}
    await alice.change_status(doc_id=made[0]["id"], new_status="deprecated")
    await alice.change_status(doc_id=made[0]["id"], new_status="archived")
    assert await count() == {"shop": 2}
    await alice.archive_by_tag(tag="w")
    assert await count() == {"shop": 0}
    await alice.restore_by_tag(tag="w")
    assert await count() == {"shop": 2}


async def test_sweep_says_of_a_document_past_its_time_that_it_expired(team):
    alice = await team.agent("alice")
    made = await alice.store(title="Note", content="Walrus.", memory_type="adr", expires_in_days=1)
    team.clock.advance(days=2)
    await delete_old_rows(team.calls)
    kept = await alice.get_by_id(doc_id=made["id"])
    assert (kept["status"], kept["versions"][0]["reason"]) == ("expired", "its time is over")


async def test_change_status_is_an_event_of_the_project(team):
    alice = await team.agent("alice")
    heard = []
    stop = await team.calls.bus.listen_to_project("shop", heard.append)
    made = await alice.store(title="Note", content="Walrus.", memory_type="adr")
    await alice.change_status(doc_id=made["id"], new_status="archived")
    await wait_until_async(lambda: len(heard) == 2)
    stop()
    assert [(event.kind, event.uri, event.body["id"]) for event in heard] == [
        ("DocumentStored", "knowledge://shop", made["id"]),
        ("DocumentChanged", "knowledge://shop", made["id"]),
    ]


async def test_restore_by_tag_leaves_alone_what_somebody_archived_by_itself(team):
    alice = await team.agent("alice")
    made = [
        (await alice.store(title=f"N{n}", content=f"Walrus {n}.", memory_type="adr", tags=["w"]))["id"]
        for n in range(3)
    ]
    await alice.archive_by_tag(tag="w")
    await alice.change_status(doc_id=made[0], new_status="active")
    await alice.change_status(doc_id=made[0], new_status="archived", reason="wrong, never restore")
    await alice.change_status(doc_id=made[1], new_status="archived", reason="wrong too")
    restored = await alice.restore_by_tag(tag="w")
    assert [each["id"] for each in restored["docs"]] == [made[2]]
    assert (await alice.get_by_id(doc_id=made[0]))["status"] == "archived"


async def test_restore_by_tag_leaves_archived_what_an_active_document_says(team):
    alice = await team.agent("alice")
    text = {"title": "Pool", "content": "Ten connections.", "memory_type": "adr", "tags": ["w"]}
    first = await alice.store(**text)
    await alice.archive_by_tag(tag="w")
    second = await alice.store(**text)
    assert await alice.restore_by_tag(tag="w") == {
        "docs": [],
        "status": "completed",
        "tag": "w",
        "restored_count": 0,
        "still_archived": [{"id": first["id"], "title": "Pool", "duplicate_of": second["id"]}],
    }


async def test_change_status_brings_back_no_second_copy_of_an_active_document(team):
    alice = await team.agent("alice")
    text = {"title": "Pool", "content": "Ten connections.", "memory_type": "adr"}
    first = await alice.store(**text)
    await alice.change_status(doc_id=first["id"], new_status="archived")
    second = await alice.store(**text)
    with pytest.raises(errors.Duplicate) as refused:
        await alice.change_status(doc_id=first["id"], new_status="active")
    assert refused.value.details == {"id": second["id"]}
    await alice.change_status(doc_id=second["id"], new_status="archived")
    assert (await alice.change_status(doc_id=first["id"], new_status="active"))["new_status"] == "active"


async def test_change_status_takes_a_shared_document_as_successor(team):
    alice = await team.agent("alice")
    mine = await alice.store(title="Retry", content="Retry twice.", memory_type="pattern")
    shared = await alice.store(
        title="Backoff", content="Back off with jitter.", memory_type="pattern", project="shared"
    )
    changed = await alice.change_status(
        doc_id=mine["id"], new_status="superseded", superseded_by=shared["id"][:12]
    )
    assert changed["superseded_by"] == shared["id"]
    with pytest.raises(errors.NotFound):
        await alice.change_status(
            doc_id=shared["id"], new_status="superseded", superseded_by=mine["id"], project="shared"
        )


async def test_change_status_refuses_documents_that_replace_each_other_in_a_circle(team):
    alice = await team.agent("alice")
    first, second, third = [
        (await alice.store(title=f"N{n}", content=f"Walrus {n}.", memory_type="adr"))["id"] for n in range(3)
    ]
    for old, successor in ((first, second), (second, third)):
        await alice.change_status(doc_id=old, new_status="superseded", superseded_by=successor)
    with pytest.raises(errors.Conflict):
        await alice.change_status(doc_id=third, new_status="superseded", superseded_by=first)
    await alice.change_status(doc_id=first, new_status="active")
    assert (await alice.change_status(doc_id=third, new_status="superseded", superseded_by=first))[
        "superseded_by"
    ] == first


async def test_store_with_force_has_its_evidence_looked_at_anew(team):
    alice = await team.agent("alice")
    about = {"title": "Pool", "memory_type": "adr", "force_store": True}
    made = await alice.store(content="Ten connections.", files_related=["db.py#size"], **about)
    drifted = {"document": made["id"], "place": "db.py#size", "state": "drifted", "fingerprint": "1f"}
    await alice.call("memory_report_citations", project="shop", findings=[drifted])
    for content in ("Twenty connections.", "Thirty connections."):
        await alice.store(content=content, **about)
        listed = await alice.call("memory_list_citations", project="shop")
        assert [(each["place"], each["state"], each["fingerprint"]) for each in listed["citations"]] == [
            ("db.py#size", "unchecked", "")
        ]


async def test_get_by_id_gives_the_text_of_a_version_after_many_changes_of_status(team):
    alice = await team.agent("alice")
    made = await alice.store(title="Pool", content="Ten connections.", memory_type="adr")

    async def change(tx):
        for n in range(103):
            row = await store.load_document(tx, "shop", made["id"])
            await store.update_document_statuses(
                tx, [row], [("deprecated", "active")[n % 2]], "alice", "", team.clock()
            )

    await team.database.write(change)
    whole = await alice.get_by_id(doc_id=made["id"])
    assert (len(whole["versions"]), whole["versions"][0]["version"], whole["version_count"]) == (
        100,
        104,
        104,
    )
    older = await alice.get_by_id(doc_id=made["id"], version=103)
    assert (older["content"], older["status"]) == ("Ten connections.", "active")
    first = await alice.get_by_id(doc_id=made["id"], version=2)
    assert ([each["version"] for each in first["versions"]], first["version_count"]) == ([2, 1], 104)
    assert first["content"] == "Ten connections."


async def test_store_with_supersedes_retires_the_old_document_in_the_same_write(team):
    ann = await team.agent("ann")
    old = await ann.store(title="Money", content="Money is kept as integer cents.", memory_type="adr")
    new = await ann.store(
        title="Money and tax",
        content="Money is kept as integer cents, and tax rounds half up per line.",
        memory_type="adr",
        supersedes=old["id"][:8],
    )
    assert (new["superseded"], "duplicate_warning" in new) == (old["id"], False)
    opened = await ann.get_by_id(doc_id=old["id"])
    assert (opened["status"], opened["links"]["superseded_by"]) == ("superseded", new["id"])
    results = (await ann.query(query="how is money kept"))["results"]
    assert [result["id"] for result in results] == [new["id"]]


async def test_store_refuses_to_supersede_what_does_not_exist_and_writes_nothing(team):
    ann = await team.agent("ann")
    with pytest.raises(errors.NotFound):
        await ann.store(
            title="Money", content="Integer cents.", memory_type="adr", supersedes="doc_000000000000"
        )
    assert (await ann.query(query="integer cents"))["results"] == []
