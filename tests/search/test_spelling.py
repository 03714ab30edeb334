"""Typing errors in a question are repaired with the words that the project has."""

import pytest

from commonplace.search.spelling import measure_distance


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("missmatch", "mismatch", 1),
        ("hydrt", "hydrat", 1),
        ("recieve", "receive", 1),
        ("timeuot", "timeout", 1),
        ("conection", "connection", 1),
        ("kubernetes", "kubernetes", 0),
        ("redis", "mysql", 3),
    ],
)
def test_distance_counts_letters_up_to_the_limit(one, other, distance):
    assert measure_distance(one, other, 2) == distance


async def test_query_finds_what_a_misspelt_question_means(team):
    alice = await team.agent("alice")
    note = await alice.record_learning(
        topic="Hydration mismatch", content="Render dates in an effect, or hydration fails."
    )
    await alice.record_learning(topic="Colours", content="The button of the shop is green.")
    found = await alice.query(query="hydrtion missmatch")
    assert [result["id"] for result in found["results"]] == [note["id"]]


@pytest.mark.parametrize(
    ("question", "other", "has_vectors"),
    [
        ("staging server address", "Guests stay two nights.", False),
        ("staging server address", "Guests stay two nights.", True),
        ("clean the cache", "A clear answer.", False),
        ("clean the cache", "A clear answer.", True),
        ("policy of refunds", "The police was called.", True),
    ],
)
async def test_query_does_not_take_another_word_for_one_that_is_spelt_correctly(
    team, question, other, has_vectors
):
    alice = await team.agent("alice")
    await alice.record_learning(
        topic="Address", content="The address of a booking is optional; refunds and cache too."
    )
    note = await alice.record_learning(topic="Notes", content=other)
    if has_vectors:
        await team.calls.search.drain_queue()
    found = await alice.query(query=question)
    assert note["id"] not in {result["id"] for result in found["results"] if "words:" in result["why"]}


async def test_query_tells_matched_words_as_they_are_written(team):
    alice = await team.agent("alice")
    await alice.record_learning(topic="Hydration mismatch", content="Render dates in an effect.")
    (found,) = (await alice.query(query="hydrtion missmatch rendering"))["results"]
    words = found["why"].split("; ")[0].removeprefix("words: ").split(", ")
    assert set(words) == {"hydrat", "mismatch", "rendering"}


async def test_query_does_not_repair_words_that_the_project_knows(team):
    alice = await team.agent("alice")
    port = await alice.record_learning(topic="Ports", content="The ports of the harbour are closed at night.")
    await alice.record_learning(topic="Sports", content="Sporting goods are sold in the second aisle.")
    found = await alice.query(query="ports")
    assert [result["id"] for result in found["results"]] == [port["id"]]
