"""What the benchmark of large projects writes in bulk is what memory_store and the embedder write."""

from typing import Any

import pytest
from bench import generated_documents

# Random, or the time and the caller of the write.
NOT_COMPARED = {
    "project",
    "id",
    "document",
    "n",
    "at",
    "author",
    "row_hash",
    "words",
    "created_at",
    "changed_at",
    "updated_at",
}
TABLES = ("document", "document_version", "entry", "term", "counter", "embedding_queue", "embedding")


async def load_rows(team: Any, project: str) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for table in TABLES:
        rows = await team.database.read(
            lambda tx, table=table: tx.all(f"select * from {table} where project = $1", project)
        )
        plain = [
            {name: value for name, value in dict(row).items() if name not in NOT_COMPARED} for row in rows
        ]
        found[table] = sorted(plain, key=repr)
    counted = {"entries", "entry_words", "documents", "embedding"}
    found["counter"] = [row for row in found["counter"] if row["name"] in counted]
    return found


async def test_generated_documents_are_stored_as_memory_store_does(team):
    alice = await team.agent("alice")
    texts = generated_documents._make_texts(generated_documents.np.random.default_rng(3), 5)
    ids = [f"doc_{n:012x}" for n in range(5)]
    for text in texts:
        await alice.store(title=text[:40], content=text, memory_type="architecture")
    await team.database.write(lambda tx: generated_documents.insert_documents(tx, "generated", 1, ids, texts))
    assert await load_rows(team, "generated") == await load_rows(team, "shop")


async def test_filling_goes_on_where_it_was_interrupted(team, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(generated_documents, "BATCH", 20)
    await generated_documents.fill_project(team.calls, 20)
    await generated_documents.fill_project(team.calls, 60)
    interrupted = await load_rows(team, generated_documents.PROJECT)
    monkeypatch.setattr(generated_documents, "PROJECT", "at_once")
    await generated_documents.fill_project(team.calls, 60)
    assert interrupted == await load_rows(team, "at_once")
    assert [len(interrupted[table]) for table in ("document", "entry", "embedding_queue")] == [60, 60, 0]
    assert len(interrupted["embedding"]) == 60
