"""A question that nothing answers is told so, instead of getting the least unrelated texts."""

import pytest

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


async def test_query_names_no_meaning_that_means_nothing(alice):
    found = await alice.query(query="pool_recycle of the coffee machine", limit=6)
    meanings = [
        part for result in found["results"] for part in result["why"].split("; ") if "meaning" in part
    ]
    assert all(float(part.removeprefix("meaning ")) >= 0.6 for part in meanings)
