"""Runs one query on one SQLite file and nothing else. Started as a script: it imports no part of Commonplace."""

import json
import os
import sys
import threading
from typing import Any

import apsw

_MEMORY = 512 * 1024 * 1024
_LIMITS = {
    apsw.SQLITE_LIMIT_LENGTH: 1_000_000,
    apsw.SQLITE_LIMIT_SQL_LENGTH: 40_000,
    apsw.SQLITE_LIMIT_ATTACHED: 0,
    apsw.SQLITE_LIMIT_EXPR_DEPTH: 100,
    apsw.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    apsw.SQLITE_LIMIT_VDBE_OP: 100_000,
    apsw.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
}
_SWITCHES = {
    apsw.SQLITE_DBCONFIG_DEFENSIVE: 1,
    apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA: 0,
    # "name" is a name: a misspelt column must not become a text.
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


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _bound(int(request["seconds"]) + 1)
    try:
        connection = _opened(request["path"])
    except apsw.Error:
        answer: dict[str, Any] = {"unreachable": True}
    else:
        answer = _answer(connection, request)
    json.dump(answer, sys.stdout)
    sys.stdout.flush()
    os._exit(0)


def _end_with_parent() -> None:
    """Its end of the pipe closes when the server ends, however it ends."""
    while os.read(0, 1):
        pass
    os._exit(1)


def _bound(seconds: int) -> None:
    if sys.platform == "win32":
        return
    import resource  # noqa: PLC0415 - not on Windows

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _opened(path: str) -> apsw.Connection:
    address = "file:{}?mode=ro".format(path.replace("%", "%25").replace("?", "%3f").replace("#", "%23"))
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    for switch, value in _SWITCHES.items():
        connection.config(switch, value)
    connection.set_busy_timeout(1000)
    connection.execute("pragma query_only = on")
    connection.execute("pragma temp_store = memory")
    _connect_virtual_tables(connection)
    for limit, value in _LIMITS.items():
        connection.limit(limit, value)
    return connection


def _connect_virtual_tables(connection: apsw.Connection) -> None:
    """Before the authorizer stands: a virtual table asks for writes to the schema when it is first connected."""
    found = connection.execute(
        "select '\"' || replace(name, '\"', '\"\"') || '\"' from sqlite_master"
        " where type = 'table' and rootpage = 0 limit 100"
    )
    for table in [*_TABLE_FUNCTIONS, *(name for (name,) in found)]:
        try:
            connection.execute(f"select 1 from {table} limit 0").fetchall()
        except apsw.Error:
            continue


def _answer(connection: apsw.Connection, request: dict[str, Any]) -> dict[str, Any]:
    functions, pragmas = frozenset(request["functions"]), frozenset(request["pragmas"])

    def authorizer(action: int, first: str | None, second: str | None, _: str | None, __: str | None) -> int:
        reads = action in (apsw.SQLITE_SELECT, apsw.SQLITE_READ, apsw.SQLITE_RECURSIVE)
        calls = action == apsw.SQLITE_FUNCTION and (second or "").lower() in functions
        looks = action == apsw.SQLITE_PRAGMA and (first or "").lower() in pragmas
        return apsw.SQLITE_OK if reads or calls or looks else apsw.SQLITE_DENY

    connection.authorizer = authorizer
    try:
        return _read(connection, request)
    except apsw.Error as refused:
        return {"refused": str(refused)[:500], "code": type(refused).__name__.removesuffix("Error")}
    except MemoryError:
        return {"refused": "the query needs more memory than it may have", "code": "NoMem"}


def _read(connection: apsw.Connection, request: dict[str, Any]) -> dict[str, Any]:
    cursor = connection.cursor()
    columns: list[str] = []

    def first(tracing: apsw.Cursor, _: str, __: Any) -> bool:
        columns.extend(str(name) for name, *_ in tracing.get_description())
        return True

    cursor.exec_trace = first
    rows: list[list[Any]] = []
    size, truncated = 0, False
    for values in cursor.execute(request["sql"], request["parameters"]):
        if len(rows) >= request["most_rows"] or size >= request["most_bytes"]:
            truncated = True
            break
        row = [_cell(value, request["most_cell"]) for value in values]
        cut = any(isinstance(each, str) and len(each) > request["most_cell"] for each in row)
        truncated = truncated or cut
        size += sum(len(each) if isinstance(each, str) else 4 for each in row)
        rows.append(row)
    return {"columns": columns, "rows": rows, "truncated": truncated}


def _cell(value: Any, longest: int) -> Any:
    if isinstance(value, bytes):
        value = "0x" + value[: longest // 2].hex()
    if isinstance(value, str) and len(value) > longest:
        return value[:longest] + "…"
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        return str(value)
    return value


if __name__ == "__main__":
    main()
