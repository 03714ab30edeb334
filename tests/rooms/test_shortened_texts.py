"""A text that a reply shows only in part ends with an ellipsis, so that nobody takes the part for the whole."""

from commonplace.shortening import shorten_line, shorten_text
from team import Team

LONG = "The cart rounds its totals at the end and never per line. " * 20


def test_shorten_keeps_what_fits_and_marks_what_is_cut():
    assert shorten_text("abc", 3) == "abc"
    assert shorten_text("ab cd", 4) == "ab…"
    assert shorten_line("a\n b", 3) == "a b"
    assert shorten_line("word " * 100, 9) == "word wor…"


async def test_boot_pack_marks_every_text_that_it_cuts(team: Team):
    alice = await team.agent("alice", task_description=LONG)
    await alice.record_learning(topic="Cart rounding", content=LONG)
    await alice.store(title="Cart decision", content=LONG, memory_type="adr")
    await alice.ask_person(question=LONG, wait_seconds=0)
    started = (await team.agent("bob", task_description="cart rounding")).started
    [learning], [pattern], [active] = started["learnings"], started["patterns"], started["active_agents"]
    for text in (learning["snippet"], pattern["snippet"], active["task"]):
        assert len(text) < len(LONG)
        assert text.endswith("…")
    [asked] = (await team.agent("alice")).started["asked_by_you"]
    assert asked["question"].endswith("…")


async def test_end_session_marks_a_question_that_it_cuts(team: Team):
    alice = await team.agent("alice")
    await alice.ask_person(question=LONG, wait_seconds=0)
    [question] = (await alice.end_session(summary="done"))["open_questions"]
    assert question.endswith("…")


async def test_query_marks_where_an_excerpt_is_cut(team: Team):
    alice = await team.agent("alice")
    await alice.store(title="Cart decision", content=f"Walrus first. {LONG}", memory_type="adr")
    [found] = (await alice.query(query="walrus", detail="snippet"))["results"]
    assert found["content"].startswith("Walrus first.")
    assert found["content"].endswith("…")
