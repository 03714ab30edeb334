"""Documents: kept, found, changed, put away, brought back."""

import pytest

from commonplace import errors


async def test_query_finds_what_was_stored_one_call_before(house):
    alice = await house.agent("alice")
    stored = await alice.record_learning(topic="PgBouncer", content="It closes idle server connections.")
    found = await alice.query(query="pgbouncer idle")
    assert [each["id"] for each in found["results"]] == [stored["id"]]
