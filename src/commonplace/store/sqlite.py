"""SQLite through apsw: one writer thread with group commit, short reads on the event loop, others in reader threads.

Every commit is on disk before its callers are answered.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from types import CoroutineType
from typing import Any, TypeVar

import apsw

from commonplace import errors
from commonplace.clock import Clock
from commonplace.data_folder import DataFolder
from commonplace.store.database import Kind, Tx, Work
from commonplace.store.lease_clock import LeaseClock
from commonplace.store.sqlite_busy import make_busy_handler
from commonplace.store.sqlite_errors import sqlite_refusal
from commonplace.store.sqlite_guard import DatabaseGuard
from commonplace.store.sqlite_tx import SqliteTx

T = TypeVar("T")

_READER_THREADS = 2
_MAX_BATCH_JOBS = 256
# With the default of 100 the start and the end of a session drop each other's statements, and all are parsed again.
_PREPARED_STATEMENTS = 512
_PRAGMAS = (
    "pragma journal_mode=wal",
    "pragma synchronous=full",
    "pragma foreign_keys=on",
    "pragma journal_size_limit=67108864",
    "pragma cache_size=-16384",
    "pragma mmap_size=2147418112",
    "pragma temp_store=memory",
)
_PROBE_ROW = "insert into setting (name, value) values ('probe', '') on conflict (name) do update set value = excluded.value"


def _sync_log(connection: apsw.Connection) -> None:
    """Put what a killed process left in the log on disk: whoever reads it from now on must not lose it with the power.

    A checkpoint syncs the log before it copies pages, so a disk that is too full for the copy does no harm.
    """
    with contextlib.suppress(apsw.FullError):
        connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)


def run_to_end(work: Work[T], tx: SqliteTx) -> T:
    """Run a transaction to its end in this thread: its coroutine never suspends."""
    step = work(tx)
    if not isinstance(step, CoroutineType):
        raise TypeError("a transaction is a coroutine function")
    try:
        step.send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    step.close()
    raise RuntimeError("a transaction awaits nothing but its tx")


class _ProbeEnded(Exception):
    """Roll back."""


class _Job:
    """One caller's transaction in the queue of a thread."""

    __slots__ = ("_loop", "_work", "result")

    def __init__(self, work: Work[Any], loop: asyncio.AbstractEventLoop) -> None:
        self._work, self._loop = work, loop
        self.result: asyncio.Future[Any] = loop.create_future()

    @property
    def is_abandoned(self) -> bool:
        return self.result.cancelled()

    def run_to_end(self, tx: SqliteTx) -> Any:
        return run_to_end(self._work, tx)

    def settle_result(self, result: Any, error: BaseException | None) -> None:
        if self.result.done():
            return
        if error is not None:
            self.result.set_exception(error)
        else:
            self.result.set_result(result)


_Outcome = tuple[_Job, Any, BaseException | None]


class Sqlite:
    kind: Kind = "sqlite"

    def __init__(self, folder: Path, clock: Clock, lease_clock: LeaseClock | None = None) -> None:
        self.folder = DataFolder(folder)
        self._clock, self.lease_clock = clock, lease_clock
        self._closed = False
        self._last_batch_jobs = 0
        self._has_failed_write = False
        self._reads: SimpleQueue[_Job | None] = SimpleQueue()
        self._writes: SimpleQueue[_Job | None] = SimpleQueue()
        try:
            writer = self.connect()
            _sync_log(writer)
            readers = [self.connect(read_only=True) for _ in range(_READER_THREADS)]
        except apsw.Error as broken:
            self.folder.close()
            raise sqlite_refusal(broken, self.folder.database) or broken from broken
        self.folder.mark_created()
        self._guard = DatabaseGuard(self.folder.database)
        self._threads = [
            threading.Thread(target=self._write_batches, args=(writer,), name="store-writer", daemon=True),
            *(
                threading.Thread(target=self._read_jobs, args=(reader,), name="store-reader", daemon=True)
                for reader in readers
            ),
        ]
        for thread in self._threads:
            thread.start()

    def connect(self, *, read_only: bool = False) -> apsw.Connection:
        connection = apsw.Connection(str(self.folder.database), statementcachesize=_PREPARED_STATEMENTS)
        connection.set_busy_handler(make_busy_handler())
        # Otherwise statements are prepared again for other bound values: ten times the cost, and unstable plans.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        for pragma in _PRAGMAS:
            connection.execute(pragma).fetchall()
        if read_only:
            connection.execute("pragma query_only=on")
        return connection

    async def read(self, work: Work[T]) -> T:
        return await self._submit(self._reads, work)

    async def write(self, work: Work[T]) -> T:
        if self._guard.damage is not None:
            raise self._guard.damage
        try:
            result = await self._submit(self._writes, work)
        except errors.Unavailable:
            self._has_failed_write = True
            raise
        self._has_failed_write = False
        return result

    async def list_silent_nodes(self) -> list[str]:
        """None: the store is one file."""
        return []

    async def check_writable(self) -> None:
        """Write a row; commit it only if the last write failed, so that an idle server leaves the disk alone."""

        async def probe(tx: Tx) -> None:
            await tx.run(_PROBE_ROW)
            if not self._has_failed_write:
                raise _ProbeEnded

        with contextlib.suppress(_ProbeEnded):
            await self.write(probe)

    def announce(self, projects: set[str]) -> None:
        """Nothing to do: one process has the file open."""

    async def listen(self, heard: Callable[[set[str] | None], None]) -> None:
        """Nothing to do: events of this process reach its listeners directly."""

    async def stop_listening(self) -> None:
        """Nothing to stop."""

    def measure_load(self) -> dict[str, int]:
        return {
            "writes_waiting": self._writes.qsize(),
            "reads_waiting": self._reads.qsize(),
            "last_batch_transactions": self._last_batch_jobs,
        }

    async def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._writes.put(None)
        for _ in range(_READER_THREADS):
            self._reads.put(None)
        await asyncio.gather(*(asyncio.to_thread(thread.join) for thread in self._threads))
        self.folder.close()

    async def _submit(self, queue: "SimpleQueue[_Job | None]", work: Work[T]) -> T:
        if self._closed:
            raise errors.Unavailable("The server is shutting down.", hint="Try again in a moment.")
        job = _Job(work, asyncio.get_running_loop())
        queue.put(job)
        try:
            answer: T = await job.result
        except (apsw.Error, MemoryError) as error:
            refusal = sqlite_refusal(error, self.folder.database)
            self._guard.record_error(refusal)
            if refusal is None:
                raise
            raise refusal from error
        return answer

    async def check_pages(self, *, only_if_quick: bool = False) -> None:
        if self._guard.is_quick or not only_if_quick:
            await asyncio.to_thread(self._guard.check_pages)

    def _read_jobs(self, connection: apsw.Connection) -> None:
        tx = SqliteTx(connection, self._clock, self.lease_clock)
        while (job := self._reads.get()) is not None:
            if job.is_abandoned:
                continue
            outcome = _in_transaction(job, tx, "begin")
            _settle_jobs([outcome])
        connection.close()

    def _write_batches(self, connection: apsw.Connection) -> None:
        tx = SqliteTx(connection, self._clock, self.lease_clock)
        while (job := self._writes.get()) is not None:
            batch = [job, *self._drain_writes()]
            ends = batch[-1] is None
            jobs = [each for each in batch if each is not None and not each.is_abandoned]
            self._last_batch_jobs = len(jobs)
            if jobs:
                outcomes = _in_one_commit(jobs, tx)
                damage = self._guard.find_damage()
                _settle_jobs([(job, None, damage) for job in jobs] if damage else outcomes)
            if ends:
                break
        connection.close()

    def _drain_writes(self) -> list[_Job | None]:
        waiting: list[_Job | None] = []
        with contextlib.suppress(Empty):
            while len(waiting) < _MAX_BATCH_JOBS and (not waiting or waiting[-1] is not None):
                waiting.append(self._writes.get_nowait())
        return waiting


def _in_transaction(job: _Job, tx: SqliteTx, begin: str) -> _Outcome:
    try:
        tx.execute(begin)
        result = job.run_to_end(tx)
        tx.execute("commit")
    except BaseException as error:  # noqa: BLE001 - whatever it is belongs to the caller, not to the thread
        _roll_back(tx)
        return job, None, error
    return job, result, None


def _in_one_commit(jobs: list[_Job], tx: SqliteTx) -> list[_Outcome]:
    """One commit for all waiting callers, with a savepoint for each, so that a failure concerns one caller only."""
    if len(jobs) == 1:
        return [_in_transaction(jobs[0], tx, "begin immediate")]
    try:
        tx.execute("begin immediate")
        outcomes = [_in_savepoint(job, tx) for job in jobs]
        tx.execute("commit")
    except Exception as error:  # noqa: BLE001 - as above
        _roll_back(tx)
        return [(job, None, error) for job in jobs]
    return outcomes


def _in_savepoint(job: _Job, tx: SqliteTx) -> _Outcome:
    tx.execute("savepoint caller")
    try:
        result = job.run_to_end(tx)
    except BaseException as error:
        if not tx.is_open:  # a full disk or a broken one ended the transaction of all callers
            raise
        tx.execute("rollback to caller")
        tx.execute("release caller")
        return job, None, error
    tx.execute("release caller")
    return job, result, None


def _roll_back(tx: SqliteTx) -> None:
    with contextlib.suppress(apsw.Error):
        tx.execute("rollback")


def _settle_jobs(outcomes: list[_Outcome]) -> None:
    """Wake each loop once for all of its callers."""
    loops: dict[asyncio.AbstractEventLoop, list[_Outcome]] = {}
    for outcome in outcomes:
        loops.setdefault(outcome[0]._loop, []).append(outcome)  # noqa: SLF001 - a job's own thread
    for loop, ended in loops.items():
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_settle_in_loop, ended)


def _settle_in_loop(ended: list[_Outcome]) -> None:
    for job, result, error in ended:
        job.settle_result(result, error)
