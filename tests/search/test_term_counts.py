"""How many entries have each term: exact at any time, whether the background has added the changes or not."""

import asyncio
import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest

import product
from commonplace.rooms.knowledge import store as documents
from commonplace.rooms.knowledge.index_entries import build_index_entry
from commonplace.search import index, text
from commonplace.search.index import add_next_changes
from commonplace.search.query import load_term_statistics
from commonplace.search.words import MAX_TERMS_PER_BATCH
from team import Team, open_store

PROJECT = "shop"
NOW = 1_000_000


def make_entry(n, body, **more):
    return index.IndexEntry(PROJECT, "document", f"doc_{n}", "adr", f"Note {n}", body, NOW, **more)


async def count_stored_terms(tx):
    rows = await tx.all("select term, n from term where project = $1 and n <> 0", PROJECT)
    return {row["term"]: row["n"] for row in rows}


async def count_terms_of_entries(tx):
    """What the counts must be, from the entries themselves."""
    counts = Counter()
    for row in await tx.all("select counts, readers from entry where project = $1", PROJECT):
        for reader in index.parse_readers(row) or ("",):
            counts.update(text.build_term_key(term, reader) for term in index.parse_counts(row))
    return dict(counts)


async def list_waiting_changes(tx):
    return list(await tx.all("select id from term_change where project = $1", PROJECT))


async def load_frequencies(database, *terms):
    found, _ = await database.read(lambda tx: load_term_statistics(tx, PROJECT, list(terms), ("",)))
    return found.frequencies


async def assert_counted(database):
    stored, expected = await database.read(count_stored_terms), await database.read(count_terms_of_entries)
    assert (stored, await database.read(list_waiting_changes)) == (expected, [])
    assert expected


async def change_entries(tx):
    """Entries that come, change, get readers and go, some of them more than once."""
    await index.put_entries(tx, [make_entry(n, f"open the valve {n} slowly") for n in range(20)])
    await index.put_entries(tx, [make_entry(n, f"shut the window {n}") for n in range(5)])
    await index.put_entries(tx, [make_entry(3, "shut the window and the valve")])
    await index.put_entries(tx, [make_entry(4, "a letter to bob", readers=("shop/bob", "shop/eve"))])
    await index.remove_entries(tx, PROJECT, "document", ["doc_7", "doc_8"])
    await index.put_new_entries(tx, [make_entry(30, "one more valve")])


async def test_counts_are_those_of_the_entries_after_changes_and_removals(team: Team):
    await team.database.write(change_entries)
    before = await load_frequencies(team.database, "valv", "window", "slowli", "letter")
    assert before == {"valv": 15, "window": 4, "slowli": 13}
    await team.calls.search.count_terms()
    await assert_counted(team.database)
    assert await load_frequencies(team.database, "valv", "window", "slowli", "letter") == before


async def test_a_replaced_entry_takes_back_words_that_were_counted(team: Team):
    await team.database.write(lambda tx: index.put_entries(tx, [make_entry(1, "open the valve")]))
    await team.calls.search.count_terms()
    await team.database.write(lambda tx: index.put_entries(tx, [make_entry(1, "open the window")]))
    assert await load_frequencies(team.database, "valv", "window", "open") == {"window": 1, "open": 1}
    await team.calls.search.count_terms()
    await assert_counted(team.database)


async def test_a_removed_entry_takes_back_words_that_were_not_counted_yet(team: Team):
    kept = make_entry(2, "open the window")
    await team.database.write(
        lambda tx: index.put_entries(tx, [replace(kept, id="doc_1", body="open the valve"), kept])
    )
    await team.database.write(lambda tx: index.remove_entries(tx, PROJECT, "document", ["doc_1"]))
    assert await load_frequencies(team.database, "valv", "window", "open") == {"window": 1, "open": 1}
    await team.calls.search.count_terms()
    await assert_counted(team.database)


async def test_query_answers_the_same_before_and_after_counting(team: Team):
    alice = await team.agent("alice")
    for n in range(12):
        await alice.record_learning(
            topic=f"Valve {n}", content=f"The valve of boiler {n} sticks in the {n % 3} position."
        )
    await alice.record_learning(topic="Walrus", content="The walrus sits on the boiler.")
    questions = ("walrus boiler", "which valve sticks", "wallrus")
    before = [await alice.query(query=question) for question in questions]
    assert before[0]["results"][0]["title"] == before[2]["results"][0]["title"] == "Walrus"
    await team.calls.search.count_terms()
    assert [await alice.query(query=question) for question in questions] == before


async def test_several_replicas_add_no_change_twice(team: Team):
    for n in range(12):
        await team.database.write(
            lambda tx, n=n: index.put_entries(tx, [make_entry(n, " ".join(f"w{n}x{k}" for k in range(150)))])
        )
    while any(await asyncio.gather(*(add_next_changes(team.database) for _ in range(4)))):
        pass
    await assert_counted(team.database)


async def test_a_batch_that_fails_leaves_its_changes(team: Team, monkeypatch: pytest.MonkeyPatch):
    await team.database.write(change_entries)
    dialect = f"commonplace.search.{'sqlite' if team.database.kind == 'sqlite' else 'postgres'}"

    async def fail(_tx, _project, _terms):
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(f"{dialect}.update_term_counts", fail)
        with pytest.raises(ZeroDivisionError):
            await add_next_changes(team.database)
    assert await load_frequencies(team.database, "valv", "window") == {"valv": 15, "window": 4}
    await team.calls.search.count_terms()
    await assert_counted(team.database)


async def test_a_batch_is_bounded_however_long_an_entry_is(team: Team):
    words = [f"w{k}" for k in range(3 * MAX_TERMS_PER_BATCH)]
    await team.database.write(lambda tx: index.put_entries(tx, [make_entry(1, " ".join(words))]))
    assert await add_next_changes(team.database)
    assert len(await team.database.read(count_stored_terms)) <= MAX_TERMS_PER_BATCH
    await team.calls.search.count_terms()
    await assert_counted(team.database)


async def test_background_adds_changes_once_opened(team: Team, eventually):
    await team.database.write(change_entries)
    await team.calls.search.open()
    try:
        await team.calls.search.note_write()

        async def is_counted():
            return not await team.database.read(list_waiting_changes)

        await eventually(is_counted)
    finally:
        await team.calls.search.close()
    await assert_counted(team.database)


async def test_a_process_without_background_leaves_few_changes(team: Team):
    alice = await team.agent("alice")
    for n in range(130):
        await alice.add_backlog_item(title=f"Item {n}")
    assert len(await team.database.read(list_waiting_changes)) < 70


async def test_counts_are_exact_after_a_kill(address, tmp_path, clock):
    flags = product.store_flags(address, tmp_path / "client")
    with product.running(*flags) as server:
        session = server.call("memory_start_session", project=PROJECT, claude_instance="ann")["session_id"]
        for n in range(25):
            content = f"The valve of boiler {n} sticks, see {' '.join(f'word{n}x{k}' for k in range(40))}."
            server.call("memory_record_learning", session_id=session, topic=f"Valve {n}", content=content)
        server.kill()
    database = await open_store(address, clock)
    expected = await database.read(count_terms_of_entries)
    assert (await load_frequencies(database, *expected), expected["boiler"]) == (expected, 25)
    while await add_next_changes(database):
        pass
    await assert_counted(database)
    await database.close()


def test_processes_that_were_forked_draw_different_ids():
    program = """
import os
from commonplace.search import words
reading, writing = os.pipe()
child = os.fork()
drawn = str(words._change_ids.getrandbits(64))
if not child:
    os.write(writing, drawn.encode())
    os._exit(0)
os.waitpid(child, 0)
print(drawn, os.read(reading, 100).decode())
"""
    completed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    first, second = completed.stdout.split()
    assert first != second


async def count_words_of_documents(tx):
    """The words of each document, from its row: as its entry has them, and as they are counted from its text."""
    rows = await tx.all(f"select {documents.DOCUMENT_COLUMNS} from document where project = $1", PROJECT)
    entries = await tx.all("select id, counts from entry where project = $1 and kind = 'document'", PROJECT)
    counted = {
        row["id"]: index.count_entry_words(
            build_index_entry(row, documents.decode_texts(row["tags"]), documents.decode_texts(row["files"]))
        )
        for row in rows
    }
    return {row["id"]: index.parse_counts(row) for row in entries}, counted


async def test_the_words_of_a_next_version_are_those_of_its_text_and_of_what_stays(team: Team):
    ann = await team.agent("ann", PROJECT)
    pool = {"title": "Pool", "memory_type": "adr", "force_store": True}
    await ann.store(**pool, content="Ten sockets.", tags=["network"], files_related=["src/pool.py"])
    await ann.store(**pool, content="Twenty sockets.", tags=["size"])
    await ann.store(
        **pool, content="Thirty sockets.", interface_name="PoolSize", files_related=["src/size.py"]
    )
    stored, counted = await team.database.read(count_words_of_documents)
    assert stored == counted
    assert len(stored) == 1
    await team.calls.search.count_terms()
    await assert_counted(team.database)


async def test_both_documents_of_an_ending_session_are_counted(team: Team):
    ann = await team.agent("ann", PROJECT)
    await ann.end_session(summary="Sized the pool", learnings="Sockets of the pool leak on reload")
    stored, counted = await team.database.read(count_words_of_documents)
    assert stored == counted
    assert len(stored) == 2
    await team.calls.search.count_terms()
    await assert_counted(team.database)


async def test_an_item_that_is_claimed_as_it_is_added_is_counted_once(team: Team):
    ann = await team.agent("ann", PROJECT)
    await ann.add_backlog_item(title="Measure sockets", description="Of the pool", claim=True)
    await ann.add_backlog_item(title="Close sockets")
    entries = await team.database.read(
        lambda tx: tx.all(
            "select title from entry where project = $1 and kind = 'backlog' order by n", PROJECT
        )
    )
    assert [row["title"] for row in entries] == ["Measure sockets", "Close sockets"]
    await team.calls.search.count_terms()
    await assert_counted(team.database)
