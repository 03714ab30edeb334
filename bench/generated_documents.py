"""A project of generated documents: words follow Zipf's law and vectors form clusters, as in real projects.

The rows are those that memory_store and the embedder write, in large batches. Each batch is one transaction and its
content depends only on its first document, so that filling goes on where it was interrupted.
"""

import random
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter, process_time
from typing import Any

import numpy as np

from commonplace.call import Calls
from commonplace.project import ensure_project
from commonplace.rooms.knowledge import index_entries, store
from commonplace.rooms.knowledge.store import HASHED_DOCUMENTS, HASHED_VERSIONS
from commonplace.search import embedder, index
from commonplace.search.models import name_model
from commonplace.store.counters import add_to_counter
from commonplace.store.database import Database, Tx, Value

PROJECT = "set_speed"
AUTHOR = "bench"
BATCH = 20_000
WORDS = 60
VOCABULARY = 60_000
QUESTIONS = 120
ZIPF_EXPONENT = 1.15
DIMENSIONS = 384
CLUSTERS = 200
CLUSTER_VARIANCE = 0.4
_SEED = 7
_ID_VALUES = 2**48
_INDEX_MEMORY = "3GB"
_INDEX_WORKERS = 1
# FTS5 writes a segment when its buffer is full, and merges segments again and again; few large ones take less time.
_SET_WORD_BUFFER = "insert into words (words, rank) values ('hashsize', $1)"
_BULK_WORD_BUFFER_BYTES = 256 * 1024 * 1024
_WORD_BUFFER_BYTES = 1024 * 1024
# Indexes of random ids are written all over; pages that do not fit the cache are written and read again and again.
_BULK_PAGE_CACHE = "pragma cache_size = -2000000"
_BULK_INDEX_TABLES = ("entry", "embedding", "document", "document_version")


@dataclass
class FilledProject:
    """Seconds to write the words and the vectors and to build indexes, and questions about some of the documents."""

    words: float = 0.0
    words_cpu: float = 0.0
    vectors: float = 0.0
    indexes: float = 0.0
    questions: list[str] = field(default_factory=list)


async def fill_project(calls: Calls, size: int) -> FilledProject:
    """Fill a project, or the rest of one that was interrupted."""
    done = FilledProject(questions=make_questions(size))
    loaded = await calls.database.read(_count_documents)
    await _prepare_database(calls)
    make_vectors = _build_vector_source()
    for start in range(loaded, size, BATCH):
        generator = np.random.default_rng([_SEED, start])
        texts = _make_texts(generator, min(BATCH, size - start))
        ids = [f"doc_{n:012x}" for n in generator.integers(0, _ID_VALUES, len(texts)).tolist()]
        vectors = make_vectors(generator, len(texts))
        await calls.database.write(
            lambda tx, ids=ids, texts=texts, vectors=vectors, start=start: _insert_batch(
                tx, name_model(calls.search.choice), done, start + 1, ids, texts, vectors
            )
        )
        _print_progress(f"{start + len(texts):,} of {size:,} documents", done)
    if calls.database.kind == "sqlite":
        await calls.database.write(lambda tx: tx.run(_SET_WORD_BUFFER, _WORD_BUFFER_BYTES))
    return done


def _print_progress(what: str, done: FilledProject) -> None:
    spent = f"words {done.words:.0f} s, vectors {done.vectors:.0f} s, indexes {done.indexes:.0f} s"
    print(f"{what} written ({spent})", file=sys.stderr, flush=True)


async def _count_documents(tx: Tx) -> int:
    row = await tx.one("select n from counter where project = $1 and name = 'documents'", PROJECT)
    return row["n"] if row else 0


async def _prepare_database(calls: Calls) -> None:
    await calls.database.write(lambda tx: ensure_project(tx, PROJECT, 1))
    if calls.search.has_embeddings:
        await calls.database.write(lambda tx: embedder.choose_model(tx, calls.search.choice))
    if calls.database.kind == "sqlite":
        await calls.database.write(lambda tx: tx.run(_BULK_PAGE_CACHE))
        await calls.database.write(lambda tx: tx.run(_SET_WORD_BUFFER, _BULK_WORD_BUFFER_BYTES))


def make_questions(size: int) -> list[str]:
    """Words of documents that are spread over the project."""
    pick = random.Random(_SEED)
    asked = sorted(pick.sample(range(size), min(size, QUESTIONS)))
    questions = []
    for start in range(0, size, BATCH):
        places = [place - start for place in asked if start <= place < start + BATCH]
        texts = _make_texts(np.random.default_rng([_SEED, start]), min(BATCH, size - start), places)
        questions += [" ".join(pick.sample(text.split(), 6)) for text in texts]
    return questions


def _make_texts(generator: Any, documents: int, places: Sequence[int] | None = None) -> list[str]:
    """The texts of so many documents, or those of some of them."""
    ranks = _sample_ranks(generator, documents)
    return [
        " ".join(_VOCABULARY[rank] for rank in row) for row in (ranks if places is None else ranks[places])
    ]


def _sample_ranks(generator: Any, documents: int) -> Any:
    """The words of so many documents by their rank, after Zipf's law; the last word stands for all rarer ones."""
    weights = np.cumsum(np.arange(1, VOCABULARY) ** -ZIPF_EXPONENT)
    rarer = VOCABULARY ** (1 - ZIPF_EXPONENT) / (ZIPF_EXPONENT - 1)
    return np.searchsorted(
        weights / (weights[-1] + rarer), generator.random((documents, WORDS)), side="right"
    )


def _make_word(n: int) -> str:
    letters = "bcdfghklmnprstvz"
    vowels = "aeiou"
    word = ""
    n += 200
    while n:
        n, letter = divmod(n, len(letters))
        n, vowel = divmod(n, len(vowels))
        word += letters[letter] + vowels[vowel]
    return word


_VOCABULARY = [_make_word(n) for n in range(VOCABULARY)]


async def _insert_batch(
    tx: Tx, model: str, done: FilledProject, first: int, ids: list[str], texts: list[str], vectors: Any
) -> None:
    began, cpu = perf_counter(), process_time()
    await insert_documents(tx, PROJECT, first, ids, texts)
    done.words += perf_counter() - began
    done.words_cpu += process_time() - cpu
    began = perf_counter()
    rows = await tx.all("select n from embedding_queue where project = $1 order by n", PROJECT)
    numbers = [row["n"] for row in rows]
    parts = [(n, 0, vector) for n, vector in zip(numbers, vectors, strict=True)]
    await embedder.store_vectors(tx, PROJECT, numbers, {model: parts})
    done.vectors += perf_counter() - began


async def insert_documents(tx: Tx, project: str, first_time: int, ids: list[str], texts: list[str]) -> None:
    """What memory_store writes, for many at once: the document, its version and its words."""
    documents = [
        _build_document(project, *each, time)
        for time, each in enumerate(zip(ids, texts, strict=True), first_time)
    ]
    await add_to_counter(tx, project, "documents", len(documents))
    await _insert_rows(tx, "document", documents)
    await _insert_rows(tx, "document_version", [_build_version(document) for document in documents])
    await index.put_new_entries(
        tx, [index_entries.build_index_entry(document, (), ()) for document in documents]
    )


async def _insert_rows(tx: Tx, table: str, rows: Sequence[dict[str, Value]]) -> None:
    places = ", ".join(f"${n}" for n in range(1, len(rows[0]) + 1))
    await tx.many(
        f"insert into {table} ({', '.join(rows[0])}) values ({places})", [tuple(row.values()) for row in rows]
    )


def _build_document(project: str, identity: str, text: str, time: int) -> dict[str, Value]:
    title = text[:40]
    row: dict[str, Value] = {
        "project": project,
        "id": identity,
        "type": "architecture",
        "title": title,
        "content": text,
        "status": "active",
        "author": AUTHOR,
        **dict.fromkeys(("tags", "files", "derived_from", "flags"), "[]"),
        **dict.fromkeys(("interface_name", "interface_version", "interface_owner", "interface_schema"), ""),
        "superseded_by": "",
        "digest": store.compute_digest(title, text),
        "version": 1,
        "opened": 0,
        "recalled": 0,
        "created_at": time,
        "changed_at": time,
        "updated_at": time,
        "expires_at": None,
    }
    return row | {"row_hash": HASHED_DOCUMENTS.compute_hash(row)}


def _build_version(document: dict[str, Value]) -> dict[str, Value]:
    row: dict[str, Value] = {
        "project": document["project"],
        "document": document["id"],
        "version": 1,
        "at": document["updated_at"],
        "author": document["author"],
        "what": "created",
        "status": document["status"],
        "title": document["title"],
        "content": document["content"],
        "reason": "",
    }
    return row | {"row_hash": HASHED_VERSIONS.compute_hash(row)}


def _build_vector_source() -> Callable[[Any, int], Any]:
    """Vectors as the bundled model makes them: two of different clusters have a cosine of about 0.5, two of one cluster
    0.7, and most of the variance lies in some of the dimensions."""
    shared = np.random.default_rng(_SEED)
    spread = (1 + np.arange(DIMENSIONS) / 32) ** -0.5
    spread /= np.linalg.norm(spread)
    common = shared.normal(size=DIMENSIONS)
    common /= np.linalg.norm(common)
    centres = shared.normal(size=(CLUSTERS, DIMENSIONS)) * spread * CLUSTER_VARIANCE**0.5

    def make_vectors(generator: Any, count: int) -> Any:
        own = generator.normal(size=(count, DIMENSIONS)) * spread * (1 - CLUSTER_VARIANCE) ** 0.5
        made = common + centres[generator.integers(0, CLUSTERS, count)] + own
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    return make_vectors


async def list_bulk_indexes(database: Database) -> dict[str, str]:
    """The names and definitions of PostgreSQL's indexes but for primary keys: built at the end, those of a million
    entries take minutes instead of hours."""
    if database.kind != "postgresql":
        return {}
    rows = await database.read(
        lambda tx: tx.all(
            "select i.indexname, i.indexdef from pg_indexes i where i.schemaname = current_schema()"
            " and i.tablename = any($1) and not exists (select 1 from pg_constraint c where c.conname = i.indexname)"
            " order by i.indexname",
            list(_BULK_INDEX_TABLES),
        )
    )
    return {row["indexname"]: row["indexdef"] for row in rows}


async def drop_indexes(database: Database, names: Iterable[str]) -> None:
    for name in names:
        await database.write(lambda tx, name=name: tx.run(f"drop index if exists {name}"))


async def build_indexes(database: Database, definitions: Iterable[str], done: FilledProject) -> None:
    """Build those that are missing."""
    for definition in definitions:
        began = perf_counter()
        await database.write(lambda tx, definition=definition: _build_index(tx, definition))
        done.indexes += perf_counter() - began
        _print_progress(definition.split(" ON ")[0], done)


async def _build_index(tx: Tx, definition: str) -> None:
    await tx.run("set local statement_timeout = 0")
    await tx.run(f"set local maintenance_work_mem = '{_INDEX_MEMORY}'")
    await tx.run(f"set local max_parallel_maintenance_workers = {_INDEX_WORKERS}")
    await tx.run(definition.replace(" INDEX ", " INDEX IF NOT EXISTS ", 1))
