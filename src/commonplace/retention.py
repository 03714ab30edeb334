"""Retention: what is old is deleted in small batches, each in a short transaction of its own.

A room lists its `RetentionRule`s in its `Room`. Other calls go on between the batches, a timeout cuts off at most one of
them, and a sweep that was interrupted goes on where it stopped. `commonplace retention` shows and runs the rules.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Final

from commonplace import access
from commonplace.clock import DAY
from commonplace.config import Settings
from commonplace.project import list_all_project_names
from commonplace.store.database import Row, Tx

if TYPE_CHECKING:
    from commonplace.call import Calls

_log = logging.getLogger(__name__)

BATCH_ROWS: Final = 500
_MAX_DUE_ROWS: Final = 1000
_LOG_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Sweep:
    """One batch of a rule: at most `limit` rows of a project that are older than `before`."""

    project: str
    before: int
    now: int
    settings: Settings
    limit: int = BATCH_ROWS


FindDueProjects = Callable[[Tx, Sequence[str], int, int], Awaitable[set[str]]]
"""Some of these projects that have rows older than a time; the last argument is the largest number of rows to read."""
SweepRows = Callable[[Tx, Sweep], Awaitable[int]]


@dataclass(frozen=True, kw_only=True)
class RetentionRule:
    """What is deleted, or closed, when it is old."""

    kind: str
    setting: str = ""
    """The setting with its age in days; without one the age is fixed."""
    age: int = 0
    find_due: FindDueProjects
    sweep: SweepRows
    """Handle one batch; return how many rows it was, 0 if none is left."""
    count: SweepRows
    """Count all rows that a sweep would handle now."""

    find_before: Callable[[int, Settings], int] | None = None
    """The time before which a row is old, where it is not an age."""

    def find_time(self, now: int, settings: Settings) -> int:
        """The time before which a row is old."""
        if self.find_before is not None:
            return self.find_before(now, settings)
        return now - (getattr(settings, self.setting) * DAY if self.setting else self.age)


AfterDeletion = Callable[[Tx, Sweep, Sequence[Row]], Awaitable[None]]
"""Follows the deletion of rows in its transaction, for example in the search index."""


def delete_from_table(
    table: str,
    *,
    kind: str = "",
    key: Sequence[str] = ("id",),
    at: str = "at",
    old: str = "",
    setting: str = "",
    age: int = 0,
    after: AfterDeletion | None = None,
) -> RetentionRule:
    """A rule that deletes rows of a table: those whose column `at` is older, or that the condition `old` is true of.

    `key` is the primary key after the project. In `old`, $2 is the time before which a row is old.
    """
    keys, old = ", ".join(key), old or f"{at} < $2"

    async def find_due(tx: Tx, projects: Sequence[str], before: int, limit: int) -> set[str]:
        rows = await tx.all(
            f"select project from {table} where project = any($1) and {old} limit $3", projects, before, limit
        )
        return {row["project"] for row in rows}

    async def sweep(tx: Tx, batch: Sweep) -> int:
        rows = await tx.all(
            f"delete from {table} where project = $1 and ({keys}) in"
            f" (select {keys} from {table} where project = $1 and {old} limit $3) returning {keys}",
            batch.project,
            batch.before,
            batch.limit,
        )
        if rows and after:
            await after(tx, batch, rows)
        return len(rows)

    async def count(tx: Tx, batch: Sweep) -> int:
        row = await tx.one(
            f"select count(*) as n from {table} where project = $1 and {old}", batch.project, batch.before
        )
        return int(row["n"]) if row else 0

    return RetentionRule(
        kind=kind or table, setting=setting, age=age, find_due=find_due, sweep=sweep, count=count
    )


@dataclass(slots=True)
class RetentionProgress:
    """What this process has swept since it started; for metrics."""

    rows: dict[str, int] = field(default_factory=dict)
    batches: int = 0
    longest_batch_seconds: float = 0.0
    finished_at: int = 0


@dataclass(slots=True)
class RetentionRun:
    """One run over the rules. It ends early when its time is over; the next run goes on."""

    calls: "Calls"
    seconds: float = float("inf")
    swept: dict[str, int] = field(default_factory=dict)
    is_finished: bool = False
    _started: float = field(default_factory=monotonic)
    _logged: float = field(default_factory=monotonic)

    async def sweep_all(self) -> None:
        for rule in self.calls.catalogue.retention:
            if not await self._sweep_rule(rule):
                return
        self.is_finished = True
        self.calls.retention.finished_at = self.calls.clock()
        self._log_progress("retention finished")

    async def _sweep_rule(self, rule: RetentionRule) -> bool:
        """Sweep until nothing is due, or the time is over: then False."""
        now = self.calls.clock()
        before = rule.find_time(now, self.calls.settings)
        swept_before = -1
        # Rows that stay due although nothing is left to sweep are a bug, and no reason to run forever.
        while swept_before < self.swept.get(rule.kind, 0):
            swept_before = self.swept.get(rule.kind, 0)
            for project in sorted(await find_due_projects(self.calls, rule, before)):
                if not await self._sweep_project(rule, Sweep(project, before, now, self.calls.settings)):
                    return False
        return True

    async def _sweep_project(self, rule: RetentionRule, batch: Sweep) -> bool:
        progress = self.calls.retention
        while True:
            if monotonic() - self._started > self.seconds:
                return False
            began = monotonic()
            rows = await self.calls.database.write(lambda tx: rule.sweep(tx, batch))
            if not rows:
                return True
            progress.batches += 1
            progress.longest_batch_seconds = max(progress.longest_batch_seconds, monotonic() - began)
            progress.rows[rule.kind] = progress.rows.get(rule.kind, 0) + rows
            self.swept[rule.kind] = self.swept.get(rule.kind, 0) + rows
            if monotonic() - self._logged > _LOG_SECONDS:
                self._log_progress("retention goes on")

    def _log_progress(self, text: str) -> None:
        self._logged = monotonic()
        if self.swept:
            _log.info(text, extra={"rows": dict(self.swept)})


async def find_due_projects(calls: "Calls", rule: RetentionRule, before: int) -> set[str]:
    async def find_due(tx: Tx) -> set[str]:
        # Refused calls without a project are recorded under an empty name.
        projects = ["", access.SHARED, *await list_all_project_names(tx)]
        return await rule.find_due(tx, projects, before, _MAX_DUE_ROWS)

    return await calls.database.read(find_due)


async def count_due_rows(calls: "Calls") -> dict[str, int]:
    """How many rows each rule would handle now, without changing anything."""
    now = calls.clock()
    return {rule.kind: await _count_rule(calls, rule, now) for rule in calls.catalogue.retention}


async def _count_rule(calls: "Calls", rule: RetentionRule, now: int) -> int:
    before = rule.find_time(now, calls.settings)

    async def count(tx: Tx) -> int:
        projects = dict.fromkeys(["", access.SHARED, *await list_all_project_names(tx)])
        due = await rule.find_due(tx, list(projects), before, _MAX_DUE_ROWS)
        if not due:
            return 0
        batches = [Sweep(project, before, now, calls.settings) for project in projects | dict.fromkeys(due)]
        return sum([await rule.count(tx, batch) for batch in batches])

    return await calls.database.read(count)
