"""Databases for tests of memory_db: the shared cases of the SQL guard, their tables and their logins."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import apsw
import asyncpg
import pymysql
import pytest

from commonplace import errors, sqlguard
from commonplace.rooms.databases import store
from commonplace.rooms.databases.query_limits import QueryLimiter, query_limiter
from commonplace.rooms.databases.store import RegisteredDatabase
from patience import PATIENCE_SECONDS

HERE = Path(__file__).parent
CASES: list[dict[str, Any]] = json.loads((HERE / "sql_guard_cases.json").read_text())
# Only the catalog or the rights of the database can refuse these.
REFUSED_BY_CATALOG = frozenset(
    {
        "SELECT wipe_users()",
        "SELECT * FROM wipe_users()",
        "SELECT * FROM v_wipe",
        "SELECT (true)::boxed",
        "SELECT * FROM audit WHERE 1 OPERATOR(public.==>) 2 = 1",
    }
)


def list_cases(dialect: str, *, allow: bool) -> list[str]:
    return [case["sql"] for case in CASES if case["dialect"] == dialect and case["allow"] is allow]


@dataclass
class DatabaseAddress:
    """Address and login of a database, as an operator sets them in the environment."""

    dialect: str
    database: str
    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""

    def build_environment(self, name: str, **more: str) -> dict[str, str]:
        parts = {
            "TYPE": self.dialect,
            "NAME": self.database,
            "HOST": self.host,
            "PORT": str(self.port or ""),
            "USER": self.user,
            "PASS": self.password,
        }
        return {f"DB_{name}_{part}": value for part, value in (parts | more).items() if value}


def clear_registered_databases() -> None:
    store.load_registered_databases.cache_clear()
    query_limiter.cache_clear()


async def refusal_code_of(call: Awaitable[Any]) -> str:
    """The code of the refusal that the call raises."""
    with pytest.raises(errors.Refusal) as refusal:
        await call
    return refusal.value.code


def write_sqlite(path: Path) -> DatabaseAddress:
    connection = apsw.Connection(str(path))
    connection.execute((HERE / "sql_guard_sqlite.sql").read_text()).fetchall()
    connection.close()
    return DatabaseAddress("sqlite", str(path))


async def write_postgres(dsn: str) -> tuple[DatabaseAddress, DatabaseAddress]:
    """Create the tables; return the addresses of the read-only login and of the owner."""
    password = secrets.token_hex(8)
    connection = await asyncpg.connect(dsn)
    try:
        for role in ("ro_user", "app_owner"):
            if not await connection.fetchval("select 1 from pg_roles where rolname = $1", role):
                await connection.execute(f"create role {role} login")
        await connection.execute(f"alter role ro_user password '{password}'")
        await connection.execute((HERE / "sql_guard_postgresql.sql").read_text())
    finally:
        await connection.close()
    parts = urlsplit(dsn)
    host = unquote(parts.hostname or "") or parse_qs(parts.query)["host"][0]
    at = ("postgresql", parts.path.lstrip("/"), host, parts.port or 5432)
    return DatabaseAddress(*at, "ro_user", password), DatabaseAddress(
        *at, parts.username or "", parts.password or ""
    )


@contextmanager
def mysql_server() -> Iterator[str | None]:
    """The DSN of TEST_MYSQL_DSN, or of a server started here if MariaDB is installed."""
    if dsn := os.environ.get("TEST_MYSQL_DSN"):
        yield dsn
        return
    if not (shutil.which("mariadbd") and shutil.which("mariadb-install-db")):
        yield None
        return
    folder = Path(tempfile.mkdtemp(prefix="commonplace-mariadb-"))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    account = ["--user=root"] if os.geteuid() == 0 else []
    subprocess.run(
        [
            *("mariadb-install-db", "--no-defaults", f"--datadir={folder}", "--skip-test-db", *account),
            "--auth-root-authentication-method=normal",
        ],
        check=True,
        capture_output=True,
        timeout=PATIENCE_SECONDS,
    )
    server = subprocess.Popen(
        [
            *("mariadbd", "--no-defaults", f"--datadir={folder}", f"--socket={folder}/socket", *account),
            *("--bind-address=127.0.0.1", f"--port={port}"),
        ],
        stderr=subprocess.DEVNULL,
    )
    try:
        yield f"mysql://root:@127.0.0.1:{port}/"
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def connect_mysql(dsn: str, **more: Any) -> Any:
    parts = urlsplit(dsn)
    ends = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < ends:
        try:
            return pymysql.connect(
                host=parts.hostname,
                port=parts.port or 3306,
                user=unquote(parts.username or ""),
                password=unquote(parts.password or ""),
                autocommit=True,
                **more,
            )
        except pymysql.OperationalError:
            time.sleep(0.1)  # the server is starting; nothing tells when it listens
    raise TimeoutError(dsn)


def build_registered_database(address: DatabaseAddress, **more: Any) -> RegisteredDatabase:
    return RegisteredDatabase(
        "guard",
        address.dialect,
        address.database,
        address.host,
        address.port,
        address.user,
        address.password,
        **more,
    )


async def run_all_cases(address: DatabaseAddress) -> dict[str, bool]:
    """For each case, whether it was run."""
    limiter = QueryLimiter(build_registered_database(address, timeout_seconds=PATIENCE_SECONDS))
    ran: dict[str, bool] = {}
    for case in CASES:
        if case["dialect"] == address.dialect:
            try:
                await limiter.run_query("tester", sqlguard.check_statement(address.dialect, case["sql"]), 100)
                ran[case["sql"]] = True
            except errors.Refusal:
                ran[case["sql"]] = False
    return ran


def list_expected_outcomes(dialect: str) -> dict[str, bool]:
    return {case["sql"]: case["allow"] for case in CASES if case["dialect"] == dialect}
