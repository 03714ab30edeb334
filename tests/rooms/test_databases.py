"""Databases of the operator, read through memory_db."""

import sys
from dataclasses import replace
from typing import Any

import pytest
from guarded_databases import DatabaseAddress, refusal_code_of

from commonplace import errors
from commonplace.access import Caller
from commonplace.rooms.databases import store
from team import Team

pytestmark = pytest.mark.processes

# Tests that do not involve the product's own store run on one of them.
ONE_STORE = pytest.mark.parametrize("address", ["sqlite"], indirect=True)


async def _list_audit_rows(team: Team) -> list[tuple[str, str, str]]:
    rows = await team.database.read(
        lambda tx: tx.all(
            "select operation, outcome, detail from audit where operation = 'memory_db' order by at, id"
        )
    )
    return [(row["operation"], row["outcome"], row["detail"]) for row in rows]


# --- list ---------------------------------------------------------------------------------------------------------


async def test_list_is_empty_without_databases(team: Team):
    alice = await team.agent("alice")
    assert await alice.db(action="list") == {"count": 0, "databases": []}


async def test_list_names_databases_without_host_user_or_folder(
    team: Team, register: Any, lite: DatabaseAddress
):
    register("APP", lite, MAX_ROWS="7")
    alice = await team.agent("alice")
    listed = {"name": "app", "type": "sqlite", "database": "app.db", "read_only": True, "max_rows": 7}
    assert await alice.db(action="list") == {"count": 1, "databases": [listed]}


async def test_list_shows_only_databases_of_the_project(team: Team, register: Any, lite: DatabaseAddress):
    register("APP", lite, PROJECTS="Other Shop")
    alice, olga = await team.agent("alice"), await team.agent("olga", project="other_shop")
    assert await alice.db(action="list") == {"count": 0, "databases": []}
    assert (await olga.db(action="list"))["count"] == 1
    assert await refusal_code_of(alice.db(action="query", database="app", query="select 1")) == "not_found"
    assert (
        await refusal_code_of(alice.db(action="query", database="app", query="delete from users"))
        == "not_found"
    )


@ONE_STORE
async def test_list_shows_what_a_login_may_do_beyond_reading(team: Team, register: Any, postgres: Any):
    _, reader, owner = postgres
    register("READER", reader)
    register("OWNER", owner)
    alice = await team.agent("alice")
    listed = {each["name"]: each for each in (await alice.db(action="list"))["databases"]}
    assert "is a superuser" in listed["owner"]["unsafe"]
    assert "unsafe" not in listed["reader"]


@ONE_STORE
async def test_list_says_what_is_wrong_with_a_registration(team: Team, register: Any, lite: DatabaseAddress):
    register("WRITER", lite, READONLY="no")
    register("ODD", DatabaseAddress("oracle", "x"))
    register("SLOW", lite, TIMEOUT="soon")
    register("GONE", DatabaseAddress("sqlite", lite.database + ".gone"))
    alice = await team.agent("alice")
    listed = {each["name"]: each for each in (await alice.db(action="list"))["databases"]}
    assert "only reads" in listed["writer"]["problem"]
    assert listed["writer"]["read_only"]
    assert "DB_ODD_TYPE" in listed["odd"]["problem"]
    assert "DB_SLOW_TIMEOUT" in listed["slow"]["problem"]
    assert listed["gone"]["unreachable"]
    assert await refusal_code_of(alice.db(action="query", database="odd", query="select 1")) == "unavailable"
    assert await refusal_code_of(alice.db(action="query", database="gone", query="select 1")) == "unavailable"


def test_registration_reads_the_names_of_the_contract():
    read = store.read_databases(
        {
            "DB_SHOP_EU_TYPE": "mssql",
            "DB_SHOP_EU_NAME": "shop",
            "DB_SHOP_EU_HOST": "db.example",
            "DB_SHOP_EU_USER": "reader",
            "DB_SHOP_EU_PASS": "hidden",
            "DB_SHOP_EU_READONLY": "on",
            "DB_SHOP_EU_PROJECTS": "shop, Web Site",
        }
    )
    assert read == {
        "shop_eu": store.RegisteredDatabase(
            "shop_eu",
            "mssql",
            "shop",
            "db.example",
            1433,
            "reader",
            "hidden",
            timeout_seconds=30,
            max_rows=500,
            projects=frozenset({"shop", "web_site"}),
        )
    }
    assert "hidden" not in repr(read)


# --- schema -------------------------------------------------------------------------------------------------------


async def test_schema_of_sqlite(team: Team, register: Any, lite: DatabaseAddress):
    register("APP", lite)
    alice = await team.agent("alice")
    assert await alice.db(action="schema", database="app") == {
        "database": "app",
        "type": "sqlite",
        "count": 5,
        "truncated": False,
        "tables": [
            {"name": "audit", "kind": "table"},
            {"name": "delete", "kind": "table"},
            {"name": "notes", "kind": "virtual"},
            {"name": "users", "kind": "table"},
            {"name": "v_mail", "kind": "view"},
        ],
    }
    assert await alice.db(action="schema", database="app", table="audit") == {
        "database": "app",
        "table": "audit",
        "columns": [
            {"name": "id", "type": "INTEGER", "nullable": False, "primary_key": True},
            {"name": "msg", "type": "TEXT", "nullable": True, "primary_key": False},
        ],
    }
    assert await refusal_code_of(alice.db(action="schema", database="app", table="nothing")) == "not_found"


@ONE_STORE
async def test_schema_of_postgresql(team: Team, register: Any, postgres: Any):
    register("APP", postgres[1])
    alice = await team.agent("alice")
    tables = (await alice.db(action="schema", database="app"))["tables"]
    assert {"schema": "public", "name": "mv", "kind": "materialized view"} in tables
    assert {"schema": "public", "name": "secrets", "kind": "table"} not in tables
    described = await alice.db(action="schema", database="app", table="public.audit")
    assert described["columns"] == [
        {
            "name": "id",
            "type": "integer",
            "nullable": False,
            "primary_key": True,
            "default": "nextval('audit_id_seq'::regclass)",
        },
        {"name": "msg", "type": "text", "nullable": True, "primary_key": False},
    ]


# --- query --------------------------------------------------------------------------------------------------------


async def test_query_of_sqlite_answers_rows(team: Team, register: Any, lite: DatabaseAddress):
    register("APP", lite)
    alice = await team.agent("alice")
    answer = await alice.db(
        action="query", database="APP", query="select id, name, email e from users limit 2"
    )
    assert answer.pop("elapsed_ms") >= 0
    assert answer == {
        "database": "app",
        "row_count": 2,
        "truncated": False,
        "columns": ["id", "name", "e"],
        "rows": [[1, "user1", "e1"], [2, "user2", "e2"]],
    }


@ONE_STORE
async def test_query_of_postgresql_answers_values_as_json_has_them(team: Team, register: Any, postgres: Any):
    register("APP", postgres[1])
    alice = await team.agent("alice")
    query = (
        "select 1::bigint, 2.50::numeric, 3::numeric, 'x', null, true, date '2026-02-03', array[1,2],"
        " '{\"a\": 1}'::jsonb, 'NaN'::float8, '\\x01ff'::bytea, 1 as twice, 2 as twice"
    )
    answer = await alice.db(action="query", database="app", query=query)
    shown = [1, 2.5, 3, "x", None, True, "2026-02-03", "{1,2}", '{"a": 1}', "nan", "0x01ff", 1, 2]
    assert answer["rows"] == [shown]
    assert answer["columns"][-2:] == ["twice", "twice"]


@ONE_STORE
async def test_query_keeps_the_order_of_its_rows(team: Team, register: Any, postgres: Any):
    register("APP", postgres[1])
    alice = await team.agent("alice")
    answer = await alice.db(
        action="query", database="app", query="select id from users order by id desc", limit=3
    )
    assert [answer["rows"], answer["truncated"]] == [[[51], [50], [49]], True]


async def test_query_that_writes_is_refused_and_audited(team: Team, register: Any, lite: DatabaseAddress):
    register("APP", lite)
    alice = await team.agent("alice")
    await alice.db(action="query", database="app", query="select count(*)\n from users")
    team.clock.advance(seconds=1)
    assert (
        await refusal_code_of(alice.db(action="query", database="app", query="delete from users"))
        == "forbidden"
    )
    team.clock.advance(seconds=1)
    assert (
        await refusal_code_of(alice.db(action="query", database="app", query="select nothing from users"))
        == "invalid"
    )
    # A query that the database itself refused was asked (ok), and its refusal is told too.
    outcomes = sorted(outcome for _, outcome, _ in await _list_audit_rows(team))
    assert outcomes == ["forbidden", "invalid", "ok", "ok"]
    assert (await _list_audit_rows(team))[0][2] == "app: select count(*) from users"


async def test_query_may_be_made_with_a_readonly_key_of_the_project(
    team: Team, register: Any, lite: DatabaseAddress
):
    register("APP", lite)
    await team.agent("alice")
    reader = Caller("readonly", frozenset({"shop"}), key="k1", agent="rita")
    rita = await team.agent("rita", caller=Caller("agent", frozenset({"shop"}), key="k1", agent="rita"))
    rita.caller = reader
    assert (await rita.db(action="query", database="app", query="select 1"))["rows"] == [[1]]
    everywhere = replace(reader, projects=frozenset({"shop", "till"}))
    assert (
        await refusal_code_of(
            team.anyone(everywhere).call("memory_db", action="query", database="app", query="select 1")
        )
        == "session_not_found"
    )


async def test_query_of_the_servers_own_files_is_refused(team: Team, register: Any):
    register("OWN", DatabaseAddress("sqlite", str(team.calls.settings.data / "commonplace.db")))
    alice = await team.agent("alice")
    assert await refusal_code_of(alice.db(action="query", database="own", query="select 1")) == "forbidden"


@ONE_STORE
async def test_query_runs_as_a_reader_even_for_a_superuser(team: Team, register: Any, postgres: Any):
    register("APP", postgres[2])
    alice = await team.agent("alice")
    answer = await alice.db(
        action="query", database="app", query="select current_user, count(*) from secrets"
    )
    assert answer["rows"] == [["pg_read_all_data", 1]]


@ONE_STORE
async def test_query_says_what_the_database_says_and_never_its_password(
    team: Team, register: Any, postgres: Any
):
    wrong = DatabaseAddress(
        **{**vars(postgres[1]), "password": "not-the-password", "host": "127.0.0.1", "port": 1}
    )
    register("APP", wrong)
    alice = await team.agent("alice")
    with pytest.raises(errors.Unavailable) as refusal:
        await alice.db(action="query", database="app", query="select 1")
    assert "127.0.0.1" not in str(refusal.value.to_dict())
    assert "password" not in str(refusal.value.to_dict())


@ONE_STORE
@pytest.mark.parametrize("dialect", ["mysql", "mssql"])
async def test_query_of_a_server_that_is_away_says_so_after_the_guard(
    team: Team, register: Any, dialect: str
):
    register("APP", DatabaseAddress(dialect, "shop", "127.0.0.1", 1, "reader", "hidden"))
    alice = await team.agent("alice")
    assert await refusal_code_of(alice.db(action="query", database="app", query="select 1")) == "unavailable"
    assert (
        await refusal_code_of(alice.db(action="query", database="app", query="delete from t")) == "forbidden"
    )
    assert (await alice.db(action="list"))["databases"][0]["unreachable"]


@ONE_STORE
async def test_query_without_its_driver_is_a_clear_refusal(
    team: Team, register: Any, monkeypatch: pytest.MonkeyPatch
):
    register("APP", DatabaseAddress("mysql", "shop", "127.0.0.1", 1))
    monkeypatch.setitem(sys.modules, "pymysql", None)
    alice = await team.agent("alice")
    with pytest.raises(errors.Unavailable) as refusal:
        await alice.db(action="query", database="app", query="select 1")
    assert refusal.value.hint == "Install commonplace-mcp[mysql]; in a clone, run `make setup EXTRAS=mysql`."
