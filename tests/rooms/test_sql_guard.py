"""The SQL guard: every shared case is allowed or refused as expected, without a database."""

import contextlib
from typing import Any

import pytest
from guarded_databases import (
    CASES,
    REFUSED_BY_CATALOG,
)

from commonplace import errors, sqlguard

ALLOWED = [case for case in CASES if case["allow"]]
REFUSED = [case for case in CASES if not case["allow"] and case["sql"] not in REFUSED_BY_CATALOG]


def _case_id(case: dict[str, Any]) -> str:
    return f"{case['dialect']}-{case['why'][:50]}"


@pytest.mark.parametrize("case", ALLOWED, ids=_case_id)
def test_guard_lets_a_legitimate_read_through(case: dict[str, Any]):
    assert sqlguard.check_statement(case["dialect"], case["sql"]).sql


@pytest.mark.parametrize("case", REFUSED, ids=_case_id)
def test_guard_refuses_what_would_act_before_any_connection(case: dict[str, Any]):
    with pytest.raises(errors.Refusal) as refused:
        sqlguard.check_statement(case["dialect"], case["sql"])
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
        sqlguard.check_statement(dialect, sql)


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        (
            "postgresql",
            "SELECT (u).name, u.tags[1], u.meta->>'n' FROM users u JOIN orders o ON o.user_id = u.id",
        ),
        (
            "postgresql",
            "SELECT DISTINCT ON (status) status, array_agg(id ORDER BY id) FROM orders GROUP BY status",
        ),
        (
            "postgresql",
            "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) SELECT n FROM t LIMIT 5",
        ),
        ("postgresql", "SELECT a LIKE 'x!%' ESCAPE '!', a IS NOT DISTINCT FROM b, ARRAY[1, 2] FROM t"),
        ("postgresql", "SELECT * FROM a CROSS JOIN b"),
        ("sqlite", "EXPLAIN QUERY PLAN SELECT * FROM users WHERE id = 1"),
        ("sqlite", "SELECT bm25(notes) FROM notes WHERE notes MATCH 'hello'"),
        ("sqlite", "SELECT name FROM sqlite_master WHERE sql LIKE '%drop table%'"),
        ("sqlite", "PRAGMA user_version"),
        ("mysql", "SHOW KEYS FROM users"),
        ("mysql", "SHOW CREATE TABLE users"),
        ("mysql", "SELECT 1 FROM DUAL"),
        ("mysql", "SELECT @@version, GROUP_CONCAT(name ORDER BY id SEPARATOR ';') FROM users"),
        ("mysql", "SELECT a FROM t GROUP BY a WITH ROLLUP"),
        ("mssql", "SELECT TOP 5 WITH TIES id FROM dbo.users ORDER BY id"),
        ("mssql", "SELECT * FROM OPENJSON('[]') WITH (id int '$.id')"),
        ("mssql", "SELECT [key], [from] FROM [order details] OPTION (RECOMPILE)"),
        ("mssql", "SELECT name FROM sys.tables"),
    ],
)
def test_guard_lets_other_reads_through(dialect: Any, sql: str):
    assert sqlguard.check_statement(dialect, sql).sql


def test_guard_sends_what_it_read_and_not_what_came_in():
    assert [
        sqlguard.check_statement("mssql", "SELECT 1 AS [DELETE] -- x\nFROM audit").sql,
        sqlguard.check_statement(
            "sqlite", "/* x */ select A.[id] from Users a, audit b where a.id = b.id;"
        ).sql,
        sqlguard.check_statement("mysql", 'SELECT "a\\"b", name FROM users WHERE name REGEXP \'x\' # x').sql,
        sqlguard.check_statement("postgresql", 'SELECT "a b", $$it\'s$$ FROM t -- x').sql,
    ] == [
        "SELECT 1 AS [DELETE] FROM [audit]",
        'SELECT "A"."id" FROM "Users" AS "a" JOIN "audit" AS "b" ON TRUE WHERE "a"."id" = "b"."id"',
        "SELECT 'a\"b', `name` FROM `users` WHERE `name` REGEXP 'x'",
        "SELECT \"a b\", 'it''s' FROM t",
    ]


@pytest.mark.parametrize("dialect", ["postgresql", "sqlite", "mysql", "mssql"])
@pytest.mark.parametrize(
    "sql", ["", "SELECT (", "(" * 5000, "SELECT " + "(" * 3000 + "1" + ")" * 3000, "\x00", "SELECT 'x"]
)
def test_guard_survives_broken_texts(dialect: Any, sql: str):
    # PostgreSQL's grammar drops redundant parentheses at any depth.
    with contextlib.suppress(errors.Refusal):
        assert sqlguard.check_statement(dialect, sql).sql == "SELECT 1"


@pytest.mark.parametrize(
    "hint", ["MAX_EXECUTION_TIME(0)", "SET_VAR(sort_buffer_size = 16M)", "NO_INDEX_MERGE(t)"]
)
def test_guard_sends_mysql_statements_without_their_hints(hint: str):
    checked = sqlguard.check_statement("mysql", f"SELECT /*+ {hint} */ 1")
    assert checked.sql == "SELECT 1"


@pytest.mark.parametrize("dialect", ["sqlite", "mysql", "mssql"])
@pytest.mark.parametrize(
    "joins", ["JOIN u a " * 40, ("JOIN u a " * 6 + "ON 1 = 1 ") * 20, "JOIN u /* ON */ a " * 40]
)
def test_joins_without_conditions_are_refused_before_they_are_parsed(dialect, joins):
    with pytest.raises(errors.Invalid, match="joins without a condition"):
        sqlguard.check_statement(dialect, f"SELECT 1 FROM t a {joins}")


def test_many_joins_with_conditions_are_read():
    joins = " ".join(f"JOIN u u{n} ON u{n}.id = t.id" for n in range(20))
    assert sqlguard.check_statement("sqlite", f"SELECT 1 FROM t {joins}").sql
