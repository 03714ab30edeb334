"""What a large project does to a search, shown on a small one by lowering where large begins."""

from dataclasses import replace

import numpy as np
import pytest

from commonplace.search import bit_codes, find, index, postgres, query
from commonplace.search.query import EntryFilter
from commonplace.search.score import Question

PROJECT = "shop"
NOW = 1_000_000


def entries(texts):
    return [
        index.IndexEntry(PROJECT, "document", f"doc_{n:03}", "adr", f"Note {n}", body, NOW)
        for n, body in enumerate(texts)
    ]


async def found(team, question, most=5):
    wanted = EntryFilter(now=NOW)
    hits = await team.database.read(
        lambda tx: find.find_entries(tx, team.calls.search.vectors, question, [PROJECT], wanted, most)
    )
    return [hit.id for hit in hits]


@pytest.fixture
def few_are_common(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query, "_MAX_CANDIDATE_ROWS", 10)


@pytest.mark.usefixtures("few_are_common")
async def test_query_of_common_words_gives_the_newest_that_have_them_all(team):
    texts = ["open the valve slowly" if n % 2 else "open the window" for n in range(60)]
    await team.database.write(lambda tx: index.put_entries(tx, entries(texts)))
    assert sorted(await found(team, Question("open valve"))) == [f"doc_{n:03}" for n in range(51, 60, 2)]


@pytest.mark.usefixtures("few_are_common")
async def test_query_of_common_words_that_never_meet_gives_those_that_have_one(team):
    texts = ["open the valve" if n % 2 else "shut the window" for n in range(60)]
    await team.database.write(lambda tx: index.put_entries(tx, entries(texts)))
    assert sorted(await found(team, Question("valve window"))) == [f"doc_{n:03}" for n in range(55, 60)]


@pytest.mark.usefixtures("few_are_common")
async def test_query_finds_a_rare_word_among_common_ones(team):
    texts = ["open the valve"] * 30 + ["open the walrus"] + ["open the valve"] * 30
    await team.database.write(lambda tx: index.put_entries(tx, entries(texts)))
    assert (await found(team, Question("open walrus")))[0] == "doc_030"


async def test_query_by_meaning_finds_the_nearest_of_a_large_project(team, monkeypatch):
    monkeypatch.setattr(postgres, "_MAX_EXACT_VECTORS", 50)
    generator = np.random.default_rng(3)
    made = generator.normal(size=(400, 384)).astype(np.float32)
    made[20], made[30] = made[7] + 0.3 * made[20], made[7] + 0.6 * made[30]
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    await team.database.write(lambda tx: index.put_entries(tx, entries(["nothing to say"] * 400)))
    rows = await team.database.read(
        lambda tx: tx.all("select n, id from entry where project = $1 order by id", PROJECT)
    )
    vectors = [(row["n"], 0, vector) for row, vector in zip(rows, made, strict=True)]
    dialect = find._DIALECTS[team.database.kind]
    await team.database.write(lambda tx: dialect.insert_vectors(tx, PROJECT, "made", vectors))
    answer = await found(team, Question("", "made", made[7], -1.0))
    assert answer[:3] == ["doc_007", "doc_020", "doc_030"]


@pytest.mark.parametrize("dimensions", [64, 384])
def test_codes_of_a_large_project_give_the_nearest(monkeypatch, dimensions):
    monkeypatch.setattr(bit_codes, "_MIN_CODES_TO_HALVE", 1000)
    generator = np.random.default_rng(5)
    made = generator.normal(size=(2000, dimensions)).astype(np.float32)
    made[:20] = made[0] + 0.2 * made[:20]
    kept = bit_codes.BitCodes(dimensions)
    kept.add_rows([(at, bit_codes.pack_vector(vector)) for at, vector in enumerate(made, 1)])
    assert set(range(1, 21)) <= set(kept.find_nearest(made[0], 40))
    assert len(kept.find_nearest(made[0], 40)) == 40


@pytest.mark.usefixtures("few_are_common")
@pytest.mark.parametrize("question", ["open valve", "valve"])
async def test_private_entries_of_others_neither_hide_nor_count(team, question):
    """However much mail others have, and however common its words are there, one's own is found."""
    mine = index.IndexEntry(
        PROJECT, "message", "mine", "message", "A valve", "open the valve", NOW, readers=("shop/bob",)
    )
    others = [
        replace(entry, kind="message", readers=(f"shop/reader{n % 7}", "shop/carol"))
        for n, entry in enumerate(entries(["open the valve valve valve slowly"] * 300))
    ]

    async def put(tx):
        await index.put_entries(tx, [mine, *others])

    await team.database.write(put)

    async def search(reader):
        wanted = EntryFilter(now=NOW, reader=reader)
        return await team.database.read(
            lambda tx: find.find_entries(
                tx, team.calls.search.vectors, Question(question), [PROJECT], wanted, 5
            )
        )

    [hit] = await search("shop/bob")
    assert (hit.id, hit.relevance > 0.2) == ("mine", True)
    assert await search("") == []
    assert await search("shop/BOB") == []
    assert len(await search("shop/carol")) == 5
    await team.database.write(
        lambda tx: index.remove_entries(tx, PROJECT, "message", [entry.id for entry in others])
    )
    assert await search("shop/carol") == []
    await team.calls.search.count_terms()
    rows = await team.database.read(
        lambda tx: tx.all("select term from term where project = 'shop' and n <> 0")
    )
    assert {row["term"][0] for row in rows} == {"@"}


async def count_rows_read_by_connection(tx):
    """Earlier transactions count too until PostgreSQL flushes them, once a second: compare two counts."""
    row = await tx.one("select pg_stat_get_xact_tuples_returned(cast('entry' as regclass)) as n")
    return row["n"]


async def test_a_large_project_is_not_read_to_learn_that_it_lacks_a_kind(team):
    await team.database.write(lambda tx: index.put_entries(tx, entries(["open the valve"] * 2000)))

    async def count_rows_read(tx):
        if tx.kind == "sqlite":
            return await index.has_entries(tx, PROJECT, ("prompt", "transcript")), 0
        await tx.run("analyze entry")
        await tx.run("set local plan_cache_mode = force_generic_plan")
        read_before = await count_rows_read_by_connection(tx)
        has_some = await index.has_entries(tx, PROJECT, ("prompt", "transcript"))
        return has_some, await count_rows_read_by_connection(tx) - read_before

    has_some, rows_read = await team.database.write(count_rows_read)
    assert not has_some
    assert rows_read < 100


def make_unit_vectors(count):
    made = np.random.default_rng(3).normal(size=(count, 384)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


async def count_index_rows_read(tx):
    """Rows that the indexes of entries and vectors gave on this connection; compare two counts."""
    row = await tx.one(
        "select sum(pg_stat_get_xact_tuples_returned(indexrelid)) as n from pg_index"
        " where indrelid in (cast('entry' as regclass), cast('embedding' as regclass))"
    )
    return row["n"]


@pytest.mark.parametrize("question", ["rare7", "open valve"])
async def test_a_large_project_among_many_small_ones_is_not_read_whole(team, monkeypatch, question):
    """PostgreSQL's plan for any project expects one of ordinary size, of which it would read everything."""
    if team.database.kind == "sqlite":
        pytest.skip("SQLite plans each statement once, from statistics of a large store")
    monkeypatch.setattr(postgres, "_MAX_EXACT_VECTORS", 50)
    monkeypatch.setattr(query, "_MAX_CANDIDATE_ROWS", 100)
    large = entries([f"rare{n % 300} open the valve" for n in range(3000)])
    small = [replace(entry, project=f"small{n % 200}") for n, entry in enumerate(large[:400])]
    await team.database.write(lambda tx: index.put_new_entries(tx, [*large, *small]))
    rows = await team.database.read(lambda tx: tx.all("select n from entry where project = $1", PROJECT))
    made = make_unit_vectors(len(rows))

    async def count_rows_read(tx):
        vectors = [(row["n"], 0, vector) for row, vector in zip(rows, made, strict=True)]
        await postgres.insert_vectors(tx, PROJECT, "made", vectors)
        for n in range(200):
            await postgres.insert_vectors(tx, f"small{n}", "made", [(1, 0, made[n])])
        await tx.run("analyze entry, embedding")
        await tx.run("set local plan_cache_mode = force_generic_plan")
        asked, wanted = Question(question, "made", made[7], -1.0), EntryFilter(now=NOW)
        read_before = await count_index_rows_read(tx)
        await find.find_entries(tx, team.calls.search.vectors, asked, [PROJECT], wanted, 5)
        return await count_index_rows_read(tx) - read_before

    assert await team.database.write(count_rows_read) < 1000
