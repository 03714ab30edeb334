"""One transaction of SQLite: the verbs of `Tx` on one connection, in the thread that uses it.

Which thread runs a transaction, and when it commits, is decided in `sqlite.py`.
"""

import re
from collections.abc import Sequence
from functools import cache

import apsw
import msgspec

from commonplace.clock import Clock
from commonplace.store.database import Kind, Row, Statement, Value
from commonplace.store.lease_clock import SHIFT_COLUMN, LeaseClock

_CLOCK = f"select {SHIFT_COLUMN}"
_PARAMETER = re.compile(r"\$(\d+)")
_IN_LIST = re.compile(r"= any\(\$(\d+)\)")


@cache
def translate_parameters(sql: str) -> str:
    """SQLite reads `$3` as a name and binds it silently wrong; `?3` is a position. Lists travel as JSON."""
    listed = _IN_LIST.sub(r"in (select value from json_each(?\1))", sql)
    return _PARAMETER.sub(r"?\1", listed)


class SqliteTx:
    kind: Kind = "sqlite"

    def __init__(self, connection: apsw.Connection, clock: Clock, lease_clock: LeaseClock | None) -> None:
        self._connection, self._clock, self._lease_clock = connection, clock, lease_clock
        connection.convert_binding = _encode_list
        self._clock_asked_at = self._clock_now = 0
        self._columns: dict[str, tuple[str, ...]] = {}

    @property
    def is_open(self) -> bool:
        return self._connection.in_transaction

    def execute(self, sql: str, values: Sequence[Value] = ()) -> apsw.Cursor:
        return self._connection.execute(translate_parameters(sql), values)

    async def run(self, sql: str, *values: Value) -> int:
        before = self._connection.total_changes()
        for _ in self.execute(sql, values):
            pass
        return self._connection.total_changes() - before

    async def one(self, sql: str, *values: Value) -> Row | None:
        rows = self._list_rows(sql, values)
        return rows[0] if rows else None

    async def all(self, sql: str, *values: Value) -> Sequence[Row]:
        return self._list_rows(sql, values)

    def _list_rows(self, sql: str, values: Sequence[Value]) -> Sequence[Row]:
        cursor = self.execute(sql, values)
        try:
            first = cursor.fetchone()
            if first is None:
                return []
            columns = self._columns.get(sql)
            if columns is None:
                columns = self._columns[sql] = tuple(column[0] for column in cursor.get_description())
            return [dict(zip(columns, row, strict=True)) for row in (first, *cursor)]
        except UnicodeDecodeError as error:  # all text that is written is UTF-8
            raise apsw.CorruptError(f"stored text is not UTF-8 ({error.reason})") from error

    async def together(self, *statements: Statement) -> list[Sequence[Row]]:
        return [self._list_rows(sql, values) for sql, *values in statements]

    async def queue(self, sql: str, *values: Value) -> None:
        for _ in self.execute(sql, values):
            pass

    async def expect_no_row(self, sql: str, *values: Value) -> None:
        """Nothing to ask: this transaction is the only one that writes."""

    async def many(self, sql: str, rows: Sequence[Sequence[Value]]) -> None:
        for row in rows:
            self.execute(sql, row)

    def claim_project(self, project: str) -> None:
        """Nothing to share out: one writer commits for all."""

    async def clock(self) -> int:
        if self._lease_clock is None:
            return self._clock()
        (rows,) = await self.together(self.clock_statement())
        return self.clock_from_row(rows[0])

    def clock_statement(self) -> Statement:
        self.ask_clock()
        return (_CLOCK,)

    def ask_clock(self) -> str:
        """The clock is this process's own; the store has only what is subtracted from it."""
        if self._lease_clock is not None:
            self._clock_asked_at = self._lease_clock.read_boot()
        self._clock_now = self._clock()
        return SHIFT_COLUMN

    def clock_from_row(self, row: Row) -> int:
        if self._lease_clock is None:
            return self._clock_now
        return self._lease_clock.correct(self._clock_now, row["shift"], self._clock_asked_at)


def _encode_list(_cursor: object, _number: int, value: object) -> str:
    """SQLite asks only for values that it has no type for; of those a statement may have lists."""
    if not isinstance(value, list | tuple):
        raise TypeError(f"a statement cannot have a value of {type(value)}")
    return msgspec.json.encode(value).decode()
