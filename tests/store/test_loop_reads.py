"""Short reads of SQLite run on the event loop, all others in a reader thread; the answer is the same."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import apsw
import pytest

from commonplace import errors
from commonplace.store.database import Tx
from commonplace.store.loop_reads import HeavyReads
from commonplace.store.sqlite import Sqlite
from team import HandClock

_LONG_QUERY = "with recursive n (i) as (select 1 union all select i + 1 from n where i < $1) select max(i) as top from n"


@pytest.fixture
async def sqlite(tmp_path: Path) -> AsyncIterator[Sqlite]:
    store = Sqlite(tmp_path / "data", HandClock())
    await store.write(lambda tx: tx.run("create table item (name text)"))
    yield store
    await store.close()


class CountingRead:
    """Counts to `top` in SQL and notes in which threads it ran."""

    def __init__(self, top: int) -> None:
        self.top = top
        self.threads: list[bool] = []

    async def __call__(self, tx: Tx) -> int:
        self.threads.append(threading.current_thread() is threading.main_thread())
        row = await tx.one(_LONG_QUERY, self.top)
        assert row is not None
        return row["top"]


async def test_a_short_read_of_an_operation_runs_on_the_loop(sqlite: Sqlite):
    read = CountingRead(100)
    assert await sqlite.read(read, "short") == 100
    assert read.threads == [True]


async def test_a_read_of_no_operation_runs_in_a_thread(sqlite: Sqlite):
    read = CountingRead(100)
    assert await sqlite.read(read) == 100
    assert read.threads == [False]


async def test_a_long_read_is_finished_in_a_thread_and_the_next_ones_start_there(sqlite: Sqlite):
    read = CountingRead(100_000)
    assert [await sqlite.read(read, "long") for _ in range(3)] == [100_000] * 3
    assert read.threads == [True, False, False, False]


async def test_a_long_operation_is_tried_on_the_loop_again_and_paused_for_longer(sqlite: Sqlite):
    read = CountingRead(100_000)
    for _ in range(40):
        await sqlite.read(read, "long")
    assert [place for place, on_loop in enumerate(read.threads) if on_loop] == [0, 10, 28]


async def test_the_budget_is_for_one_transaction_not_for_all(sqlite: Sqlite):
    read = CountingRead(500)
    for _ in range(30):
        await sqlite.read(read, "short")
    assert all(read.threads)


async def test_many_statements_of_one_read_share_the_budget(sqlite: Sqlite):
    once = CountingRead(1_000)

    async def read_often(tx: Tx) -> int:
        return sum([await once(tx) for _ in range(20)])

    assert await sqlite.read(read_often, "often") == 20_000
    assert (once.threads[0], once.threads[-1]) == (True, False)


async def test_a_read_that_meets_a_lock_waits_in_a_thread(sqlite: Sqlite):
    on_loop = []

    async def meet_lock(_tx: Tx) -> str:
        on_loop.append(threading.current_thread() is threading.main_thread())
        if on_loop[-1]:
            raise apsw.BusyError
        return "read"

    assert await sqlite.read(meet_lock, "locked") == "read"
    assert on_loop == [True, False]


async def test_a_refusal_on_the_loop_leaves_the_connection_usable(sqlite: Sqlite):
    async def refuse(tx: Tx) -> None:
        await tx.one("select * from item")
        raise errors.NotFound

    with pytest.raises(errors.NotFound):
        await sqlite.read(refuse, "refused")
    await sqlite.write(lambda tx: tx.run("insert into item values ('seen')"))
    row = await sqlite.read(lambda tx: tx.one("select name from item"), "refused")
    assert row == {"name": "seen"}


async def test_a_read_on_the_loop_cannot_write(sqlite: Sqlite):
    with pytest.raises(errors.Unavailable, match="ReadOnly"):
        await sqlite.read(lambda tx: tx.run("insert into item values ('no')"), "writes")


async def test_a_closed_store_refuses_reads_of_operations(sqlite: Sqlite):
    await sqlite.close()
    with pytest.raises(errors.Unavailable):
        await sqlite.read(CountingRead(1), "short")


def test_a_read_that_waited_once_stays_on_the_loop_and_one_that_waits_again_leaves_it():
    reads = HeavyReads()
    reads.record_seconds("late", seconds=0.2, cpu_seconds=0.001)
    assert not reads.is_heavy("late")
    reads.record_seconds("late", seconds=0.2, cpu_seconds=0.001)
    assert reads.is_heavy("late")


def test_a_read_that_was_late_and_then_in_time_is_not_suspected():
    reads = HeavyReads()
    for seconds in (0.2, 0.001, 0.2):
        reads.record_seconds("late", seconds, cpu_seconds=0.001)
    assert not reads.is_heavy("late")


def test_a_read_that_takes_the_cpu_leaves_the_loop_at_once():
    reads = HeavyReads()
    reads.record_seconds("long", seconds=0.02, cpu_seconds=0.02)
    assert reads.is_heavy("long")


async def test_a_read_sees_every_write_that_was_answered_before_it(sqlite: Sqlite):
    for n in range(20):
        await sqlite.write(lambda tx, n=n: tx.run("insert into item values ($1)", f"item {n}"))
        for _ in range(3):
            row = await sqlite.read(lambda tx: tx.one("select count(*) as n from item"), "count")
            assert row == {"n": n + 1}


async def test_reads_of_two_loops_see_every_write_that_was_answered(sqlite: Sqlite):
    count = "select count(*) as n from item"
    await sqlite.read(lambda tx: tx.one(count), "count")

    async def write_elsewhere() -> None:
        await sqlite.write(lambda tx: tx.run("insert into item values ('of another loop')"))

    await asyncio.to_thread(asyncio.run, write_elsewhere())
    assert await sqlite.read(lambda tx: tx.one(count), "count") == {"n": 1}


async def test_a_snapshot_without_reads_does_not_keep_the_log_from_being_emptied(sqlite: Sqlite):
    await sqlite.write(lambda tx: tx.run("insert into item values ('a')"))
    await sqlite.read(lambda tx: tx.one("select name from item"), "short")
    other = sqlite.connect()
    other.set_busy_timeout(30_000)
    await asyncio.to_thread(other.wal_checkpoint, mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    other.close()
    log = sqlite.folder.database.with_name(f"{sqlite.folder.database.name}-wal")
    assert log.stat().st_size == 0
