"""The guard of memory_db: every shared case comes out right, alone and against real databases."""

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
import pymysql
import pytest

from commonplace import errors
from commonplace.rooms.databases import guard
from commonplace.rooms.databases.config import Registered
from commonplace.rooms.databases.desk import Desk
from guarded import (
    BY_CATALOGUE,
    CASES,
    HERE,
    Address,
    cases,
    connect_mysql,
    mysql_server,
    write_postgres,
    write_sqlite,
)
from house import create_database

ALLOWED = [case for case in CASES if case["allow"]]
REFUSED = [case for case in CASES if not case["allow"] and case["sql"] not in BY_CATALOGUE]


def _named(case: dict[str, Any]) -> str:
    return f"{case['dialect']}-{case['why'][:50]}"


@pytest.mark.parametrize("case", ALLOWED, ids=_named)
def test_guard_lets_a_legitimate_read_through(case: dict[str, Any]):
    assert guard.check(case["dialect"], case["sql"]).sql


@pytest.mark.parametrize("case", REFUSED, ids=_named)
def test_guard_refuses_what_would_act_before_any_connection(case: dict[str, Any]):
    with pytest.raises(errors.Refusal) as refused:
        guard.check(case["dialect"], case["sql"])
    assert refused.value.code in ("forbidden", "invalid", "too_large")


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgresql", "SELECT ('/etc/passwd'::text).pg_read_file"),
        ("postgresql", "SELECT pg_catalog.pg_read_file('/etc/passwd')"),
        ("postgresql", "SELECT current_setting('data_directory')"),
        ("postgresql", "SHOW ALL"),
        ("postgresql", "SELECT repeat('x', 1000 * 1000 * 1000)"),
        ("postgresql", "SELECT count(*) FROM generate_series(1, 10000000000)"),
        ("postgresql", "SELECT * FROM pg_stat_activity"),
        ("postgresql", "SELECT * FROM pg_temp.x"),
        ("postgresql", "SELECT nextval('orders_id_seq')"),
        ("postgresql", "SELECT $1"),
        ("postgresql", "SELECT 1\u2028;"),
        ("postgresql", "SELECT 1 --\rDELETE FROM audit"),
        ("sqlite", 'SELECT "load_extension"(1)'),
        ("sqlite", "SELECT readfile('/etc/passwd')"),
        ("sqlite", "SELECT printf('%.*c', 900000000, 'x')"),
        ("sqlite", "EXPLAIN DELETE FROM audit"),
        ("sqlite", "PRAGMA database_list"),
        ("sqlite", "PRAGMA user_version(3)"),
        ("sqlite", "SELECT * FROM sqlite_dbpage"),
        ("sqlite", "\ufeffSELECT 1"),
        ("mysql", "SELECT SLEEP(5)"),
        ("mysql", "SELECT `sleep`(5)"),
        ("mysql", "SELECT shop.wipe()"),
        ("mysql", "SELECT /*+ MAX_EXECUTION_TIME(0) */ 1"),
        ("mysql", "SELECT LAST_INSERT_ID(5)"),
        ("mysql", "SELECT @@secure_file_priv"),
        ("mysql", "EXPLAIN DELETE FROM users"),
        ("mysql", "SELECT * FROM MySQL.User"),
        ("mssql", "SELECT 1 SHUTDOWN"),
        ("mssql", "SELECT NEXT VALUE FOR s"),
        ("mssql", "SELECT [xp_cmdshell]('dir')"),
        ("mssql", "SELECT * FROM master..sysprocesses"),
        ("mssql", "SELECT * FROM sys.sql_logins"),
        ("mssql", "SELECT @x = 1"),
        ("mssql", "SELECT * FROM users WITH (UPDLOCK)"),
    ],
)
def test_guard_refuses_other_spellings(dialect: Any, sql: str):
    with pytest.raises(errors.Forbidden):
        guard.check(dialect, sql)


def test_guard_sends_what_it_read_and_not_what_came_in():
    assert [
        guard.check("mssql", "SELECT 1 AS [DELETE] -- x\nFROM audit").sql,
        guard.check("sqlite", "/* x */ select A.[id] from Users a, audit b where a.id = b.id;").sql,
        guard.check("mysql", 'SELECT "a\\"b", name FROM users WHERE name REGEXP \'x\' # x').sql,
        guard.check("postgresql", 'SELECT "a b", $$it\'s$$ FROM t -- x').sql,
    ] == [
        "SELECT 1 AS [DELETE] FROM [audit]",
        'SELECT "A"."id" FROM "Users" AS "a" INNER JOIN "audit" AS "b" WHERE "a"."id" = "b"."id"',
        "SELECT 'a\"b', `name` FROM `users` WHERE `name` REGEXP 'x'",
        "SELECT \"a b\", 'it''s' FROM t",
    ]


@pytest.mark.parametrize("dialect", ["postgresql", "sqlite", "mysql", "mssql"])
@pytest.mark.parametrize(
    "sql", ["", "SELECT (", "(" * 5000, "SELECT " + "(" * 3000 + "1" + ")" * 3000, "\x00", "SELECT 'x"]
)
def test_guard_survives_broken_texts(dialect: Any, sql: str):
    # PostgreSQL's own grammar reads any depth of plain parentheses as nothing at all.
    with contextlib.suppress(errors.Refusal):
        assert guard.check(dialect, sql).sql == "SELECT 1"


def _registered(address: Address, **more: Any) -> Registered:
    return Registered(
        "guard",
        address.dialect,
        address.database,
        address.host,
        address.port,
        address.user,
        address.password,
        **more,
    )


async def _outcomes(address: Address) -> dict[str, bool]:
    """For each case, whether it ran."""
    desk = Desk(_registered(address, timeout=10))
    ran: dict[str, bool] = {}
    for case in CASES:
        if case["dialect"] == address.dialect:
            try:
                await desk.ask("tester", guard.check(address.dialect, case["sql"]), 100)
                ran[case["sql"]] = True
            except errors.Refusal:
                ran[case["sql"]] = False
    return ran


def _expected(dialect: str) -> dict[str, bool]:
    return {case["sql"]: case["allow"] for case in CASES if case["dialect"] == dialect}


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
def sqlite_address(tmp_path: Path) -> Address:
    return write_sqlite(tmp_path / "guard.db")


async def test_query_of_sqlite_runs_every_legitimate_case_and_no_other(sqlite_address: Address):
    before = hashlib.sha256(Path(sqlite_address.database).read_bytes()).hexdigest()
    assert await _outcomes(sqlite_address) == _expected("sqlite")
    assert hashlib.sha256(Path(sqlite_address.database).read_bytes()).hexdigest() == before


def test_refused_sqlite_statements_would_have_done_harm(sqlite_address: Address, tmp_path: Path):
    harmless = []
    for number, sql in enumerate(cases("sqlite", allow=False)):
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
    connection = apsw.Connection(str(folder / "guard.db"))
    connection.create_scalar_function("send_mail", lambda text: called.append(text))
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
async def postgres_addresses(postgres_server: str) -> AsyncIterator[tuple[str, Address, Address]]:
    async with create_database(postgres_server) as dsn:
        reader, owner = await write_postgres(dsn)
        yield dsn, reader, owner


async def test_query_of_postgresql_runs_every_legitimate_case_and_no_other(
    postgres_addresses: tuple[str, Address, Address],
):
    dsn, reader, owner = postgres_addresses
    before = await _postgres_state(dsn)
    assert await _outcomes(reader) == _expected("postgresql")
    assert await _outcomes(owner) == _expected("postgresql")
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
    postgres_addresses: tuple[str, Address, Address], sql: str, runs: bool
):
    desk = Desk(_registered(postgres_addresses[1]))
    try:
        await desk.ask("tester", guard.check("postgresql", sql), 100)
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
    "SET ROLE app_owner",
)


async def test_refused_postgresql_statements_would_have_done_harm(
    postgres_addresses: tuple[str, Address, Address],
):
    dsn = postgres_addresses[0]
    assert set(_POSTGRES_PROVEN) <= set(cases("postgresql", allow=False))
    harmless = [sql for sql in _POSTGRES_PROVEN if not await _harms_postgres(dsn, sql)]
    assert harmless == []


async def _harms_postgres(dsn: str, sql: str) -> bool:
    connection = await asyncpg.connect(dsn, server_settings={"statement_timeout": "5000"})
    try:
        before = await _state(connection)
        await connection.execute(sql)
        after = await _state(connection)
        await connection.execute("reset role")
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
        return await _state(connection)
    finally:
        await connection.close()


async def _state(connection: Any) -> object:
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
def mysql_address() -> Iterator[tuple[str, Address]]:
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
        yield dsn, Address(*at, "guard_reader", "guard")


async def test_query_of_mysql_runs_every_legitimate_case_and_no_other(mysql_address: tuple[str, Address]):
    dsn, reader = mysql_address
    assert await _outcomes(reader) == _expected("mysql")
    owner = Address("mysql", "guard_test", reader.host, reader.port, unquote(urlsplit(dsn).username or ""))
    owner.password = unquote(urlsplit(dsn).password or "")
    assert await _outcomes(owner) == _expected("mysql")
    with connect_mysql(dsn, database="guard_test") as connection, connection.cursor() as cursor:
        cursor.execute("select group_concat(msg) from audit")
        assert cursor.fetchone() == ("start,b",)


async def test_login_of_mysql_with_more_rights_than_reading_is_known_as_unsafe(
    mysql_address: tuple[str, Address],
):
    dsn, reader = mysql_address
    owner = Address("mysql", "guard_test", reader.host, reader.port, unquote(urlsplit(dsn).username or ""))
    owner.password = unquote(urlsplit(dsn).password or "")
    assert (await Desk(_registered(reader)).look()).unsafe == ()
    assert "may all privileges" in (await Desk(_registered(owner)).look()).unsafe


async def test_query_of_mysql_is_killed_at_its_timeout(mysql_address: tuple[str, Address]):
    dsn, reader = mysql_address
    desk = Desk(_registered(reader, timeout=0.5))
    slow = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<1000) SELECT COUNT(*) FROM n a, n b, n c"
    with pytest.raises(errors.TooLarge):
        await desk.ask("tester", guard.check("mysql", slow), 10)
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
    address = Address(*at, unquote(parts.username or ""), unquote(parts.password or ""))
    assert await _outcomes(address) == _expected("mssql")
