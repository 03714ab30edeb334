"""What a later document contradicts or replaces is shown behind it, and says so."""


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
    assert await _list_results(alice, "What is the default pool size of 10 connections?") == expected


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


async def test_query_takes_a_document_that_was_written_anew_for_the_latest(team):
    alice = await team.agent("alice")
    document = {"title": "Pool size", "memory_type": "config"}
    old = (await alice.store(**document, content="The default pool size is 10 connections."))["id"]
    other = await _record(alice, "Pool of workers", "The default pool size is 25 connections.")
    again = await alice.store(
        **document, content="The default pool size is 50 connections.", force_store=True
    )
    assert again["id"] == old
    assert dict(await _list_results(alice, "default pool size")) == {old: None, other: old}


async def test_query_of_inactive_documents_names_what_replaced_them(team):
    alice = await team.agent("alice")
    old = await _record(alice, "Deploy", "Deploy with the script in tools.")
    new = await _record(alice, "Deployment", "Push a tag; the pipeline deploys it.")
    await alice.change_status(doc_id=old, new_status="superseded", superseded_by=new)
    assert dict(await _list_results(alice, "deploy with the script", include_inactive=True)) == {
        old: new,
        new: None,
    }


async def test_query_prefers_the_newer_of_two_nearly_equal_documents_about_one_subject(team):
    alice = await team.agent("alice")
    old = await _record(alice, "Cache of sessions", "Sessions are cached in Redis on the first node.")
    team.clock.advance(days=40)
    new = await _record(alice, "Cache of sessions moved", "Sessions are cached in Valkey on the second node.")
    assert [found for found, _ in await _list_results(alice, "where are sessions cached")] == [new, old]


async def test_query_puts_a_decision_that_replaces_another_first_though_it_has_fewer_words_of_the_question(
    team,
):
    alice = await team.agent("alice")
    await alice.record_learning(
        topic="Message broker: RabbitMQ",
        content="Services talk through RabbitMQ with one exchange for each domain. Quorum queues, three nodes.",
    )
    team.clock.advance(days=1)
    await alice.record_learning(
        topic="NATS JetStream replaces RabbitMQ",
        content="Services publish to NATS JetStream; RabbitMQ stays for billing until it is migrated.",
    )
    await team.calls.search.drain_queue()
    found = await alice.query(query="which message broker do services talk through")
    assert [result["title"] for result in found["results"]][:2] == [
        "NATS JetStream replaces RabbitMQ",
        "Message broker: RabbitMQ",
    ]


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


_HELPER = "Commit a shared helper before the code that imports it"
_LOCKED = (
    "While the file was locked by another agent every import failed. Commit the helper, then the import."
)
_RELEASED = "The file had just been released, but the helper was missing. Commit the helper, then the import."


async def test_an_own_learning_about_the_same_topic_is_told_anew(team):
    alice = await team.agent("alice")
    old = await _record(alice, _HELPER, _LOCKED)
    again = await alice.record_learning(topic=_HELPER.upper(), content=_RELEASED)
    assert f"your earlier {old} has the same topic" in again["duplicate_warning"]
    assert (await alice.get_by_id(doc_id=old))["links"]["later"] == again["id"]
    expected = [(again["id"], None), (old, again["id"])]
    assert await _list_results(alice, "the file was locked by another agent") == expected


async def test_two_learnings_under_one_word_replace_each_other_only_if_they_are_similar(team):
    alice = await team.agent("alice")
    old = await _record(alice, "pytest", "Fixtures with module scope leak the cart between two runs.")
    again = await alice.record_learning(topic="pytest", content="Use -n 2 on small machines, else swap.")
    assert f"{old} has the same title" in again["duplicate_warning"]
    assert "later" not in (await alice.get_by_id(doc_id=old)).get("links", {})


async def test_query_puts_the_newer_of_two_documents_with_the_same_title_first(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    old = await _record(alice, _HELPER, _LOCKED)
    team.clock.advance(days=1)
    new = await _record(bob, f" {_HELPER}", _RELEASED)
    assert await _list_results(alice, "the file was locked by another agent") == [(new, None), (old, new)]
    assert "later" not in (await alice.get_by_id(doc_id=old)).get("links", {})


async def test_query_does_not_link_documents_of_other_types_or_subjects_with_the_same_title(team):
    alice, bob = await team.agent("alice"), await team.agent("bob")
    await _record(alice, "pytest", "Fixtures with module scope leak the cart between two runs of the suite.")
    await _record(bob, "pytest", "Use two workers on small machines, else they swap and every check is slow.")
    await bob.store(
        title="pytest", memory_type="adr", content="Fixtures with module scope leak the cart; we forbid them."
    )
    found = await _list_results(alice, "pytest fixtures with module scope, workers on small machines")
    assert [later for _, later in found] == [None] * 3
