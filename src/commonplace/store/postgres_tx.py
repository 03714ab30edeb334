"""One transaction of PostgreSQL in as few round trips as possible.

Reads before the first write run without BEGIN: PostgreSQL's default isolation takes a new snapshot for each statement
anyway. Changes without an answer wait, and travel in one message with BEGIN, with each other and with COMMIT. So rows that
every writer of a project changes, such as its counters, are locked inside one message and never over a round trip.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import asyncpg
import msgspec

from commonplace.clock import Clock
from commonplace.store.database import Kind, Row, Statement, Value
from commonplace.store.faults import TransactionConflict
from commonplace.store.lease_clock import SHIFT_COLUMN, LeaseClock
from commonplace.store.postgres_literals import (
    format_statement,
    group_by_project,
    name_single_project,
    shift_parameters,
)
from commonplace.store.project_lanes import LaneTicket

_CLOCK = "select cast(extract(epoch from clock_timestamp()) * 1000000 as bigint) as now"
_MAX_QUEUED_ROWS = 50
_MAX_QUEUED_CHARACTERS = 32_768
_PLAIN_READ = re.compile(r"\s*(?:select|with)\b", re.IGNORECASE)
_EFFECT = re.compile(r"\bfor (?:no key )?(?:update|share)\b|\bpg_|\bnextval\b|\bset_config\b", re.IGNORECASE)
_CHANGED_TABLE = re.compile(r"\s*(?:insert into|update|delete from)\s+(\w+)", re.IGNORECASE)
_READ_TABLES = re.compile(r"\b(?:from|join)\s+(\w+)", re.IGNORECASE)


@cache
def is_plain_read(sql: str) -> bool:
    """Does the statement only read, without a lock that its transaction would keep?"""
    return _PLAIN_READ.match(sql) is not None and _EFFECT.search(sql) is None


@cache
def list_read_tables(sql: str) -> frozenset[str]:
    return frozenset(_READ_TABLES.findall(sql))


statement_log: Callable[[str, Sequence[Value]], None] | None = None
"""Gets every statement with its values, for the check that each touches one shard (`make citus`)."""


class PostgresTx:
    """`begin` is the message that begins the transaction; without one it is open already, or only reads."""

    kind: Kind = "postgresql"

    def __init__(
        self,
        connection: Any,
        clock: Clock | None,
        begin: str = "",
        lease_clock: LeaseClock | None = None,
        ticket: LaneTicket | None = None,
        *,
        has_citus: bool = False,
    ) -> None:
        self._connection, self._clock, self._lease_clock = connection, clock, lease_clock
        self._ticket = ticket
        self._clock_asked_at = 0
        self._begin, self._has_citus = begin, has_citus
        self._batches = bool(begin)
        self._is_begun = False
        self._queued: list[str] = []
        self._changed_tables: set[str] = set()
        self._has_expectations = False

    async def run(self, sql: str, *values: Value) -> int:
        sql, values = self._prepare_statement(sql, values)
        await self._prepare_for(sql)
        status: str = await self._connection.execute(sql, *values)
        count = status.rsplit(" ", 1)[-1]
        return int(count) if count.isdigit() else 0

    async def one(self, sql: str, *values: Value) -> Row | None:
        sql, values = self._prepare_statement(sql, values)
        await self._prepare_for(sql)
        row: Row | None = await self._connection.fetchrow(sql, *values)
        return row

    async def all(self, sql: str, *values: Value) -> Sequence[Row]:
        sql, values = self._prepare_statement(sql, values)
        await self._prepare_for(sql)
        rows: Sequence[Row] = await self._connection.fetch(sql, *values)
        return rows

    async def together(self, *statements: Statement) -> list[Sequence[Row]]:
        """One statement with a JSON list for each of these; on Citus one for each project, which is on one shard.

        They stand in FROM: Citus accepts subqueries on several projects there, and not among the columns.
        """
        if len(statements) == 1:
            return [await self.all(*statements[0])]
        if self._has_citus and len(groups := group_by_project(statements)) > 1:
            rows: dict[int, Sequence[Row]] = {}
            for places in groups:
                group = await self.together(*(statements[place] for place in places))
                rows.update(zip(places, group, strict=True))
            return [rows[place] for place in range(len(statements))]
        parts, together_values = [], list[Value]()
        for position, (sql, *values) in enumerate(statements):
            shifted = shift_parameters(sql, len(together_values))
            parts.append(f"(select json_agg(part) as rows from ({shifted}) as part) as part{position}")
            together_values += values
        columns = ", ".join(f"part{position}.rows as rows{position}" for position in range(len(parts)))
        row = await self.one(f"select {columns} from {' cross join '.join(parts)}", *together_values)
        return [msgspec.json.decode(column) if column else [] for column in row.values()] if row else []

    async def all_with_settings(self, settings: Mapping[str, str], sql: str, *values: Value) -> Sequence[Row]:
        """Return all rows of one statement that runs under these settings.

        SET LOCAL in a transaction, one statement each: Citus then sends it to the workers (`store/citus.py`), and a
        connection that other calls or other servers use next keeps nothing of it.
        """
        if not settings:
            return await self.all(sql, *values)
        await self._prepare_for(sql)
        changes = [f"set local {name} = {value}" for name, value in settings.items()]
        if self._connection.is_in_transaction():
            await self._connection.execute("; ".join(changes))
            return await self.all(sql, *values)
        await self._connection.execute("; ".join(("begin", *changes)))
        try:
            return await self.all(sql, *values)
        finally:  # ends a transaction that failed, too
            await self._connection.execute("commit")

    async def queue(self, sql: str, *values: Value) -> None:
        await self.many(sql, [values])

    async def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        if not rows:
            return
        if statement_log is not None:
            statement_log(sql, rows[0])
        texts = [format_statement(sql, row) for row in rows] if self._can_queue(rows) else [None]
        if None in texts or sum(map(len, filter(None, texts))) > _MAX_QUEUED_CHARACTERS:
            await self._send_queued()
            await self._connection.executemany(sql, rows)
            return
        self._queued += filter(None, texts)
        changed = _CHANGED_TABLE.match(sql)
        self._changed_tables.add(changed[1] if changed else "")

    async def expect_no_row(self, sql: str, *values: Value) -> None:
        if not self._batches:
            return
        sql, values = self._prepare_statement(sql, values)
        text = format_statement(sql, values)
        if text is None:
            await self._send_queued()
            if await self._connection.fetch(sql, *values):
                raise TransactionConflict
            return
        self._has_expectations = True
        self._queued.append(
            f"select 1 / (1 - count(*)) from (select 1 from ({text}) as found limit 1) as one"
        )

    async def clock(self) -> int:
        if self._clock is not None and self._lease_clock is None:
            return self._clock()
        (row,) = await self.all(*self.clock_statement())
        return self.clock_from_row(row)

    def clock_statement(self) -> Statement:
        columns = ""
        if self._lease_clock is not None:
            self._clock_asked_at, columns = self._lease_clock.read_boot(), f", {SHIFT_COLUMN}"
        if self._clock is None:
            return (f"{_CLOCK}{columns}",)
        return f"select cast($1 as bigint) as now{columns}", self._clock()

    def ask_clock(self) -> str:
        """A statement of its own: the database may compute the columns of a table on another machine."""
        return ""

    def clock_from_row(self, row: Row) -> int:
        if self._lease_clock is None:
            return int(row["now"])
        return self._lease_clock.correct(row["now"], row["shift"], self._clock_asked_at)

    def claim_project(self, project: str) -> None:
        if self._ticket is not None:
            self._ticket.claim(project)

    async def commit(self) -> None:
        if self._is_begun or self._queued:
            await self._send_queued("commit")

    async def roll_back(self, seconds: float) -> None:
        if self._is_begun:
            await self._connection.execute("rollback", timeout=seconds)

    def _can_queue(self, rows: Sequence[Sequence[Value]]) -> bool:
        return self._batches and len(rows) <= _MAX_QUEUED_ROWS

    def _prepare_statement(self, sql: str, values: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
        if self._has_citus:
            sql, values = name_single_project(sql, values)
        if statement_log is not None:
            statement_log(sql, values)
        return sql, values

    async def _prepare_for(self, sql: str) -> None:
        """Send what waits, unless the statement only reads tables that nothing of it changes."""
        if not self._batches:
            return
        if is_plain_read(sql) and not self._changed_tables & (list_read_tables(sql) | {""}):
            return
        await self._send_queued()

    async def _send_queued(self, *last: str) -> None:
        if not self._batches:
            return
        if self._has_citus and not self._is_begun:
            self._is_begun = True
            await self._connection.execute(self._begin)
        first = [] if self._is_begun else [self._begin]
        message = "; ".join((*first, *self._queued, *last))
        may_conflict, self._has_expectations = self._has_expectations, False
        self._is_begun, self._queued = True, []
        self._changed_tables.clear()
        if not message:
            return
        try:
            await self._connection.execute(message)
        except asyncpg.DivisionByZeroError as error:
            if may_conflict:
                raise TransactionConflict from error
            raise
