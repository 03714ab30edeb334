"""Which reads of SQLite run at once on the event loop, and how far: a thread costs more than a short read itself.

A read on the loop has a budget of SQLite's own instructions and never waits for a lock. One that exceeds its budget is
rolled back and runs again in a reader thread, and its operation goes straight to a thread for some time. Reads between two
commits share one snapshot, which is a good part of the cost of a short one. The connections and threads are in `sqlite.py`.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any

import apsw

from commonplace.store.database import Work

_BUDGET_STEPS = 20_000
_STEPS_PER_CHECK = 1_000
_SLOW_SECONDS = 0.05
_SLOW_CPU_SECONDS = 0.005
_FIRST_PAUSE_CALLS = 8
_MAX_PAUSE_CALLS = 1_024
_MAX_OPERATIONS = 1_000
_CALLS_PER_MEASUREMENT = 16
_SNAPSHOT_SECONDS = 0.02
"""An open snapshot keeps the log of SQLite from being emptied, so it does not stay open without reads."""


class NeedsThread(Exception):
    """The read is too long for the event loop, meets a lock there, or fails for another reason of SQLite's."""


class LoopReader:
    """The connection of the event loop; `run_work` runs the statements of a transaction to their end on it.

    `count_commits` tells how many commits were made before anybody is told of the last one.
    """

    def __init__(
        self,
        connection: apsw.Connection,
        run_work: Callable[[Work[Any]], Any],
        count_commits: Callable[[], int],
    ) -> None:
        connection.set_busy_handler(None)
        self._connection, self._run_work, self._count_commits = connection, run_work, count_commits
        self._budget, self._heavy = StepBudget(connection), HeavyReads()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._snapshot_commits = -1
        self._snapshot_timer: asyncio.TimerHandle | None = None

    def can_read(self, operation: str) -> bool:
        """Only one loop may use the connection; the first one that reads keeps it."""
        loop = asyncio.get_running_loop()
        if self._loop is None:
            self._loop = loop
        return loop is self._loop and not self._heavy.is_heavy(operation)

    def read(self, work: Work[Any], operation: str) -> Any:
        """Run the transaction. Every error of SQLite is left to the reader threads, which classify it."""
        is_measured = self._heavy.count_read(operation)
        began_cpu = time.thread_time() if is_measured else 0.0
        began = time.perf_counter()
        self._budget.refill()
        try:
            self._open_snapshot()
            result = self._run_work(work)
        except (apsw.Error, MemoryError):
            self._end_snapshot()
            self._heavy.pause_operation(operation)
            raise NeedsThread from None
        seconds = time.perf_counter() - began
        if is_measured or seconds > _SLOW_SECONDS:
            cpu_seconds = time.thread_time() - began_cpu if is_measured else 0.0
            self._heavy.record_seconds(operation, seconds, cpu_seconds)
        return result

    def _open_snapshot(self) -> None:
        """Begin a transaction, unless the one that is open has seen every commit that anybody was told of."""
        commits = self._count_commits()
        if commits == self._snapshot_commits:
            return
        self._end_snapshot()
        self._connection.execute("begin")
        self._snapshot_commits = commits
        if self._snapshot_timer is None and self._loop is not None:
            self._snapshot_timer = self._loop.call_later(_SNAPSHOT_SECONDS, self._end_snapshot)

    def _end_snapshot(self) -> None:
        self._snapshot_commits = -1
        if self._snapshot_timer is not None:
            self._snapshot_timer.cancel()
            self._snapshot_timer = None
        if self._connection.in_transaction:
            self._budget.refill()
            with contextlib.suppress(apsw.Error):
                self._connection.execute("rollback")

    def close(self) -> None:
        self._end_snapshot()
        self._connection.close()


class StepBudget:
    """Interrupts a transaction after so many instructions of SQLite's virtual machine."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._checks_left = 0
        connection.set_progress_handler(self._is_spent, _STEPS_PER_CHECK)

    def refill(self) -> None:
        self._checks_left = _BUDGET_STEPS // _STEPS_PER_CHECK

    def _is_spent(self) -> bool:
        self._checks_left -= 1
        return self._checks_left < 0


class HeavyReads:
    """Remembers per operation how many of its next calls go to a thread; every slow one doubles the number."""

    def __init__(self) -> None:
        self._pauses: dict[str, int] = {}
        self._calls_left: dict[str, int] = {}
        self._measured: dict[str, int] = {}
        self._late: set[str] = set()

    def is_heavy(self, operation: str) -> bool:
        """Does this call of the operation go to a thread? Counts the call."""
        left = self._calls_left.get(operation, 0)
        if left:
            self._calls_left[operation] = left - 1
        return left > 0

    def count_read(self, operation: str) -> bool:
        """Is this read measured? The CPU time is asked of the kernel, which costs as much as a short statement."""
        count = self._measured[operation] = self._measured.get(operation, -1) + 1
        return count % _CALLS_PER_MEASUREMENT == 0 or operation in self._pauses or operation in self._late

    def record_seconds(self, operation: str, seconds: float, cpu_seconds: float) -> None:
        """Record what a read on the loop took; one that only waited is at fault if the next one waits too.

        A busy machine holds up a short read now and then, and a thread would cost more just when CPU is scarce.
        """
        is_late = seconds > _SLOW_SECONDS
        if cpu_seconds > _SLOW_CPU_SECONDS or (is_late and operation in self._late):
            self.pause_operation(operation)
        elif is_late:
            self._late.add(operation)
        else:
            self._late.discard(operation)
            self._pauses.pop(operation, None)

    def pause_operation(self, operation: str) -> None:
        if len(self._pauses) >= _MAX_OPERATIONS:
            self._pauses.clear()
            self._calls_left.clear()
            self._measured.clear()
            self._late.clear()
        pause = min(2 * self._pauses.get(operation, _FIRST_PAUSE_CALLS // 2), _MAX_PAUSE_CALLS)
        self._pauses[operation] = self._calls_left[operation] = pause
