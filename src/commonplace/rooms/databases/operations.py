"""The actions of memory_db. The transaction decides whether a query may run; `outside` runs it afterwards."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from commonplace import errors, sqlguard
from commonplace.access import Caller
from commonplace.call import Call
from commonplace.masking import mask_secrets
from commonplace.operation import OperationFamily, operation
from commonplace.rooms.databases import model, store
from commonplace.rooms.databases.model import (
    DatabaseListing,
    DatabaseQueryResult,
    DatabaseTable,
    DatabaseTables,
    ListedDatabase,
    QueryPlan,
    TableColumn,
    TableColumns,
)
from commonplace.rooms.databases.query_limits import query_limiter
from commonplace.rooms.databases.store import RegisteredDatabase
from commonplace.sqlguard import CheckedStatement

_TOOL_NAME = "memory_db"
_AUDITED_CHARACTERS = 400


async def _describe_databases(databases: list[RegisteredDatabase]) -> DatabaseListing:
    listed = await asyncio.gather(*(_describe_database(database) for database in databases))
    return DatabaseListing(count=len(listed), databases=list(listed))


@operation(_TOOL_NAME, role="readonly", after_commit=_describe_databases, example={})
async def list_databases(call: Call) -> list[RegisteredDatabase]:
    """List the databases that this project may read."""
    return _list_open_databases(call.project)


async def _load_schema(plan: QueryPlan) -> DatabaseTables | TableColumns:
    if plan.table:
        return await _load_columns(plan)
    result = await query_limiter(plan.database).run_query(plan.agent, plan.checked, plan.max_rows)
    return DatabaseTables(
        database=plan.database.name,
        type=plan.database.dialect,
        count=len(result.rows),
        truncated=result.truncated,
        tables=[DatabaseTable(schema=schema, name=name, kind=kind) for schema, name, kind in result.rows],
    )


@operation(_TOOL_NAME, role="readonly", audited=True, after_commit=_load_schema)
async def schema(call: Call, database: model.DatabaseName, table: model.TableName = "") -> QueryPlan:
    """List the tables of a database, or the columns of one table."""
    registered = _require_database(call, database)
    call.subject = f"{registered.name} schema {table}".strip()
    dialect = sqlguard.DIALECTS[registered.dialect]
    checked = CheckedStatement(sql=dialect.select_columns if table else dialect.select_tables, can_wrap=False)
    return QueryPlan(registered, call.agent, checked, model.MAX_LISTED_TABLES, table)


async def _check_query(
    _calls: Any, arguments: Mapping[str, Any], _caller: Caller
) -> CheckedStatement | errors.Refusal | None:
    """Check the query in a thread before the transaction; a refusal is raised only after access was checked."""
    registered = store.load_registered_databases().get(arguments["database"].lower())
    if registered is None or registered.problem:
        return None
    try:
        return await asyncio.to_thread(sqlguard.check_statement, registered.dialect, arguments["query"])
    except errors.Refusal as refused:
        return refused


async def _run_query(plan: QueryPlan) -> DatabaseQueryResult:
    started = perf_counter()
    result = await query_limiter(plan.database).run_query(plan.agent, plan.checked, plan.max_rows)
    return DatabaseQueryResult(
        database=plan.database.name,
        row_count=len(result.rows),
        truncated=result.truncated,
        elapsed_ms=round((perf_counter() - started) * 1000),
        columns=result.columns,
        rows=result.rows,
    )


@operation(_TOOL_NAME, role="readonly", audited=True, prepare=_check_query, after_commit=_run_query)
async def query(
    call: Call, database: model.DatabaseName, query: model.Query, limit: model.RowLimit = 100
) -> QueryPlan:
    """Run one read-only statement in the database's own SQL."""
    registered = _require_database(call, database)
    if isinstance(call.prepared, errors.Refusal):
        raise call.prepared
    call.subject = f"{registered.name}: {mask_secrets(' '.join(query.split())).text[:_AUDITED_CHARACTERS]}"
    return QueryPlan(registered, call.agent, call.prepared, min(limit, registered.max_rows))


db = OperationFamily(
    _TOOL_NAME,
    "Query the operator's databases, read-only; list their tables and columns.",
    {"list": list_databases, "schema": schema, "query": query},
    keywords="SQL, select, schema, run",
)


def _require_database(call: Call, name: str) -> RegisteredDatabase:
    databases = {database.name: database for database in _list_open_databases(call.project)}
    database = databases.get(name.lower())
    if database is None:
        raise errors.NotFound(
            f"The project '{call.project}' has no database '{name}'.",
            hint=f"Available: {', '.join(databases) or 'none'}.",
        )
    if database.problem:
        raise errors.Unavailable(
            f"'{database.name}' is not configured correctly: {database.problem}", hint="Tell its operator."
        )
    if database.dialect == "sqlite" and Path(database.database).resolve().is_relative_to(
        call.settings.data.resolve()
    ):
        raise errors.Forbidden(
            f"'{database.name}' is the data file of this server.", hint="Use the server's own tools."
        )
    return database


def _list_open_databases(project: str) -> list[RegisteredDatabase]:
    return [
        database for database in store.load_registered_databases().values() if database.is_open_to(project)
    ]


async def _describe_database(registered: RegisteredDatabase) -> ListedDatabase:
    shown = ListedDatabase(
        name=registered.name,
        type=registered.dialect,
        database=_name_without_folder(registered),
        read_only=True,
        max_rows=registered.max_rows,
        problem=registered.problem,
    )
    if registered.asked_to_write and not shown.problem:
        shown.problem = f"DB_{registered.name.upper()}_READONLY is false; Commonplace only reads anyway."
    if not registered.problem:
        login = await query_limiter(registered).check_login()
        shown.unsafe, shown.unreachable = list(login.unsafe), login.unreachable
    return shown


def _name_without_folder(registered: RegisteredDatabase) -> str:
    name = registered.database
    return name.replace("\\", "/").rsplit("/", 1)[-1] if registered.dialect == "sqlite" else name


async def _load_columns(plan: QueryPlan) -> TableColumns:
    result = await query_limiter(plan.database).run_query(
        plan.agent, plan.checked, plan.max_rows, model.split_table_name(plan.table)
    )
    if not result.rows:
        raise errors.NotFound(
            f"'{plan.database.name}' has no table '{plan.table}' that its login may read.",
            hint="Call action=schema without a table to list the tables.",
        )
    return TableColumns(
        database=plan.database.name,
        table=plan.table,
        columns=[
            TableColumn(
                name=name,
                type=str(kind),
                nullable=bool(nullable),
                primary_key=bool(key),
                default="" if default is None else str(default),
            )
            for name, kind, nullable, default, key in result.rows
        ],
    )
