"""A question that nothing answers is told so, instead of getting the least unrelated texts."""

import pytest

from commonplace.search.score import show_relevance

NOTES = (
    (
        "PgBouncer closes connections after 10 minutes",
        "Set pool_recycle=300, else the first query after a pause fails.",
    ),
    ("Cart loses items on reload", "The session cookie is not sent with the first request after a deploy."),
    ("Deploy", "Push a tag; the pipeline builds the image and deploys it to production."),
    ("Retry policy", "Clients retry three times with exponential backoff and jitter."),
    ("Flaky checkout test", "The clock of the container is in another time zone; freeze it in the fixture."),
    ("Feature flags", "Flags are read at start; restart the workers after changing one."),
)
ANSWERABLE = (
    "connection dropped when idle",
    "why does the shopping basket become empty",
    "how do I release a new version",
    "how often do we try again when a request fails",
    "pool_recycle",
    "test fails because of the time zone",
    "toggle has no effect until the workers are restarted",
)
UNANSWERABLE = (
    "what is the capital of Peru",
    "which wine goes with grilled salmon",
    "who is on call this weekend",
    "how do we rotate GPG keys",
    "where is the coffee machine",
    "what did Napoleon say before Waterloo",
    "how many vacation days do I have",
    "which colour does the logo have",
    "how do I renew a passport",
    "kubernetes operator for elasticsearch snapshots",
)


@pytest.fixture
async def alice(team):
    agent = await team.agent("alice")
    for topic, content in NOTES:
        await agent.record_learning(topic=topic, content=content)
    await team.calls.search.drain_queue()
    return agent


async def test_query_finds_what_is_known_in_other_words(alice):
    found = {question: (await alice.query(query=question))["result_count"] for question in ANSWERABLE}
    assert [question for question, count in found.items() if not count] == []


async def test_query_says_that_nothing_is_relevant(alice):
    answers = {question: await alice.query(query=question) for question in UNANSWERABLE}
    wrong = [question for question, answer in answers.items() if answer["results"]]
    assert len(wrong) <= 2
    silent = answers["what is the capital of Peru"]
    assert (silent["message"], len(silent["nearest_titles"])) == ("Nothing relevant found.", 3)
    assert all("(doc_" in title for title in silent["nearest_titles"])


async def test_query_says_that_its_matches_are_doubtful(alice):
    weak = await alice.query(query="size of pull requests")
    near = await alice.query(query="toggle has no effect until the workers are restarted", limit=1)
    doubt = "No close match: these may not answer the question."
    assert (weak["message"], near.get("message")) == (doubt, None)
    assert [result["doubtful"] for result in weak["results"]] == [True] * weak["result_count"]
    assert max(len(result["content"]) for result in weak["results"]) <= 110
    assert "doubtful" not in near["results"][0]


async def test_query_leaves_out_what_has_neither_a_word_nor_the_meaning_of_the_question(alice):
    found = (await alice.query(query="the clock of the container is in another time zone", limit=6))[
        "results"
    ]
    assert found[0]["title"] == "Flaky checkout test"
    assert [
        result["why"] for result in found if "words" not in result["why"] and "meaning" not in result["why"]
    ] == []
    assert len(found) < len(NOTES)


PRINTER = "After each update of its driver the printer of the office needs a restart."


async def test_query_finds_a_note_that_has_no_vector_yet_by_most_of_its_words(alice):
    made = await alice.store(title="Printer", content=PRINTER, memory_type="adr")
    found = await alice.query(query="why does the office printer not work after an update")
    assert found["results"][0]["id"] == made["id"]


@pytest.mark.parametrize(("closeness", "shown"), [(-0.4, 0.01), (0.0, 0.01), (0.2504, 0.25), (1.7, 1.0)])
def test_relevance_of_a_result_that_is_shown_is_above_zero(closeness, shown):
    assert show_relevance(closeness) == shown


async def test_relevance_is_the_same_with_a_filter_that_leaves_one_candidate(team, alice):
    await alice.store(title="Cache", content="The catalogue is cached for an hour.", memory_type="adr")
    await team.calls.search.drain_queue()
    question = "decision on how long the catalogue is cached"
    whole, filtered = [
        (await alice.query(query=question, **options))["results"][0]
        for options in ({}, {"memory_types": ["adr"]})
    ]
    assert whole["title"] == filtered["title"] == "Cache"
    assert abs(whole["relevance"] - filtered["relevance"]) < 0.15
