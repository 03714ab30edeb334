"""The queries that people send every day run, on every engine that is here; attacks through views and types do not."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import apsw
import asyncpg
import pytest
from everyday_queries import list_everyday_queries, list_setup_statements
from guarded_databases import (
    DatabaseAddress,
    build_registered_database,
    connect_mysql,
    mysql_server,
    write_postgres,
)

from commonplace import errors, sqlguard
from commonplace.rooms.databases.query_limits import QueryLimiter
from commonplace.sqlguard.dialect import check_view
from commonplace.sqlguard.mysql import MYSQL
from commonplace.sqlguard.sqlite import WORKERS
from patience import PATIENCE_SECONDS
from team import create_database

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def shop_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shop") / "shop.db"
    connection = apsw.Connection(str(path))
    for statement in list_setup_statements("sqlite"):
        connection.execute(statement).fetchall()
    connection.execute("create view slow as select printf('%.*c', 900000000, 'x') as x")
    connection.execute(
        "create view endless as with recursive n(i) as (select 1 union all select i from n) select i from n"
    )
    connection.execute("create view outer_slow as select x from slow")
    connection.close()
    return path


def open_sqlite(path: Path) -> QueryLimiter:
    address = DatabaseAddress("sqlite", str(path))
    return QueryLimiter(build_registered_database(address, timeout_seconds=PATIENCE_SECONDS))


@pytest.fixture(scope="module")
async def shop_postgres(postgres_server: str) -> AsyncIterator[QueryLimiter]:
    async with create_database(postgres_server) as dsn:
        reader, _ = await write_postgres(dsn)
        connection = await asyncpg.connect(dsn)
        await connection.execute("drop table orders, users cascade; drop schema victim cascade")
        for statement in list_setup_statements("postgresql"):
            await connection.execute(statement)
        for statement in _POSTGRES_TRAPS:
            await connection.execute(statement)
        await connection.execute("grant select on all tables in schema public to ro_user")
        await connection.close()
        yield QueryLimiter(build_registered_database(reader, timeout_seconds=PATIENCE_SECONDS))


_POSTGRES_TRAPS = (
    "create function trap(text) returns boolean language sql volatile as $$ select pg_sleep(0) is not null $$",
    "create domain trapped as text check (trap(value))",
    "create domain sleeping as text check (pg_sleep(5) is not null)",
    "create domain short_text as text check (length(value) < 10)",
    "create type weight as (grams int)",
    "create function compare_weights(weight, weight) returns boolean language sql volatile as $$ select true $$",
    "create operator = (leftarg = weight, rightarg = weight, function = compare_weights)",
    "create table parcels (id int, w weight)",
    "create type colour as (name text)",
    "create function colour_to_text(colour) returns text language sql volatile as $$ select 'x' $$",
    "create cast (colour as text) with function colour_to_text(colour) as implicit",
    "create table paints (id int, c colour)",
    "create table guarded (id int)",
    "alter table guarded enable row level security",
    "create policy watched on guarded using (trap('x'))",
)


@pytest.fixture(scope="module")
def shop_mysql() -> Iterator[QueryLimiter]:
    with mysql_server() as dsn:
        if dsn is None:
            pytest.skip("no MariaDB: install mariadb-server-core and -client-core, or set TEST_MYSQL_DSN")
        connection = connect_mysql(dsn)
        with connection.cursor() as cursor:
            cursor.execute("drop database if exists everyday")
            cursor.execute("create database everyday")
            cursor.execute("create or replace user everyday_reader identified by 'everyday'")
            cursor.execute("grant select, show view on everyday.* to everyday_reader")
            connection.select_db("everyday")
            for statement in (*list_setup_statements("mysql"), *_MYSQL_TRAPS):
                cursor.execute(statement)
        parts = urlsplit(dsn)
        address = DatabaseAddress(
            "mysql", "everyday", parts.hostname or "", parts.port or 3306, "everyday_reader", "everyday"
        )
        yield QueryLimiter(build_registered_database(address, timeout_seconds=PATIENCE_SECONDS))


_MYSQL_TRAPS = (
    "create view slow as select sleep(5) as x",
    "create view outer_slow as select x from slow",
    "create view files as select load_file('/etc/passwd') as x",
    "create view harmless as select 1 as x",
)


async def find_refused(limiter: QueryLimiter, dialect: str) -> dict[str, str]:
    refused: dict[str, str] = {}
    for sql in list_everyday_queries(dialect):
        try:
            await limiter.run_query("tester", sqlguard.check_statement(dialect, sql), 100)
        except errors.Refusal as refusal:
            refused[sql] = refusal.message
    return refused


@pytest.mark.parametrize("dialect", ["sqlite", "postgresql", "mysql"])
def test_there_are_two_hundred_everyday_queries(dialect: str):
    queries = list_everyday_queries(dialect)
    assert len(set(queries)) == len(queries) >= 200


async def test_everyday_queries_run_on_sqlite(shop_file: Path):
    assert await find_refused(open_sqlite(shop_file), "sqlite") == {}


async def test_everyday_queries_run_on_postgresql(shop_postgres: QueryLimiter):
    assert await find_refused(shop_postgres, "postgresql") == {}


def test_everyday_queries_of_mysql_pass_the_guard():
    for sql in list_everyday_queries("mysql"):
        assert sqlguard.check_statement("mysql", sql).sql


async def test_everyday_queries_run_on_mysql(shop_mysql: QueryLimiter):
    assert await find_refused(shop_mysql, "mysql") == {}


@pytest.mark.parametrize("view", ["slow", "outer_slow", "files"])
async def test_a_view_of_mysql_is_looked_into(shop_mysql: QueryLimiter, view: str):
    harmless = sqlguard.check_statement("mysql", "SELECT x FROM harmless")
    assert (await shop_mysql.run_query("tester", harmless, 10)).rows
    with pytest.raises(errors.Forbidden):
        await shop_mysql.run_query("tester", sqlguard.check_statement("mysql", f"SELECT * FROM {view}"), 10)


@pytest.mark.parametrize("view", ["slow", "endless", "outer_slow"])
async def test_a_view_of_sqlite_is_looked_into(shop_file: Path, view: str):
    with pytest.raises(errors.Forbidden):
        await open_sqlite(shop_file).run_query(
            "tester", sqlguard.check_statement("sqlite", f"SELECT * FROM {view}"), 10
        )


async def test_a_view_that_appears_later_is_looked_into(tmp_path: Path):
    path = tmp_path / "later.db"
    connection = apsw.Connection(str(path))
    connection.execute("create table t (a); insert into t values (1)").fetchall()
    limiter, checked = open_sqlite(path), sqlguard.check_statement("sqlite", "SELECT * FROM t")
    assert (await limiter.run_query("tester", checked, 10)).rows == [[1]]
    connection.execute("drop table t; create view t as select printf('%.*c', 900000000, 'x') as x").fetchall()
    with pytest.raises(errors.Forbidden):
        await limiter.run_query("tester", checked, 10)
    connection.close()


@pytest.mark.parametrize("name", ["dbstat", "customers", "load_extension", "nothing"])
async def test_only_a_table_of_full_text_search_is_called_in_from(shop_file: Path, name: str):
    async def call_in_from() -> None:
        checked = sqlguard.check_statement("sqlite", f"SELECT * FROM {name}('x')")
        await open_sqlite(shop_file).run_query("tester", checked, 10)

    with pytest.raises(errors.Refusal):
        await call_in_from()


async def test_queries_to_one_file_share_a_worker_that_is_replaced_when_killed(shop_file: Path):
    limiter, checked = open_sqlite(shop_file), sqlguard.check_statement("sqlite", "SELECT 1")
    path = str(shop_file)
    await limiter.run_query("tester", checked, 10)
    worker = WORKERS.take(path)
    WORKERS.give_back(worker)
    await limiter.run_query("tester", checked, 10)
    again = WORKERS.take(path)
    assert again is worker
    again.kill()
    WORKERS.give_back(again)
    assert (await limiter.run_query("tester", checked, 10)).rows == [[1]]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 'x'::trapped",
        "SELECT 'x'::sleeping",
        "SELECT CAST(name AS trapped) FROM customers",
        "SELECT a.id FROM parcels a JOIN parcels b ON a.w = b.w",
        "SELECT w FROM parcels GROUP BY w",
        "SELECT length(c) FROM paints",
        "SELECT * FROM guarded",
    ],
)
async def test_volatile_code_behind_types_and_policies_of_postgresql_is_refused(
    shop_postgres: QueryLimiter, sql: str
):
    with pytest.raises(errors.Forbidden):
        await shop_postgres.run_query("tester", sqlguard.check_statement("postgresql", sql), 10)


async def test_a_domain_that_only_reads_may_be_cast_to(shop_postgres: QueryLimiter):
    checked = sqlguard.check_statement("postgresql", "SELECT 'x'::short_text")
    assert (await shop_postgres.run_query("tester", checked, 10)).rows == [["x"]]


@pytest.mark.parametrize(
    "view", ["global_variables", "session_variables", "system_variables", "global_status"]
)
def test_settings_of_mysql_are_not_read_through_the_schema(view: str):
    with pytest.raises(errors.Forbidden):
        sqlguard.check_statement("mysql", f"SELECT * FROM information_schema.{view}")


@pytest.mark.parametrize(
    "definition", ["select sleep(5) AS `x`", "select load_file('/etc/passwd') AS `x` from `shop`.`users`"]
)
def test_a_definition_of_a_mysql_view_is_checked_like_a_statement(definition: str):
    with pytest.raises(errors.Forbidden):
        check_view(MYSQL, "v", definition, 0)


async def test_workers_of_other_files_make_room_for_the_one_that_was_used_last(
    shop_file: Path, tmp_path: Path
):
    checked = sqlguard.check_statement("sqlite", "SELECT 1")
    for n in range(9):
        other = tmp_path / f"{n}.db"
        apsw.Connection(str(other)).execute("create table t (x)").close()
        await open_sqlite(other).run_query("tester", checked, 10)
    assert len(WORKERS.list_pids()) <= 8
    limiter = open_sqlite(shop_file)
    await limiter.run_query("tester", checked, 10)
    worker = WORKERS.take(str(shop_file))
    WORKERS.give_back(worker)
    await limiter.run_query("tester", checked, 10)
    again = WORKERS.take(str(shop_file))
    WORKERS.give_back(again)
    assert again is worker
