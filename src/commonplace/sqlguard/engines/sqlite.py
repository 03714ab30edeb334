"""SQLite: a child process per query, which can be killed in the middle of anything."""

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from commonplace import errors
from commonplace.sqlguard import Checked, allowed, system_relations
from commonplace.sqlguard.engines.rows import MOST_BYTES, MOST_CELL, Rows, said_no, unreachable
from commonplace.sqlguard.engines.target import QueryTarget

_CHILD = Path(__file__).with_name("sqlite_child.py")
# What Python itself needs to start; the child has no other environment.
_KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")


async def ask(database: QueryTarget, checked: Checked, most: int, parameters: Sequence[Any] = ()) -> Rows:
    request = {
        "path": str(_file(database)),
        "sql": checked.sql,
        "parameters": list(parameters),
        "functions": sorted(allowed.functions("sqlite")),
        "pragmas": sorted(system_relations.PRAGMAS | system_relations.READABLE_PRAGMAS),
        "most_rows": most,
        "most_cell": MOST_CELL,
        "most_bytes": MOST_BYTES,
        "seconds": database.timeout,
    }
    answer = await _answered(json.dumps(request).encode())
    if answer is None:
        raise errors.TooLarge(f"'{database.name}' ran out of its memory or time.", hint="Ask for less.")
    if "refused" in answer:
        raise said_no(database.name, answer["code"], answer["refused"])
    if "unreachable" in answer:
        raise unreachable(database.name)
    return Rows(most, answer["columns"], answer["rows"], truncated=answer["truncated"])


async def rights(database: QueryTarget) -> list[str]:
    """The child opens the file for reading only, so there is nothing more to ask."""
    _file(database)
    return []


def _file(database: QueryTarget) -> Path:
    path = Path(database.database).expanduser().resolve()
    if not path.is_file():
        raise unreachable(database.name)
    return path


async def _answered(request: bytes) -> Any:
    child = await asyncio.create_subprocess_exec(
        sys.executable,
        "-E",
        "-s",
        str(_CHILD),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: os.environ[name] for name in _KEPT if name in os.environ},
    )
    try:
        said = await _spoken(child, request)
        await child.wait()
    finally:
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await asyncio.shield(child.wait())
    return json.loads(said) if said and child.returncode == 0 else None


async def _spoken(child: asyncio.subprocess.Process, request: bytes) -> bytes:
    """Its standard input stays open: the child ends when that does."""
    if child.stdin is None or child.stdout is None:
        return b""
    with contextlib.suppress(ConnectionError):
        child.stdin.write(request + b"\n")
        await child.stdin.drain()
    return await child.stdout.read()
