"""SQLite: one child process (`sqlite_child.py`) for each query, so that a query can be killed at any time."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.sqlguard import CheckedStatement, allowed, system_relations
from commonplace.sqlguard.engines.rows import (
    MAX_CELL_CHARACTERS,
    MAX_RESULT_BYTES,
    QueryRows,
    database_unreachable,
    query_refused,
)
from commonplace.sqlguard.engines.target import QueryTarget

_CHILD_SCRIPT = Path(__file__).with_name("sqlite_child.py")
# The variables that Python needs to start; the child gets no others.
_CHILD_ENVIRONMENT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")


async def run_sqlite_query(
    database: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any] = ()
) -> QueryRows:
    request = {
        "path": str(_resolve_file(database)),
        "sql": checked.sql,
        "parameters": list(parameters),
        "functions": sorted(allowed.load_function_names("sqlite")),
        "pragmas": sorted(system_relations.PRAGMAS_WITH_ARGUMENT | system_relations.PRAGMAS_WITHOUT_ARGUMENT),
        "max_rows": max_rows,
        "max_cell": MAX_CELL_CHARACTERS,
        "max_bytes": MAX_RESULT_BYTES,
        "seconds": database.timeout_seconds,
    }
    reply = await _run_child(json.dumps(request).encode())
    if reply is None:
        raise errors.TooLarge(
            f"The query to '{database.name}' exceeded its memory or time.",
            hint="Narrow it with WHERE, or read fewer rows.",
        )
    if "refused" in reply:
        raise query_refused(database.name, reply["code"], reply["refused"])
    if "unreachable" in reply:
        raise database_unreachable(database.name)
    return QueryRows(max_rows, reply["columns"], reply["rows"], truncated=reply["truncated"])


async def list_excess_sqlite_rights(database: QueryTarget) -> list[str]:
    """None: the child opens the file read-only."""
    _resolve_file(database)
    return []


def _resolve_file(database: QueryTarget) -> Path:
    path = Path(database.database).expanduser().resolve()
    if not path.is_file():
        raise database_unreachable(database.name)
    return path


async def _run_child(request: bytes) -> Any:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-E",
        "-s",
        str(_CHILD_SCRIPT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _CHILD_ENVIRONMENT if name in os.environ},
    )
    try:
        output = await _exchange(child, request)
        await child.wait()
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await asyncio.shield(child.wait())
    return json.loads(output) if output and child.returncode == 0 else None


async def _exchange(child: asyncio.subprocess.Process, request: bytes) -> bytes:
    """Standard input stays open, because the child exits when it closes."""
    if child.stdin is None or child.stdout is None:
        return b""
    with contextlib.suppress(ConnectionError):
        child.stdin.write(request + b"\n")
        await child.stdin.drain()
    return await child.stdout.read()
