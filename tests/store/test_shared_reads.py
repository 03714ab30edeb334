"""Works of one transaction that run side by side see the same rows as one after the other, in fewer messages."""

import pytest

from commonplace import errors
from commonplace.store.database import Database, Tx
from commonplace.store.shared_reads import run_together


async def insert_settings(tx: Tx) -> None:
    for name in ("a", "b", "c"):
        await tx.run("insert into setting (name, value) values ($1, $2)", name, f"value {name}")


async def read_chain(tx: Tx, *names: str) -> list[str]:
    rows = [await tx.one("select value from setting where name = $1", name) for name in names]
    return [row["value"] if row else "" for row in rows]


async def test_works_get_their_own_rows_whatever_the_others_ask(database: Database):
    await database.write(insert_settings)

    async def ask(tx: Tx) -> list[object]:
        return await run_together(
            tx,
            [
                lambda tx: read_chain(tx, "a", "b", "c"),
                lambda tx: read_chain(tx, "none"),
                lambda tx: tx.together(("select value from setting where name = 'b'",), ("select 1 as one",)),
                read_chain,
            ],
        )

    chain, none, both, nothing = await database.read(ask)
    assert (chain, none, nothing) == (["value a", "value b", "value c"], [""], [])
    assert [[dict(row) for row in rows] for rows in both] == [[{"value": "value b"}], [{"one": 1}]]


async def test_a_work_may_write_and_the_others_go_on(database: Database):
    async def change(tx: Tx) -> int:
        await tx.one("select 1 as one")
        return await tx.run("insert into setting (name, value) values ('d', 'value d')")

    async def work(tx: Tx) -> list[object]:
        return await run_together(tx, [change, lambda tx: read_chain(tx, "x", "y")])

    assert await database.write(work) == [1, ["", ""]]
    assert await database.read(lambda tx: read_chain(tx, "d")) == ["value d"]


async def test_a_refusal_of_one_work_ends_all(database: Database):
    ended = []

    async def refuse(tx: Tx) -> None:
        await tx.one("select 1 as one")
        raise errors.Conflict("no")

    async def wait_on(tx: Tx) -> None:
        try:
            await read_chain(tx, "a", "b", "c")
        finally:
            ended.append(True)

    async def work(tx: Tx) -> None:
        await run_together(tx, [wait_on, refuse])

    with pytest.raises(errors.Conflict):
        await database.write(work)
    assert ended == [True]
