"""The shared cases of the SQL guard against real databases; refused statements would have had an effect there."""

import contextlib
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import apsw
import asyncpg
import pytest
from guarded_databases import (
    HERE,
    DatabaseAddress,
    build_registered_database,
    connect_mysql,
    list_cases,
    list_expected_outcomes,
    mysql_server,
    run_all_cases,
    write_postgres,
    write_sqlite,
)

from commonplace import errors, sqlguard
from commonplace.rooms.databases.query_limits import QueryLimiter
from team import create_database

pytestmark = pytest.mark.processes

# --- SQLite, for real ---------------------------------------------------------------------------------------------

# These harm by time or memory, or need what a plain connection of a test lacks (a native library, a second database).
_SQLITE_UNPROVEN = frozenset(
    {
        "DETACH aux1",
        "PRAGMA writable_schema=RESET",
        "PRAGMA journal_mode=DELETE",
        "SELECT load_extension('/tmp/guard-drop/evil.so')",
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT x FROM c",
        "SELECT count(*) FROM users a, users b, users c, users d, users e, users f",
        "SELECT zeroblob(900000000)",
        "SELECT hex(zeroblob(400000000))",
        "SELECT group_concat(hex(randomblob(1000)),'') FROM users a, users b, users c",
        "SELECT instr(hex(zeroblob(900000)),hex(zeroblob(400000))||'1')",
    }
)
_SQLITE_STATE = (
    *("query_only", "foreign_keys", "synchronous", "temp_store", "journal_mode", "application_id"),
    *("schema_version", "soft_heap_limit", "writable_schema"),
)


@pytest.fixture
def sqlite_address(tmp_path: Path) -> DatabaseAddress:
    return write_sqlite(tmp_path / "guard.db")


async def test_query_of_sqlite_runs_every_legitimate_case_and_no_other(sqlite_address: DatabaseAddress):
    before = _hash_file(sqlite_address.database)
    assert await run_all_cases(sqlite_address) == list_expected_outcomes("sqlite")
    assert _hash_file(sqlite_address.database) == before


def _hash_file(path: str) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def test_refused_sqlite_statements_would_have_done_harm(sqlite_address: DatabaseAddress, tmp_path: Path):
    harmless = []
    for number, sql in enumerate(list_cases("sqlite", allow=False)):
        if sql not in _SQLITE_UNPROVEN:
            folder = tmp_path / str(number)
            folder.mkdir()
            shutil.copy(sqlite_address.database, folder / "guard.db")
            if not _harms_sqlite(folder, sql):
                harmless.append(sql)
    assert harmless == []


def _harms_sqlite(folder: Path, sql: str) -> bool:
    """Run it as a careless server would; did anything change, appear, or leak?"""
    called: list[str] = []
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(str(folder / "guard.db"), flags=flags)
    connection.create_scalar_function("send_mail", called.append)
    before = _sqlite_state(connection, folder)
    shown = ""
    with contextlib.suppress(apsw.Error):
        shown = str(connection.execute(sql.replace("/tmp/guard-drop", str(folder))).fetchall())
    after = _sqlite_state(connection, folder)
    connection.close()
    return after != before or bool(called) or str(folder) in shown


def _sqlite_state(connection: apsw.Connection, folder: Path) -> object:
    tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
    return (
        [connection.execute(f"pragma {name}").fetchall() for name in _SQLITE_STATE],
        connection.execute("select * from sqlite_master").fetchall(),
        connection.execute("select * from sqlite_temp_master").fetchall(),
        [connection.execute(f'select * from "{name}"').fetchall() for name in tables],
        connection.txn_state(),
        sorted(path.name for path in folder.iterdir() if not path.name.startswith("guard.db")),
    )


# --- PostgreSQL, for real -----------------------------------------------------------------------------------------


@pytest.fixture
async def postgres_addresses(
    postgres_server: str,
) -> AsyncIterator[tuple[str, DatabaseAddress, DatabaseAddress]]:
    async with create_database(postgres_server) as dsn:
        reader, owner = await write_postgres(dsn)
        yield dsn, reader, owner


async def test_query_of_postgresql_runs_every_legitimate_case_and_no_other(
    postgres_addresses: tuple[str, DatabaseAddress, DatabaseAddress],
):
    dsn, reader, owner = postgres_addresses
    before = await _postgres_state(dsn)
    assert await run_all_cases(reader) == list_expected_outcomes("postgresql")
    assert await run_all_cases(owner) == list_expected_outcomes("postgresql")
    assert await _postgres_state(dsn) == before


@pytest.mark.parametrize(
    ("sql", "runs"),
    [
        ("SELECT name FROM v_names WHERE name = 'USER1'", True),
        ("SELECT * FROM v_nested", False),
        ("SELECT u.wipe_row FROM users u", False),
        ("SELECT (u).wipe_row FROM users u", False),
        ("SELECT (u).name FROM users u", True),
        ("SELECT * FROM f_users", False),
        ("SELECT 1 ==> 2", False),
        ("SELECT 'sad'::mood", True),
        ("SELECT * FROM crosstab('select 1, 2, 3') AS (a int, b int)", False),
        ("SELECT public.add_tax(1)", True),
        ("SELECT lower(name) FROM users", True),
        ("SHOW server_version", True),
    ],
)
async def test_query_of_postgresql_asks_the_catalogue_what_names_run(
    postgres_addresses: tuple[str, DatabaseAddress, DatabaseAddress], sql: str, runs: bool
):
    limiter = QueryLimiter(build_registered_database(postgres_addresses[1]))
    try:
        await limiter.run_query("tester", sqlguard.check_statement("postgresql", sql), 100)
        ran = True
    except errors.Forbidden:
        ran = False
    assert ran is runs


# Each is run by a superuser without a guard, and changes what is looked at here.
_POSTGRES_PROVEN = (
    "CREATE TABLE pwn AS SELECT 1 AS a",
    "SELECT * INTO pwn FROM users",
    "WITH d AS (DELETE FROM audit RETURNING *) SELECT * FROM d",
    "EXPLAIN/**/ANALYZE/**/DELETE/**/FROM/**/audit",
    "SELECT 1; COMMIT; DROP SCHEMA victim CASCADE",
    "SELECT '\\'; DELETE FROM audit; --'",
    "SELECT $a$ $b$ ; $a$; DELETE FROM audit; -- $b$",
    "SELECT set_config('statement_timeout','0',false)",
    "SELECT lo_create(7001)",
    "SELECT lo_put(4242, 0, 'EVIL')",
    "SELECT lo_unlink(4242)",
    "SELECT pg_advisory_lock(42)",
    "SELECT wipe_users()",
    "SELECT * FROM v_wipe",
    "SELECT (true)::boxed",
    "SELECT * FROM audit WHERE 1 OPERATOR(public.==>) 2 = 1",
    "DO $$ BEGIN DELETE FROM audit; END $$",
    "CREATE VIEW evil AS SELECT 1 AS a",
    "PREPARE p AS SELECT 1",
)


async def test_refused_postgresql_statements_would_have_done_harm(
    postgres_addresses: tuple[str, DatabaseAddress, DatabaseAddress],
):
    dsn = postgres_addresses[0]
    assert set(_POSTGRES_PROVEN) <= set(list_cases("postgresql", allow=False))
    harmless = [sql for sql in _POSTGRES_PROVEN if not await _harms_postgres(dsn, sql)]
    assert harmless == []


async def _harms_postgres(dsn: str, sql: str) -> bool:
    connection = await asyncpg.connect(dsn, server_settings={"statement_timeout": "5000"})
    try:
        before = await _read_state(connection)
        await connection.execute(sql)
        after = await _read_state(connection)
        await connection.execute(
            "drop table if exists pwn; drop view if exists evil; create schema if not exists victim;"
            " delete from audit; insert into audit values (1, 'start'); deallocate all;"
            " select lo_unlink(oid) from pg_largeobject_metadata; select lo_from_bytea(4242, 'hello')"
        )
    finally:
        await connection.close()
    return before != after


async def _postgres_state(dsn: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await _read_state(connection)
    finally:
        await connection.close()


async def _read_state(connection: Any) -> object:
    row = await connection.fetchrow(
        "select (select count(*) from pg_class), (select count(*) from pg_proc), (select count(*) from pg_roles),"
        " (select count(*) from pg_namespace), (select string_agg(msg, ',') from audit), (select count(*) from users),"
        " (select string_agg(encode(lo_get(oid), 'hex'), ',') from pg_largeobject_metadata),"
        " (select count(*) from pg_locks where locktype = 'advisory'), current_setting('statement_timeout'),"
        " (select count(*) from pg_prepared_statements where from_sql), current_user"
    )
    return tuple(row)


# --- MySQL and SQL Server, where there is one ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def mysql_address() -> Iterator[tuple[str, DatabaseAddress]]:
    with mysql_server() as dsn:
        if dsn is None:
            pytest.skip("no MariaDB: install mariadb-server-core and -client-core, or set TEST_MYSQL_DSN")
        connection = connect_mysql(dsn)
        with connection.cursor() as cursor:
            cursor.execute("drop database if exists guard_test")
            cursor.execute("create database guard_test")
            cursor.execute("create or replace user guard_reader identified by 'guard'")
            cursor.execute("grant select on guard_test.* to guard_reader")
            connection.select_db("guard_test")
            for statement in (HERE / "sql_guard_mysql.sql").read_text().split(";\n"):
                if statement.strip():
                    cursor.execute(statement)
        parts = urlsplit(dsn)
        at = ("mysql", "guard_test", parts.hostname or "", parts.port or 3306)
        yield dsn, DatabaseAddress(*at, "guard_reader", "guard")


async def test_query_of_mysql_runs_every_legitimate_case_and_no_other(
    mysql_address: tuple[str, DatabaseAddress],
):
    dsn, reader = mysql_address
    assert await run_all_cases(reader) == list_expected_outcomes("mysql")
    owner = DatabaseAddress(
        "mysql", "guard_test", reader.host, reader.port, unquote(urlsplit(dsn).username or "")
    )
    owner.password = unquote(urlsplit(dsn).password or "")
    assert await run_all_cases(owner) == list_expected_outcomes("mysql")
    with connect_mysql(dsn, database="guard_test") as connection, connection.cursor() as cursor:
        cursor.execute("select group_concat(msg) from audit")
        assert cursor.fetchone() == ("start,b",)


async def test_login_of_mysql_with_more_rights_than_reading_is_known_as_unsafe(
    mysql_address: tuple[str, DatabaseAddress],
):
    dsn, reader = mysql_address
    owner = DatabaseAddress(
        "mysql", "guard_test", reader.host, reader.port, unquote(urlsplit(dsn).username or "")
    )
    owner.password = unquote(urlsplit(dsn).password or "")
    assert (await QueryLimiter(build_registered_database(reader)).check_login()).unsafe == ()
    assert "may all privileges" in (await QueryLimiter(build_registered_database(owner)).check_login()).unsafe


async def test_query_of_mysql_is_killed_at_its_timeout(mysql_address: tuple[str, DatabaseAddress]):
    dsn, reader = mysql_address
    limiter = QueryLimiter(build_registered_database(reader, timeout_seconds=0.5))
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000) SELECT COUNT(*) FROM n a, n b, n c"
    with pytest.raises(errors.TooLarge):
        await limiter.run_query("tester", sqlguard.check_statement("mysql", slow), 10)
    with connect_mysql(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(
            "select count(*) from information_schema.processlist where info like '%RECURSIVE%COUNT%' and id <> connection_id()"
        )
        assert cursor.fetchone() == (0,)


async def test_query_of_mssql_runs_every_legitimate_case_and_no_other():
    dsn = os.environ.get("TEST_MSSQL_DSN")
    if dsn is None:
        pytest.skip(
            "no SQL Server: set TEST_MSSQL_DSN=mssql://user:password@host:port/database with users and audit"
        )
    parts = urlsplit(dsn)
    at = ("mssql", parts.path.lstrip("/"), parts.hostname or "", parts.port or 1433)
    address = DatabaseAddress(*at, unquote(parts.username or ""), unquote(parts.password or ""))
    assert await run_all_cases(address) == list_expected_outcomes("mssql")
