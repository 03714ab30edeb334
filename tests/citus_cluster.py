"""A Citus for tests: the cluster that TEST_CITUS_DSN names, and every statement that the product sends.

With TEST_STATEMENTS=FILE a run of any tests writes the statements there; `store/test_citus_statements.py` explains them.
"""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import asyncpg

import commonplace
from commonplace.store import postgres_tx
from commonplace.store.database import Value
from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_literals import format_statement
from team import execute

_SOURCE = Path(commonplace.__file__).parent
_OURS = (
    "select c.relname from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace"
    " and c.relname !~ '_[0-9]{6,}$'"
    " and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'e')"
)
_PLANNED = re.compile(r"\s*(?:select|insert|update|delete|with)\b", re.IGNORECASE)
_WRITTEN = re.compile(r"\s*(?:insert into|update)\s+(\w+)", re.IGNORECASE)
_TASKS = re.compile(r"Task Count: (\d+)")
_EXAMPLES_PER_STATEMENT = 3


@dataclass
class StatementLog:
    """Writes the statements of the product into a file: the function that sent each, its text, and with the values of some
    of its runs. Not what tests send themselves."""

    path: str = ""
    runs: Counter[str] = field(default_factory=Counter)
    written_tables: set[str] = field(default_factory=set)

    def add(self, sql: str, values: Sequence[Value]) -> None:
        if not _PLANNED.match(sql):
            return
        if written := _WRITTEN.match(sql):
            self.written_tables.add(written[1])
        if not self.path or self.runs[sql] == _EXAMPLES_PER_STATEMENT:
            return
        self.runs[sql] += 1
        caller, text = _find_caller(sys._getframe(1)), format_statement(sql, values)
        if caller and text is not None:
            with Path(self.path).open("a") as file:
                file.write(json.dumps([caller, sql, text]) + "\n")


STATEMENTS = StatementLog(os.environ.get("TEST_STATEMENTS", ""))
if os.environ.get("TEST_CITUS_DSN") or os.environ.get("TEST_STATEMENTS"):
    postgres_tx.statement_log = STATEMENTS.add


def _find_caller(frame: FrameType | None) -> str:
    while frame is not None:
        path = Path(frame.f_code.co_filename)
        if path.parent.name == "tests" or "tests" in path.parts:
            return ""
        if path.is_relative_to(_SOURCE) and path.name not in ("postgres_tx.py", "shared_reads.py"):
            return f"{path.relative_to(_SOURCE)}:{frame.f_code.co_name}"
        frame = frame.f_back
    return "?"


class CitusCluster:
    """A database on Citus, distributed once by the product's own start, then emptied for each test."""

    def __init__(self, dsn: str) -> None:
        self.dsn, self._connection = dsn, None

    async def prepare(self) -> None:
        """Remove our tables, but not the schema: extensions live in it."""
        for name in await self._fetch(_OURS):
            await execute(self.dsn, f"drop table {name} cascade")
        store = await Postgres.open(self.dsn, pool=1)
        try:
            await migrate(store)
        finally:
            await store.close()
        await self.require_distribution()

    async def require_distribution(self) -> None:
        """A leg of the suite that runs on plain tables would be green for nothing."""
        ours = set(await self._fetch(_OURS)) - {"schema_version"}
        placed = set(await self._fetch("select logicalrelid::text from pg_dist_partition"))
        if not ours or not ours <= placed:
            raise RuntimeError(
                f"not distributed on {self.dsn}: {sorted(ours - placed) or 'no tables at all'}"
            )

    async def empty(self) -> None:
        """Only what was written to, and by deletes: to truncate all shards takes longer than most tests."""
        names, STATEMENTS.written_tables = STATEMENTS.written_tables, set()
        connection = await asyncpg.connect(self.dsn)
        try:
            for name in names:
                await connection.execute(f"delete from {name}")
        finally:
            await connection.close()

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.close()

    async def count_tasks(self, statement: str) -> int:
        """How many shards a statement asks; 0 if none. Raises what Citus refuses it with."""
        if self._connection is None:
            self._connection = await asyncpg.connect(self.dsn)
        plan = await self._connection.fetch(f"explain (costs off) {statement}")
        return sum(int(tasks) for row in plan for tasks in _TASKS.findall(row[0]))

    async def _fetch(self, sql: str) -> list[str]:
        connection = await asyncpg.connect(self.dsn)
        try:
            return [row[0] for row in await connection.fetch(sql)]
        finally:
            await connection.close()


@asynccontextmanager
async def open_citus_cluster(dsn: str) -> AsyncIterator[CitusCluster]:
    """The cluster at this address, prepared."""
    cluster = CitusCluster(dsn)
    await cluster.prepare()
    yield cluster
    await cluster.close()
