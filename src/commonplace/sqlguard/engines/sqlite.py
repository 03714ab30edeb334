"""SQLite: warm worker processes (`sqlite_workers.py`) run the queries, so that a query can be killed at any time.

Before a query runs, the views that it reads are checked like statements; a worker that sees another schema than the one
that was checked runs nothing and names the views that are there now.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.sqlguard import CheckedStatement
from commonplace.sqlguard.engines.rows import QueryRows, database_unreachable, query_refused
from commonplace.sqlguard.engines.sqlite_workers import UNKNOWN_SCHEMA, WORKERS, SqliteWorker, WorkerEnded
from commonplace.sqlguard.engines.target import QueryTarget
from commonplace.sqlguard.engines.threads import run_cancellable
from commonplace.sqlguard.view_check import check_views, require_search_tables

_MAX_SCHEMA_CHANGES = 3


async def run_sqlite_query(
    database: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any] = ()
) -> QueryRows:
    request = {
        "sql": checked.sql,
        "parameters": list(parameters),
        "max_rows": max_rows,
        "seconds": database.timeout_seconds,
    }
    query = _SqliteQuery(str(_resolve_file(database)), request, checked)
    try:
        reply = await run_cancellable(query.run, query.cancel)
    except WorkerEnded:
        raise errors.TooLarge(
            f"The query to '{database.name}' exceeded its memory or time.",
            hint="Narrow it with WHERE, or read fewer rows.",
        ) from None
    if "refused" in reply:
        raise query_refused(database.name, reply["code"], reply["refused"])
    if "unreachable" in reply:
        raise database_unreachable(database.name)
    return QueryRows(max_rows, reply["columns"], reply["rows"], truncated=reply["truncated"])


async def list_excess_sqlite_rights(database: QueryTarget) -> list[str]:
    """None: the worker opens the file read-only."""
    _resolve_file(database)
    return []


def _resolve_file(database: QueryTarget) -> Path:
    path = Path(database.database).expanduser().resolve()
    if not path.is_file():
        raise database_unreachable(database.name)
    return path


class _SqliteQuery:
    def __init__(self, path: str, request: dict[str, Any], checked: CheckedStatement) -> None:
        self._path, self._request, self._checked = path, request, checked
        self._worker: SqliteWorker | None = None
        self._is_cancelled = False

    def run(self) -> dict[str, Any]:
        """Ask a worker; one that had ended while it was idle is replaced."""
        worker = WORKERS.take(self._path)
        try:
            return self._ask(worker)
        except WorkerEnded as ended:
            if self._is_cancelled or not ended.was_idle:
                raise
            return self._ask(SqliteWorker(self._path))

    def _ask(self, worker: SqliteWorker) -> dict[str, Any]:
        self._worker = worker
        for _ in range(_MAX_SCHEMA_CHANGES):
            if worker.schema != UNKNOWN_SCHEMA:
                self._check_schema(worker)
            reply = worker.ask(self._request | {"schema": worker.schema})
            if "views" not in reply:
                break
            worker.schema, worker.views = reply["schema"], reply["views"]
            worker.search_tables = reply["search_tables"]
        self._release(worker, is_last=bool(reply.get("is_last")))
        return reply if "views" not in reply else {"unreachable": True}

    def _check_schema(self, worker: SqliteWorker) -> None:
        try:
            check_views("sqlite", self._checked, worker.views)
            require_search_tables(self._checked, worker.search_tables)
        except errors.Refusal:
            self._release(worker, is_last=False)
            raise

    def _release(self, worker: SqliteWorker, *, is_last: bool) -> None:
        self._worker = None
        if is_last:
            worker.kill()
        else:
            WORKERS.give_back(worker)

    def cancel(self) -> None:
        self._is_cancelled = True
        if worker := self._worker:
            worker.kill()
