"""What a later document contradicts or replaces is shown behind it, and says so."""

import pytest

from commonplace import errors


async def _list_results(agent, question, **options):
    reply = await agent.query(query=question, limit=5, **options)
    return [(result["id"], result.get("later")) for result in reply["results"]]


async def _record(agent, topic, content):
    return (await agent.record_learning(topic=topic, content=content))["id"]


async def test_query_shows_the_later_of_two_contradicting_learnings_first(team):
    alice = await team.agent("alice")
    old = await _record(alice, "Pool size", "The default pool size is 10 connections.")
    team.clock.advance(days=1)
    new = await _record(alice, "Pool size again", "The default pool size is 25 connections.")
    expected = [(new, None), (old, new)]
    assert await _list_results(alice, "What is the default pool size?") == expected


async def test_search_global_names_the_later_document(team):
    alice = await team.agent("alice")
    old = await _record(alice, "Pool size", "The default pool size is 10 connections.")
    new = await _record(alice, "Pool size again", "The default pool size is 25 connections.")
    found = await alice.search_global(query="default pool size")
    assert {result["id"]: result.get("later") for result in found["results"]} == {new: None, old: new}


async def test_query_forgets_a_contradiction_whose_later_document_is_archived(team):
    alice = await team.agent("alice")
    old = await _record(alice, "Pool size", "The default pool size is 10 connections.")
    new = await _record(alice, "Pool size again", "The default pool size is 25 connections.")
    await alice.change_status(doc_id=new, new_status="archived")
    assert await _list_results(alice, "default pool size") == [(old, None)]


async def test_query_forgets_a_contradiction_whose_later_document_has_expired(team):
    alice = await team.agent("alice")
    old = await _record(alice, "Pool size", "The default pool size is 10 connections.")
    await alice.store(
        title="Pool size again",
        content="The default pool size is 25 connections.",
        memory_type="note",
        expires_in_days=1,
    )
    team.clock.advance(days=2)
    assert await _list_results(alice, "default pool size") == [(old, None)]


async def test_query_of_inactive_documents_names_what_replaced_them(team):
    alice = await team.agent("alice")
    old = await _record(alice, "Deploy", "Deploy with the script in tools.")
    new = await _record(alice, "Deployment", "Push a tag; the pipeline deploys it.")
    await alice.change_status(doc_id=old, new_status="superseded", superseded_by=new)
    assert dict(await _list_results(alice, "deploy with the script", include_inactive=True)) == {
        old: new,
        new: None,
    }


async def test_query_keeps_the_entry_that_has_the_name_before_a_newer_one_of_the_same_words(team):
    alice = await team.agent("alice")
    for name in ("tomlb", "tomla", "tomlc"):
        await alice.record_learning(
            topic=f"The importer needs {name}",
            content=f"Without the package {name} the importer of the price list stops with an error.",
        )
        team.clock.advance(days=1)
    await team.calls.search.drain_queue()
    found = await alice.query(query="importer stops without tomlb")
    assert found["results"][0]["title"] == "The importer needs tomlb"


async def test_a_text_that_declares_what_it_replaces_is_linked_by_number_title_and_file(team):
    alice = await team.agent("alice")

    async def decide(title, content):
        return (await alice.store(title=title, content=content, memory_type="adr"))["id"]

    broker = await decide("ADR-0004: RabbitMQ as the message broker", "Services talk through RabbitMQ.")
    cache = await decide("5. Cache prices in Redis", "Prices live in Redis for an hour.")
    waiting = await decide("6. Nightly exports", "Status: Superseded by [9. Hourly exports](0009-hourly.md)")
    nats = await decide("ADR-0007: NATS", "Supersedes ADR-4. Services publish to NATS JetStream.")
    valkey = await decide("8. Use Valkey", 'Amends "Cache prices in Redis", which stays for carts.')
    hourly = await decide("9. Hourly exports", "Exports of the shop run every hour.")
    await decide("10. Three racks", "This does not supersede ADR-9; it replaces 3 servers in the office.")
    for earlier, later in ((broker, nats), (cache, valkey), (waiting, hourly)):
        assert (await alice.get_by_id(doc_id=earlier))["links"]["later"] == later
    assert "later" not in (await alice.get_by_id(doc_id=hourly)).get("links", {})
    found = [each for each, _ in await _list_results(alice, "message broker through which services talk")]
    assert found.index(nats) + 1 == found.index(broker)


async def test_supersedes_takes_an_id_a_number_or_a_title(team):
    alice = await team.agent("alice")
    first = await _record(alice, "Rounding of prices", "Prices are rounded to cents in the cart.")
    second = await alice.record_learning(
        topic="Rounding in the till",
        content="The till rounds, the cart does not.",
        supersedes="rounding of prices",
    )
    third = await alice.store(
        title="ADR 12: Rounding", content="Only invoices round.", memory_type="adr", supersedes=second["id"]
    )
    fourth = await alice.store(
        title="ADR 13: Nobody rounds", content="Nothing rounds.", memory_type="adr", supersedes="12"
    )
    assert [each["superseded"] for each in (second, third, fourth)] == [first, second["id"], third["id"]]
    with pytest.raises(errors.NotFound):
        await alice.record_learning(topic="x y", content="z", supersedes="no such title")


async def test_the_newer_of_two_near_duplicates_is_first_also_where_it_is_longer(team):
    alice = await team.agent("alice")
    old = await _record(alice, "CI workers", "CI uses pytest with 4 workers")
    team.clock.advance(days=1)
    again = await alice.record_learning(
        topic="CI workers", content="CI uses pytest with 8 workers after the upgrade, not 4"
    )
    assert again["similar"][0] | {"similarity": 1} == {
        "id": old,
        "title": "CI workers",
        "similarity": 1,
        "age": "yesterday",
        "author": "alice",
    }
    assert f'supersedes="{old}"' in again["message"]
    assert await _list_results(alice, "how many workers does CI use") == [
        (again["id"], None),
        (old, again["id"]),
    ]
