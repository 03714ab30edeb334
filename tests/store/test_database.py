"""One conformance suite for both stores."""

import asyncio

import pytest

from commonplace import errors, events
from commonplace.store.database import Database, Tx
from commonplace.store.postgres import Postgres
from patience import PATIENCE_SECONDS


async def _count(tx: Tx) -> int:
    row = await tx.one("select count(*) as n from setting")
    assert row is not None
    return row["n"]


def _put(name: str, value: str = "x"):
    async def work(tx: Tx) -> None:
        await tx.run("insert into setting (name, value) values ($1, $2)", name, value)

    return work


async def test_write_is_seen_by_the_next_read(database: Database):
    await database.write(_put("a"))
    assert await database.read(_count) == 1


async def test_failed_write_leaves_nothing_and_spares_its_neighbours(database: Database):
    async def fail(tx: Tx) -> None:
        await _put("broken")(tx)
        raise errors.Conflict

    outcomes = await asyncio.gather(
        *(database.write(fail if n == 7 else _put(f"n{n}")) for n in range(20)), return_exceptions=True
    )
    assert [type(outcome) for outcome in outcomes if outcome] == [errors.Conflict]
    assert await database.read(_count) == 19


async def test_read_transaction_cannot_write(database: Database):
    with pytest.raises(Exception, match=r"(?i)read.?only"):
        await database.read(_put("a"))
    assert await database.read(_count) == 0


async def test_positions_bind_in_any_order_and_lists_match(database: Database):
    async def work(tx: Tx):
        await tx.run("insert into setting (value, name) values ($2, $1)", "name", "value")
        return await tx.all(
            "select name, value from setting where name = any($1) and value = $2", ["name"], "value"
        )

    assert [dict(row) for row in await database.write(work)] == [{"name": "name", "value": "value"}]


async def test_event_numbers_have_no_gaps_under_concurrency_and_failures(database: Database):
    async def append(n: int):
        async def work(tx: Tx) -> None:
            await events.append_events(tx, [events.Event("shop", "Tested", f"test://{n}", body={"n": n})])
            if n % 5 == 0:
                raise errors.Conflict

        return await database.write(work)

    await asyncio.gather(*(append(n) for n in range(40)), return_exceptions=True)
    stored = await database.read(lambda tx: events.list_events_after(tx, "shop", 0))
    assert [event.n for event in stored] == list(range(1, 33))


async def test_cancelled_caller_does_not_disturb_the_others(database: Database):
    tasks = [asyncio.create_task(database.write(_put(f"n{n}"))) for n in range(10)]
    tasks[3].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await database.write(_put("last"))
    assert await database.read(_count) in {10, 11}


async def test_news_of_many_projects_with_long_names_of_any_script_reaches_another_replica(postgres_dsn: str):
    heard: asyncio.Queue[set[str] | None] = asyncio.Queue()
    names = {f"{n:03}" + "店" * 61 for n in range(100)}
    teller, listener = [await Postgres.open(postgres_dsn, pool=1) for _ in range(2)]
    try:
        await listener.listen(heard.put_nowait)
        await teller.listen(lambda _: None)
        teller.announce(names)
        told: set[str] = set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not told >= names:
                told |= await heard.get() or set()
    finally:
        await teller.close()
        await listener.close()
