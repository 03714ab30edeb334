"""A server whose index of vectors is missing answers at once, by words, and builds the index meanwhile."""

import pytest

from commonplace.search import postgres
from commonplace.store.migrate import list_missing_vector_indexes, migrate
from commonplace.store.postgres import Postgres
from patience import wait_until_async

INDEX = "embedding_384"


@pytest.fixture
async def store(team) -> Postgres:
    if not isinstance(team.database, Postgres):
        pytest.skip("SQLite has no index of vectors")
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
    async with store._writers.connections.acquire() as holder:
        transaction = holder.transaction()
        await transaction.start()
        await holder.execute("lock table embedding in row exclusive mode")  # the build waits for this
        await team.calls.search.open()
        health = (await alice.health())["search"]
        assert (health["ok"], "vector index" in health["problem"]) == (False, True)
        found = await alice.query(query="retry policy of clients")
        assert [result["title"] for result in found["results"]] == ["Retry policy"]
        await transaction.rollback()

    async def is_built() -> bool:
        return not (await alice.health())["search"].get("problem")

    await wait_until_async(is_built)
    assert await list_missing_vector_indexes(store) == {}
    found = await alice.query(query="how often do we try again")
    assert [result["title"] for result in found["results"]] == ["Retry policy"]
