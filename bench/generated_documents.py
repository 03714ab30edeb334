"""A project of generated documents: words follow Zipf's law and vectors form clusters, as in real projects."""

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from time import perf_counter, process_time
from typing import Any

import numpy as np

from commonplace.call import Calls
from commonplace.rooms.knowledge import store
from commonplace.search import index, postgres, sqlite
from commonplace.search.embedding_queue import choose_model
from commonplace.search.model_choice import name_model
from commonplace.store.database import Database, Tx

PROJECT = "set_speed"
BATCH = 20_000
WORDS = 60
VOCABULARY = 60_000
QUESTIONS = 120
ZIPF_EXPONENT = 1.15
DIMENSIONS = 384
CLUSTERS = 200
CLUSTER_VARIANCE = 0.4
_INDEX_MEMORY = "2GB"
# FTS5 writes a segment when its buffer is full, and merges segments again and again; few large ones take less time.
_SET_WORD_BUFFER = "insert into words (words, rank) values ('hashsize', $1)"
_BULK_WORD_BUFFER_BYTES = 256 * 1024 * 1024
_WORD_BUFFER_BYTES = 1024 * 1024
# Indexes of random ids are written all over; pages that do not fit the cache are written and read again and again.
_BULK_PAGE_CACHE = "pragma cache_size = -2000000"


@dataclass
class FilledProject:
    """Seconds to index the words and the vectors, and questions about some of the documents."""

    words: float
    words_cpu: float
    vectors: float
    questions: list[str]


async def fill_project(calls: Calls, size: int) -> FilledProject:
    generator = np.random.default_rng(7)
    vocabulary = [_make_word(n) for n in range(VOCABULARY)]
    done = FilledProject(0.0, 0.0, 0.0, [])
    pick = random.Random(7)
    asked = set(pick.sample(range(size), min(size, QUESTIONS)))
    bulk_indexes = await _drop_bulk_indexes(calls.database)
    if calls.database.kind == "sqlite":
        await calls.database.write(lambda tx: tx.run(_BULK_PAGE_CACHE))
        await calls.database.write(lambda tx: tx.run(_SET_WORD_BUFFER, _BULK_WORD_BUFFER_BYTES))
    for start in range(0, size, BATCH):
        ranks = _sample_ranks(generator, min(BATCH, size - start))
        texts = [" ".join(vocabulary[rank] for rank in row) for row in ranks]
        done.questions += [
            _make_question(texts[place - start], pick)
            for place in range(start, start + len(texts))
            if place in asked
        ]
        began, cpu = perf_counter(), process_time()
        await calls.database.write(
            lambda tx, texts=texts, start=start: _insert_documents(tx, texts, start + 1)
        )
        done.words += perf_counter() - began
        done.words_cpu += process_time() - cpu
    began = perf_counter()
    if calls.search.has_embeddings:
        await _insert_vectors(calls, generator)
    if calls.database.kind == "sqlite":
        await calls.database.write(lambda tx: tx.run(_SET_WORD_BUFFER, _WORD_BUFFER_BYTES))
    for definition in bulk_indexes:
        await calls.database.write(lambda tx, definition=definition: _build_index(tx, definition))
    done.vectors = perf_counter() - began
    return done


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


def _make_question(text: str, pick: random.Random) -> str:
    return " ".join(pick.sample(text.split(), 6))


async def _insert_documents(tx: Tx, texts: list[str], first_time: int) -> None:
    """What memory_store writes, for many at once, one after the other: the document, its version and its words."""
    entries = []
    rows: list[Any] = []
    for time, text in enumerate(texts, first_time):
        identity = f"doc_{secrets.token_hex(6)}"
        title = text[:40]
        rows.append((PROJECT, identity, title, text, store.compute_digest(title, text), time))
        entries.append(
            index.IndexEntry(PROJECT, store.DOCUMENT_KIND, identity, "architecture", title, text, time)
        )
    await tx.many(
        "insert into document (project, id, type, title, content, status, author, tags, files, derived_from, flags,"
        " interface_name, interface_version, interface_owner, interface_schema, superseded_by, digest, version, opened,"
        " recalled, created_at, changed_at, updated_at, expires_at) values ($1, $2, 'architecture', $3, $4, 'active',"
        " 'bench', '[]', '[]', '[]', '[]', '', '', '', '', '', $5, 1, 0, 0, $6, $6, $6, null)",
        rows,
    )
    await index.put_entries(tx, entries)


async def _insert_vectors(calls: Calls, generator: Any) -> None:
    dialect = sqlite if calls.database.kind == "sqlite" else postgres
    make_vectors = _build_vector_source(generator)
    rows = await calls.database.read(
        lambda tx: tx.all("select n from entry where project = $1 order by n", PROJECT)
    )
    numbers = iter([row["n"] for row in rows])
    await calls.database.write(lambda tx: choose_model(tx, calls.search.choice))
    while batch := list(islice(numbers, BATCH)):
        found = [(n, 0, vector) for n, vector in zip(batch, make_vectors(len(batch)), strict=True)]
        await calls.database.write(
            lambda tx, found=found: dialect.insert_vectors(
                tx, PROJECT, name_model(calls.search.choice), found
            )
        )
    await calls.database.write(lambda tx: tx.run("delete from embedding_queue where project = $1", PROJECT))


def _build_vector_source(generator: Any) -> Callable[[int], Any]:
    """Vectors as the bundled model makes them: two of different clusters have a cosine of about 0.5, two of one cluster
    0.7, and most of the variance lies in some of the dimensions."""
    spread = (1 + np.arange(DIMENSIONS) / 32) ** -0.5
    spread /= np.linalg.norm(spread)
    common = generator.normal(size=DIMENSIONS)
    common /= np.linalg.norm(common)
    centres = generator.normal(size=(CLUSTERS, DIMENSIONS)) * spread * CLUSTER_VARIANCE**0.5

    def make_vectors(count: int) -> Any:
        own = generator.normal(size=(count, DIMENSIONS)) * spread * (1 - CLUSTER_VARIANCE) ** 0.5
        made = common + centres[generator.integers(0, CLUSTERS, count)] + own
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    return make_vectors


async def _drop_bulk_indexes(database: Database) -> list[str]:
    """Return the definitions of PostgreSQL's indexes of words and vectors: built at the end, those of a million entries
    take minutes instead of hours."""
    if database.kind != "postgresql":
        return []

    async def drop(tx: Tx) -> list[str]:
        rows = await tx.all(
            "select indexname, indexdef from pg_indexes where schemaname = current_schema()"
            " and tablename in ('entry', 'embedding') and (indexdef like $1 or indexdef like $2)",
            "% USING gin %",
            "% USING hnsw %",
        )
        for row in rows:
            await tx.run(f"drop index {row['indexname']}")
        return [row["indexdef"] for row in rows]

    return await database.write(drop)


async def _build_index(tx: Tx, definition: str) -> None:
    await tx.run("set local statement_timeout = 0")
    await tx.run(f"set local maintenance_work_mem = '{_INDEX_MEMORY}'")
    await tx.run("set local max_parallel_maintenance_workers = 0")
    await tx.run(definition)
