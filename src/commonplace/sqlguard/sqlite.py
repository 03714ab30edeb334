"""SQLite: warm worker processes (`sqlite_worker.py`) run the queries, so that a query can be killed at any time.

Before a query runs, the views that it reads are checked like statements; a worker that sees another schema than the one
that was checked runs nothing and names the views that are there now. A worker belongs to one file and runs one query at
a time. It is killed when a query is cancelled, and ends by itself after some queries, some time without one, or when it
comes near its limits. Starting one costs 150 ms of CPU, a query 1.
"""

import atexit
import contextlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.sqlguard.dialect import (
    CheckedStatement,
    SqlDialect,
    check_view,
    check_with_sqlglot,
    forbidden_function,
    forbidden_statement,
    strip_leading_comments,
)
from commonplace.sqlguard.query_rows import (
    MAX_CELL_CHARACTERS,
    MAX_RESULT_BYTES,
    QueryRows,
    QueryTarget,
    database_unreachable,
    query_refused,
    query_too_large,
    run_cancellable,
)

_PRAGMA = re.compile(
    r"""pragma\s+(?:main\.)?(\w+)(?:\s*\(\s*(?:'([^']+)'|"([^"]+)"|(\w+))\s*\))?\s*;?\s*""", re.IGNORECASE
)
_EXPLAIN = re.compile(r"explain\b(\s+query\s+plan\b)?", re.IGNORECASE)
_MAX_SCHEMA_CHANGES = 3
_WORKER_SCRIPT = Path(__file__).with_name("sqlite_worker.py")
# The variables that Python needs to start; the worker gets no others.
_WORKER_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
_MAX_IDLE_WORKERS_PER_FILE = 2
_MAX_IDLE_WORKERS = 8
UNKNOWN_SCHEMA = ""


def _is_hidden_relation(catalog: str, schema: str, name: str) -> bool:
    if catalog or schema not in ("", "main"):
        return True
    if name.startswith("pragma_"):
        return name.removeprefix("pragma_") not in SQLITE.names("pragmas_with_argument")
    is_system = name.startswith("sqlite_") and name not in SQLITE.names("relations")
    return is_system or name in SQLITE.names("hidden")


def _split_statement(sql: str) -> tuple[str, str]:
    """sqlglot has no EXPLAIN and no PRAGMA for SQLite: split off the one, check the other here."""
    text = strip_leading_comments(sql)
    if pragma := _PRAGMA.fullmatch(text):
        return _write_pragma(pragma), ""
    if explain := _EXPLAIN.match(text):
        return ("EXPLAIN QUERY PLAN " if explain[1] else "EXPLAIN "), text[explain.end() :]
    return "", sql


def _write_pragma(match: re.Match[str]) -> str:
    name, argument = match[1].lower(), match[2] or match[3] or match[4]
    if argument is None and name in SQLITE.names("pragmas_without_argument"):
        return f"PRAGMA {name}"
    allowed = SQLITE.names("pragmas_with_argument")
    if argument is None or name not in allowed:
        raise forbidden_statement(f"PRAGMA {name} is not allowed.", f"Allowed: {', '.join(sorted(allowed))}.")
    return "PRAGMA {}('{}')".format(name, argument.replace("'", "''"))


def _correct_tree(tree: Any) -> None:
    """sqlglot reads a comma as CROSS JOIN, which for SQLite alone also fixes the join order."""
    from sqlglot import exp  # noqa: PLC0415 - large, so the first query imports it

    for join in tree.find_all(exp.Join):
        if join.kind == "CROSS":
            join.set("kind", None)
            join.set("on", exp.true())


class WorkerEnded(Exception):
    """The worker ended without an answer: it was killed, exceeded its memory or time, or had been idle for long."""

    def __init__(self, *, was_idle: bool) -> None:
        super().__init__()
        self.was_idle = was_idle


class SqliteWorker:
    """One process that reads one file."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.schema = UNKNOWN_SCHEMA
        self.views: dict[str, str] = {}
        """The definitions of the views that this schema has."""
        self.search_tables: list[str] = []
        self._process = subprocess.Popen(
            [sys.executable, "-E", "-s", str(_WORKER_SCRIPT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={name: os.environ[name] for name in _WORKER_ENVIRONMENT if name in os.environ},
        )
        self._send(
            {
                "path": path,
                "functions": sorted(SQLITE.functions),
                "pragmas": sorted(
                    SQLITE.names("pragmas_with_argument") | SQLITE.names("pragmas_without_argument")
                ),
                "max_cell": MAX_CELL_CHARACTERS,
                "max_bytes": MAX_RESULT_BYTES,
            }
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to one request; raises WorkerEnded if there is none."""
        self._send(request)
        try:
            line = self._process.stdout.readline() if self._process.stdout else b""
        except ValueError:  # killed from another thread
            line = b""
        if not line.endswith(b"\n"):
            raise self._end()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> WorkerEnded:
        self.kill()
        return WorkerEnded(was_idle=self._process.returncode == 0)

    def _send(self, request: Mapping[str, Any]) -> None:
        try:
            if self._process.stdin:
                self._process.stdin.write(json.dumps(request).encode() + b"\n")
                self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._end() from None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe:
                    pipe.close()


class WorkerPool:
    """Idle workers, the last used at the end. A worker is lent to one query at a time, so only the list needs a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[SqliteWorker] = []

    def take(self, path: str) -> SqliteWorker:
        while worker := self._pop_idle(path):
            if worker.is_alive:
                return worker
            worker.kill()
        return SqliteWorker(path)

    def _pop_idle(self, path: str) -> SqliteWorker | None:
        with self._lock:
            worker = next((idle for idle in reversed(self._idle) if idle.path == path), None)
            if worker:
                self._idle.remove(worker)
            return worker

    def give_back(self, worker: SqliteWorker) -> None:
        """Keep the worker for the next query; the ones that were not used for the longest time make room."""
        with self._lock:
            self._idle.append(worker)
            same_file = [idle for idle in self._idle if idle.path == worker.path]
            excess = same_file[:-_MAX_IDLE_WORKERS_PER_FILE] or self._idle[:-_MAX_IDLE_WORKERS]
            self._idle = [idle for idle in self._idle if idle not in excess]
        for unused in excess:
            unused.kill()

    def list_pids(self) -> list[int]:
        """The processes of the idle workers."""
        with self._lock:
            return [worker.pid for worker in self._idle]

    def close(self) -> None:
        with self._lock:
            workers, self._idle = self._idle, []
        for worker in workers:
            worker.kill()


WORKERS = WorkerPool()
atexit.register(WORKERS.close)


async def _run_query(
    target: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any]
) -> QueryRows:
    request = {
        "sql": checked.sql,
        "parameters": list(parameters),
        "max_rows": max_rows,
        "seconds": target.timeout_seconds,
    }
    query = _SqliteQuery(str(_resolve_file(target)), request, checked)
    try:
        reply = await run_cancellable(query.run, query.cancel)
    except WorkerEnded:
        raise query_too_large(f"The query to '{target.name}' exceeded its memory or time.") from None
    if "refused" in reply:
        raise query_refused(target.name, reply["code"], reply["refused"])
    if "unreachable" in reply:
        raise database_unreachable(target.name)
    return QueryRows(max_rows, reply["columns"], reply["rows"], truncated=reply["truncated"])


async def _list_excess_rights(target: QueryTarget) -> list[str]:
    """None: the worker opens the file read-only."""
    _resolve_file(target)
    return []


def _resolve_file(target: QueryTarget) -> Path:
    path = Path(target.database).expanduser().resolve()
    if not path.is_file():
        raise database_unreachable(target.name)
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
            _check_views(self._checked, worker.views)
            for name in self._checked.table_functions:
                if name not in worker.search_tables:
                    raise forbidden_function(name)
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


def _check_views(checked: CheckedStatement, views: Mapping[str, str], depth: int = 0) -> None:
    """Refuse a statement that reads a view with other than reading functions; `views` by name in lower case."""
    for name in checked.relations:
        definition = views.get(name.name.lower())
        if definition is not None:
            _check_views(check_view(SQLITE, name.name, definition, depth), views, depth + 1)


SQLITE = SqlDialect(
    name="sqlite",
    synonyms=("sqlite3",),
    check=check_with_sqlglot,
    run_query=_run_query,
    list_excess_rights=_list_excess_rights,
    select_tables="""
    select '', name, type from pragma_table_list
    where schema = 'main' and type <> 'shadow' and substr(name, 1, 7) <> 'sqlite_' order by name
    """,
    select_columns="""
    select name, type, not "notnull" and not pk, dflt_value, pk > 0 from pragma_table_xinfo(?2)
    where hidden <> 1 and ?1 in ('', 'main') order by cid
    """,
    grammar="sqlite",
    is_hidden_relation=_is_hidden_relation,
    split_statement=_split_statement,
    correct_tree=_correct_tree,
    wide_format=re.compile(r"%[^a-zA-Z%]*(\*|\d{5,})"),
    calls_search_tables=True,
)
