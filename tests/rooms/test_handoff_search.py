"""Every session leaves a summary; a search shows what the team knows before the summaries of past sessions."""

from team import Team

LESSON = "A shared helper comes first, the import that needs it afterwards, each in a commit of its own so that nobody breaks."
SUMMARY = "Helper, shared import: leftover window of the frontend, nothing done there today"


async def test_query_shows_an_unfinished_handoff_as_what_it_is_worth(team: Team):
    alice = await team.agent("alice")
    await alice.record_learning(topic="Commits", content=LESSON)
    await (await team.agent("bob")).end_session(summary=SUMMARY, handoff_notes="Next: tax")
    found = await alice.query(query="shared helper import")
    assert [result["type"] for result in found["results"]] == ["handoff", "learning"]


async def test_query_shows_a_summary_that_alone_matches(team: Team):
    alice = await team.agent("alice")
    await alice.record_learning(topic="Commits", content=LESSON)
    await (await team.agent("bob")).end_session(summary="Reverse charge of invoices for the walrus")
    found = await alice.query(query="reverse charge of walrus invoices")
    assert found["results"][0]["type"] == "handoff"


async def test_query_for_handoffs_finds_the_summary(team: Team):
    bob = await team.agent("bob")
    ended = await bob.end_session(summary=SUMMARY)
    alice = await team.agent("alice")
    await alice.record_learning(topic="Commits", content=LESSON)
    found = await alice.query(query="shared helper", memory_types=["handoff"])
    assert [result["id"] for result in found["results"]] == [ended["handoff_id"]]
