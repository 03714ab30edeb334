"""A server whose index of vectors is missing answers at once, by words, and builds the index meanwhile."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from asyncpg.transaction import Transaction

from commonplace.search import postgres
from commonplace.store.migrate import list_missing_vector_indexes, migrate
from commonplace.store.postgres import Postgres
from patience import wait_until_async

INDEX = "embedding_384"


@pytest.fixture
async def store(request: pytest.FixtureRequest, team) -> Postgres:
    if not isinstance(team.database, Postgres):
        pytest.skip("SQLite has no index of vectors")
    if "citus" in request.node.name:
        pytest.skip("on Citus a migration builds its indexes itself, in its transaction")
    await team.database.write(lambda tx: tx.run(f"drop index {INDEX}"))
    return team.database


async def test_start_leaves_a_missing_vector_index_to_the_background(store: Postgres):
    assert await migrate(store, without_vector_indexes=True) == 0
    assert list(await list_missing_vector_indexes(store)) == [INDEX]
    await migrate(store)
    assert await list_missing_vector_indexes(store) == {}


async def test_search_finds_by_words_until_the_vector_index_is_built(
    team, store: Postgres, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(postgres, "_MAX_EXACT_VECTORS", 0)
    alice = await team.agent("alice")
    await alice.record_learning(topic="Retry policy", content="Clients retry three times with backoff.")
    await team.calls.search.drain_queue()
    async with _hold_writer(store):
        await team.calls.search.open()
        health = (await alice.health())["search"]
        assert (health["ok"], "vector index" in health["problem"]) == (False, True)
        found = await alice.query(query="retry policy of clients")
        assert [result["title"] for result in found["results"]] == ["Retry policy"]

    async def is_built() -> bool:
        return not (await alice.health())["search"].get("problem")

    await wait_until_async(is_built)
    assert await list_missing_vector_indexes(store) == {}
    found = await alice.query(query="how often do we try again")
    await team.calls.search.close()
    assert [result["title"] for result in found["results"]] == ["Retry policy"]


async def test_health_reports_the_build_until_the_vector_index_is_used(team, store: Postgres):
    alice = await team.agent("alice")
    await alice.record_learning(topic="Retry policy", content="Clients retry three times with backoff.")
    await team.calls.search.drain_queue()
    async with _hold_writer(store) as first:
        await team.calls.search.open()
        await _wait_for_phase(store, "waiting for writers before build")
        async with _hold_writer(store):
            await first.rollback()
            await _wait_for_phase(store, "waiting for writers before validation")  # all rows were read
            health = (await alice.health())["search"]
    await team.calls.search.close()
    assert (health["ok"], "vector index" in health["problem"]) == (False, True)


@asynccontextmanager
async def _hold_writer(store: Postgres) -> AsyncIterator[Transaction]:
    """A transaction that writes to the table of vectors, and that a build of its index waits for."""
    async with store._writers.connections.acquire() as connection:
        transaction = connection.transaction()
        await transaction.start()
        await connection.execute("lock table embedding in row exclusive mode")
        try:
            yield transaction
        finally:
            if connection.is_in_transaction():
                await transaction.rollback()


async def _wait_for_phase(store: Postgres, phase: str) -> None:
    async def has_come() -> bool:
        rows = await store.read(lambda tx: tx.all("select phase from pg_stat_progress_create_index"))
        return [row["phase"] for row in rows] == [phase]

    await wait_until_async(has_come)
