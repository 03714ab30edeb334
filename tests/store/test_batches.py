"""What a transaction queues is written in its order, seen by what it asks later, and sent with COMMIT."""

import asyncio
import random
from collections.abc import Sequence

import asyncpg
import pytest

from commonplace import errors, events
from commonplace.store.database import Database, Row, Tx
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_literals import format_literal, shift_parameters
from commonplace.store.postgres_tx import is_plain_read, list_read_tables
from patience import PATIENCE_SECONDS

TEXTS = [
    "",
    "it's",
    '"quoted"',
    "back\\slash",
    "\\'",
    "$1 $2",
    "{a,b}",
    "line\nbreak",
    "店 ☃",
    "; drop table x; --",
]


async def _queue_setting(tx: Tx, name: str, value: str) -> None:
    await tx.queue("insert into setting (name, value) values ($1, $2)", name, value)


async def _list_settings(tx: Tx) -> Sequence[Row]:
    return await tx.all("select name, value from setting order by name")


async def test_transaction_sees_what_it_queued(database: Database):
    async def work(tx: Tx) -> list[str]:
        await _queue_setting(tx, "a", "1")
        await tx.queue("update setting set value = $2 where name = $1", "a", "2")
        return [row["value"] for row in await _list_settings(tx)]

    assert await database.write(work) == ["2"]
    assert [row["value"] for row in await database.read(_list_settings)] == ["2"]


async def test_failed_transaction_leaves_nothing_of_what_it_queued(database: Database):
    async def work(tx: Tx) -> None:
        await _queue_setting(tx, "a", "1")
        raise errors.Conflict

    with pytest.raises(errors.Conflict):
        await database.write(work)
    assert await database.read(_list_settings) == []


async def test_read_transaction_cannot_queue(database: Database):
    with pytest.raises(Exception, match=r"(?i)read.?only"):
        await database.read(lambda tx: _queue_setting(tx, "a", "1"))


async def test_every_value_arrives_as_it_was(database: Database):
    chance = random.Random(1)
    made = ["".join(chance.choices("a'\\\"$1{},; \n\t店%_E", k=12)) for _ in range(40)]
    texts = [*TEXTS, *made]

    async def work(tx: Tx) -> None:
        await tx.many(
            "insert into setting (name, value) values ($1, $2)",
            [(f"{n:03}", text) for n, text in enumerate(texts)],
        )

    await database.write(work)
    assert [row["value"] for row in await database.read(_list_settings)] == texts
    found = await database.write(lambda tx: _delete_listed(tx, texts))
    assert found == []


async def _delete_listed(tx: Tx, texts: list[str]) -> Sequence[Row]:
    await tx.queue("delete from setting where value = any($1)", texts)
    return await _list_settings(tx)


async def test_large_values_and_many_rows_are_written_too(database: Database):
    async def work(tx: Tx) -> None:
        await _queue_setting(tx, "large", "x" * 100_000)
        await tx.many(
            "insert into setting (name, value) values ($1, 'x')", [(f"{n:03}",) for n in range(200)]
        )

    await database.write(work)
    rows = await database.read(_list_settings)
    assert (len(rows), max(len(row["value"]) for row in rows)) == (201, 100_000)


async def test_null_character_is_refused_like_a_parameter(postgres_dsn: str):
    store = await Postgres.open(postgres_dsn, pool=1)
    try:
        with pytest.raises(asyncpg.CharacterNotInRepertoireError):
            await store.write(lambda tx: _queue_setting(tx, "a", "\0'; drop table setting; --"))
    finally:
        await store.close()


async def test_reads_asked_together_answer_each_on_its_own(database: Database):
    async def work(tx: Tx) -> tuple[list[list[dict[str, object]]], int]:
        await tx.many(
            "insert into setting (name, value) values ($1, $2)", [("a", "1"), ("b", "2"), ("c", "3")]
        )
        answers = await tx.together(
            ("select name, value from setting where name > $1 order by name desc", "a"),
            ("select name from setting where name = $1", "nobody"),
            ("select count(*) as n, $1 as text from setting where name <> $2", "x", "b"),
            tx.clock_statement(),
        )
        return [[dict(row) for row in rows] for rows in answers[:-1]], tx.clock_from_row(answers[-1][0])

    (first, none, counted), now = await database.write(work)
    assert first == [{"name": "c", "value": "3"}, {"name": "b", "value": "2"}]
    assert (none, counted) == ([], [{"n": 2, "text": "x"}])
    assert now == await database.read(lambda tx: tx.clock())


async def test_broken_expectation_runs_the_work_again(postgres_dsn: str):
    store = await Postgres.open(postgres_dsn, pool=2)
    seen: list[list[str]] = []

    async def take_name(tx: Tx) -> None:
        rows = await _list_settings(tx)
        seen.append([row["name"] for row in rows])
        if rows:
            raise errors.Duplicate
        if len(seen) == 1:
            await store.write(lambda other: _queue_setting(other, "taken", "by another"))
        await tx.expect_no_row("select name from setting where name = $1", "taken")
        await _queue_setting(tx, "second", "mine")

    try:
        with pytest.raises(errors.Duplicate):
            await store.write(take_name)
        rows = await store.read(_list_settings)
    finally:
        await store.close()
    assert (seen, [row["name"] for row in rows]) == ([[], ["taken"]], ["taken"])


async def test_counter_of_events_is_not_locked_while_its_transaction_goes_on(postgres_dsn: str):
    """A replica that freezes there stops nobody."""
    store = await Postgres.open(postgres_dsn, pool=2)
    numbered, others_done = asyncio.Event(), asyncio.Event()

    async def emit_slowly(tx: Tx) -> None:
        await events.append_events(tx, [events.Event("shop", "Slow", "test://slow")])
        numbered.set()
        await others_done.wait()

    try:
        slow = asyncio.create_task(store.write(emit_slowly))
        await numbered.wait()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await store.write(
                lambda tx: events.append_events(tx, [events.Event("shop", "Quick", "test://quick")])
            )
        others_done.set()
        await slow
        stored = await store.read(lambda tx: events.list_events_after(tx, "shop", 0))
    finally:
        await store.close()
    assert [(event.n, event.kind) for event in stored] == [(1, "Quick"), (2, "Slow")]


def test_only_reads_without_locks_run_before_begin():
    assert is_plain_read("select 1 from setting")
    assert is_plain_read(" with found as (select 1) select * from found")
    for sql in (
        "select n from counter for update",
        "select pg_advisory_xact_lock(1)",
        "select nextval('x')",
        "insert into setting values ('a') returning name",
        "update setting set value = ''",
    ):
        assert not is_plain_read(sql), sql


def test_tables_that_a_statement_reads():
    sql = "select a.n, (select count(*) from lease) from agent a left join session s on s.id = a.id"
    assert list_read_tables(sql) == {"lease", "agent", "session"}


def test_literals_are_quoted_like_libpq_does():
    assert format_literal(None) == "null"
    assert format_literal(-5) == "'-5'"
    assert format_literal(b"\x00\xff") == r" E'\\x00ff'"
    assert format_literal("it's") == "'it''s'"
    assert format_literal("a\\'b") == r" E'a\\''b'"
    assert format_literal(["a", 'b"c']) == r""" E'{"a","b\\"c"}'"""
    assert shift_parameters("$1 and $12", 3) == "$4 and $15"
