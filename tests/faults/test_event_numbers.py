"""Events are numbered without gaps in the order of commits, with many writers and several replicas.

Killed processes and followers that resume are in test_nemesis.py.
"""

import asyncio
from collections.abc import AsyncIterator

import pytest

from commonplace import errors, events
from commonplace.store.database import Database, Tx
from commonplace.store.postgres import Postgres
from patience import PATIENCE_SECONDS
from team import PATIENT_TIMEOUTS

WRITERS = 12
WRITES = 15


@pytest.fixture
async def replicas(database: Database) -> AsyncIterator[list[Database]]:
    """Three stores of one PostgreSQL; SQLite has one process."""
    if not isinstance(database, Postgres):
        yield [database]
        return
    opened = [await Postgres.open(database.dsn, pool=3, timeouts=PATIENT_TIMEOUTS) for _ in range(2)]
    yield [database, *opened]
    for store in opened:
        await store.close()


async def test_reader_never_misses_a_number_while_replicas_write(replicas: list[Database]):
    read: list[events.Event] = []
    written = asyncio.Event()

    async def follow() -> None:
        while True:
            is_last = written.is_set()
            page = await replicas[-1].read(lambda tx: events.list_events_after(tx, "shop", len(read)))
            read.extend(page)
            if is_last and not page:
                return

    async def write(writer: int) -> None:
        for n in range(WRITES):

            async def work(tx: Tx, n: int = n) -> None:
                count = 1 + (writer + n) % 3
                body = {"writer": writer, "n": n}
                own = [events.Event("shop", "Tested", "test://shop", body=body) for _ in range(count)]
                await events.append_events(tx, [*own, events.Event("other", "Tested", "test://other")])
                if (writer + n) % 7 == 0:
                    raise errors.Conflict

            try:
                await replicas[writer % len(replicas)].write(work)
            except errors.Conflict:
                continue

    following = asyncio.create_task(follow())
    await asyncio.gather(*(write(writer) for writer in range(WRITERS)))
    written.set()
    await asyncio.wait_for(following, PATIENCE_SECONDS)
    assert [event.n for event in read] == list(range(1, len(read) + 1))
    kept = [(writer, n) for writer in range(WRITERS) for n in range(WRITES) if (writer + n) % 7]
    assert sorted((event.body["writer"], event.body["n"]) for event in read) == sorted(
        (writer, n) for writer, n in kept for _ in range(1 + (writer + n) % 3)
    )
    for writer in range(WRITERS):
        own = [event.body["n"] for event in read if event.body["writer"] == writer]
        assert own == sorted(own)
