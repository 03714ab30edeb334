"""Run queries on one SQLite file, as a script of its own process. It must not import any part of Commonplace.

The first line on standard input names the file and what queries may use; each further line is a query, and each is
answered by one line of JSON. `sqlite_workers.py` starts and ends these processes.
"""

import contextlib
import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any

import apsw

_MAX_MEMORY_BYTES = 512 * 1024 * 1024
_MAX_KEPT_MEMORY_BYTES = 128 * 1024 * 1024
_MAX_QUERIES = 1_000
_MAX_IDLE_SECONDS = 60
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: 1_000_000,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 40_000,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 100,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    apsw.SQLITE_LIMIT_VDBE_OP: 100_000,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
}
_CONFIG = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    # A misspelt column in double quotes must be an error, not a string.
    apsw.SQLITE_DBCONFIG_DQS_DML: 0,
    apsw.SQLITE_DBCONFIG_DQS_DDL: 0,
    apsw.SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION: 0,
    apsw.SQLITE_DBCONFIG_WRITABLE_SCHEMA: 0,
}
_TABLE_FUNCTIONS = (
    "json_each('[]')",
    "json_tree('[]')",
    "pragma_table_info('')",
    "pragma_table_xinfo('')",
    "pragma_table_list",
    "pragma_index_list('')",
    "pragma_index_info('')",
    "pragma_index_xinfo('')",
    "pragma_foreign_key_list('')",
)


class WorkerState:
    """The open file, and how much this process has done."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self.setup = setup
        self.connection: apsw.Connection | None = None
        self.schema = ""
        self.queries = 0

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Run a query, unless the file has another schema than the one that its views were checked for."""
        try:
            schema = self._identify_schema()
            if self.connection is None or schema != self.schema:
                self.connection = _open_connection(self.setup["path"])
                self.schema = schema
            if request["schema"] != schema:
                return {"schema": schema} | _describe_schema(self.connection)
        except (apsw.Error, OSError):
            self.connection = None
            return {"unreachable": True}
        self.queries += 1
        _limit_cpu(int(request["seconds"]) + 1)
        reply = _run_query(self.connection, self.setup | request)
        return reply | {"is_last": self._is_last()}

    def _identify_schema(self) -> str:
        """Which file it is, and the number that SQLite raises with each change of the schema."""
        status = Path(self.setup["path"]).stat()
        if self.connection is not None:
            self.connection.authorizer = None
            version = _read_schema_version(self.connection)
        else:
            with contextlib.closing(_open_connection(self.setup["path"])) as connection:
                version = _read_schema_version(connection)
        return f"{status.st_dev}:{status.st_ino}:{version}"

    def _is_last(self) -> bool:
        return self.queries >= _MAX_QUERIES or _used_memory() > _MAX_KEPT_MEMORY_BYTES


def main() -> None:
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_read_requests, args=(lines,), daemon=True).start()
    _limit_memory()
    state = WorkerState(json.loads(lines.get()))
    while True:
        try:
            request = json.loads(lines.get(timeout=_MAX_IDLE_SECONDS))
        except queue.Empty:
            os._exit(0)
        sys.stdout.write(json.dumps(state.answer(request)) + "\n")
        sys.stdout.flush()


def _read_requests(lines: "queue.SimpleQueue[bytes]") -> None:
    """The pipe closes when the server ends, however it ends, also while a query runs."""
    for line in sys.stdin.buffer:
        lines.put(line)
    os._exit(1)


def _limit_memory() -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (_MAX_MEMORY_BYTES, _MAX_MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _limit_cpu(seconds: int) -> None:
    """Allow this query so many more seconds of CPU; the limit counts those of earlier queries too."""
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    used = int(time.process_time()) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (used + seconds, resource.RLIM_INFINITY))


def _used_memory() -> int:
    """The resident memory of this process, where the system tells it."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0


def _read_schema_version(connection: apsw.Connection) -> int:
    return int(connection.pragma("schema_version"))


def _describe_schema(connection: apsw.Connection) -> dict[str, Any]:
    """What the server must know before it lets a statement run: the views, and the tables of full-text search."""
    connection.authorizer = None
    views = connection.execute("select lower(name), sql from sqlite_master where type = 'view'").fetchall()
    searched = connection.execute(
        "select lower(name) from sqlite_master where type = 'table' and rootpage = 0 and lower(sql) like '%using fts5%'"
    ).fetchall()
    return {
        "views": {str(name): str(sql) for name, sql in views},
        "search_tables": [name for (name,) in searched],
    }


def _open_connection(path: str) -> apsw.Connection:
    address = "file:{}?mode=ro".format(path.replace("%", "%25").replace("?", "%3f").replace("#", "%23"))
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    for switch, value in _CONFIG.items():
        connection.config(switch, value)
    connection.set_busy_timeout(1000)
    connection.execute("pragma query_only = on")
    connection.execute("pragma temp_store = memory")
    _connect_virtual_tables(connection)
    for limit, value in _LIMITS.items():
        connection.limit(limit, value)
    return connection


def _connect_virtual_tables(connection: apsw.Connection) -> None:
    """Must run before the authorizer is set: connecting a virtual table first asks for writes to the schema."""
    virtual_tables = connection.execute(
        "select '\"' || replace(name, '\"', '\"\"') || '\"' from sqlite_master"
        " where type = 'table' and rootpage = 0 limit 100"
    )
    for table in [*_TABLE_FUNCTIONS, *(name for (name,) in virtual_tables)]:
        try:
            connection.execute(f"select 1 from {table} limit 0").fetchall()
        except apsw.Error:
            continue


def _run_query(connection: apsw.Connection, request: dict[str, Any]) -> dict[str, Any]:
    functions, pragmas = frozenset(request["functions"]), frozenset(request["pragmas"])

    def authorize(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
        reads = action in (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE)
        calls = action == apsw.SQLITE_FUNCTION and (second or "").lower() in functions
        looks = action == apsw.SQLITE_PRAGMA and (first or "").lower() in pragmas
        return apsw.SQLITE_OK if reads or calls or looks else apsw.SQLITE_DENY

    connection.authorizer = authorize
    try:
        return _read_rows(connection, request)
    except apsw.Error as refused:
        return {"refused": str(refused)[:500], "code": type(refused).__name__.removesuffix("Error")}
    except MemoryError:
        return {"refused": "the query exceeds its memory limit", "code": "NoMem"}
    finally:
        connection.authorizer = None


def _read_rows(connection: apsw.Connection, request: dict[str, Any]) -> dict[str, Any]:
    cursor = connection.cursor()
    columns: list[str] = []

    def trace_columns(tracing: apsw.Cursor, _: str, __: Any) -> bool:
        columns.extend(str(name) for name, *_ in tracing.get_description())
        return True

    cursor.exec_trace = trace_columns
    rows: list[list[Any]] = []
    size, truncated = 0, False
    for values in cursor.execute(request["sql"], request["parameters"]):
        if len(rows) >= request["max_rows"] or size >= request["max_bytes"]:
            truncated = True
            break
        row = [_truncate_cell(value, request["max_cell"]) for value in values]
        has_long_cell = any(isinstance(cell, str) and len(cell) > request["max_cell"] for cell in row)
        truncated = truncated or has_long_cell
        size += sum(len(cell) if isinstance(cell, str) else 4 for cell in row)
        rows.append(row)
    return {"columns": columns, "rows": rows, "truncated": truncated}


def _truncate_cell(value: Any, max_characters: int) -> Any:
    if isinstance(value, bytes):
        value = "0x" + value[: max_characters // 2].hex()
    if isinstance(value, str) and len(value) > max_characters:
        return value[:max_characters] + "…"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value


if __name__ == "__main__":
    main()
