"""Questions that name a time are answered from that time."""

from datetime import UTC, datetime

import pytest

from commonplace.clock import SECOND
from commonplace.search.time_range import read_time_range

NOW = int(datetime(2026, 11, 17, 15, 30, tzinfo=UTC).timestamp()) * SECOND  # a Tuesday


def _days(question):
    found = read_time_range(question, NOW)
    if found is None:
        return None
    return tuple(
        datetime.fromtimestamp(at / SECOND, UTC).strftime("%Y-%m-%d") for at in (found.since, found.until)
    )


@pytest.mark.parametrize(
    ("question", "days"),
    [
        ("what did we decide yesterday", ("2026-11-16", "2026-11-17")),
        ("errors of today", ("2026-11-17", "2026-11-18")),
        ("what broke last week", ("2026-11-09", "2026-11-16")),
        ("what changed this week", ("2026-11-16", "2026-11-18")),
        ("decisions of last month", ("2026-10-01", "2026-11-01")),
        ("what did we learn in October", ("2026-10-01", "2026-11-01")),
        ("what did we learn in December", ("2025-12-01", "2026-01-01")),
        ("releases in march 2025", ("2025-03-01", "2025-04-01")),
        ("what was fixed 3 days ago", ("2026-11-13", "2026-11-16")),
        ("in the last two weeks", ("2026-11-03", "2026-11-18")),
        ("since September", ("2026-09-01", "2026-11-18")),
        ("why do we march in step", None),
        ("the last weekly report", None),
        ("may the cache be shared", None),
        ("in march 9999999", ("2026-03-01", "2026-04-01")),
    ],
)
def test_time_of_a_question(question, days):
    assert _days(question) == days


async def test_query_answers_a_question_of_last_week_from_last_week(team):
    alice = await team.agent("alice")
    old = (await alice.record_learning(topic="Deploy failed", content="The disk was full."))["id"]
    team.clock.advance(days=30)
    recent = (await alice.record_learning(topic="Deploy failed again", content="The token had expired."))[
        "id"
    ]
    team.clock.advance(days=7)
    found = await alice.query(query="why did the deploy fail last week")
    assert [result["id"] for result in found["results"]] == [recent]
    anywhen = await alice.query(query="why did the deploy fail")
    assert {result["id"] for result in anywhen["results"]} == {old, recent}


async def test_query_looks_at_all_times_if_the_named_one_has_nothing(team):
    alice = await team.agent("alice")
    old = (await alice.record_learning(topic="Deploy failed", content="The disk was full."))["id"]
    team.clock.advance(days=60)
    found = await alice.query(query="why did the deploy fail yesterday")
    assert [result["id"] for result in found["results"]] == [old]
    assert found["message"]
