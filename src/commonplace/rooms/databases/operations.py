"""The acts of memory_db. The transaction finds out whether; the database is asked after it, in `outside`."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from time import perf_counter
from typing import Any

from commonplace import errors, sqlguard
from commonplace.access import Caller
from commonplace.call import Call
from commonplace.masking import masked
from commonplace.operation import Family, operation
from commonplace.rooms.databases import config, model, store
from commonplace.rooms.databases.config import Registered
from commonplace.rooms.databases.model import Column, Columns, Database, Listing, Plan, Result, Table, Tables
from commonplace.rooms.databases.query_limits import desk
from commonplace.sqlguard.verdict import Checked

_NAME = "memory_db"
_SUBJECT = 400


async def _shown(databases: list[Registered]) -> Listing:
    listed = await asyncio.gather(*(_database(each) for each in databases))
    return Listing(count=len(listed), databases=list(listed))


@operation(_NAME, role="readonly", outside=_shown, example={})
async def list_all(call: Call) -> list[Registered]:
    """The databases that this project may read."""
    return [each for each in config.registered().values() if each.serves(call.project)]


async def _described(plan: Plan) -> Tables | Columns:
    if plan.table:
        return await _columns(plan)
    found = await desk(plan.database).ask(plan.agent, plan.checked, plan.most)
    return Tables(
        database=plan.database.name,
        type=plan.database.dialect,
        count=len(found.rows),
        truncated=found.truncated,
        tables=[Table(schema=schema, name=name, kind=kind) for schema, name, kind in found.rows],
    )


@operation(_NAME, role="readonly", audited=True, outside=_described)
async def schema(call: Call, database: model.DatabaseName, table: model.TableName = "") -> Plan:
    """The tables of a database, or the columns of one table."""
    registered = _registered(call, database)
    call.subject = f"{registered.name} schema {table}".strip()
    shape = store.SHAPES[registered.dialect]
    checked = Checked(sql=shape.columns if table else shape.tables, wraps=False)
    return Plan(registered, call.agent, checked, model.MOST_TABLES, table)


async def _guarded(
    _calls: Any, arguments: Mapping[str, Any], _caller: Caller
) -> Checked | errors.Refusal | None:
    """Away from the loop and before the transaction; what it refuses is said after access was checked."""
    registered = config.registered().get(arguments["database"].lower())
    if registered is None or registered.problem:
        return None
    try:
        return await asyncio.to_thread(sqlguard.check, registered.dialect, arguments["query"])
    except errors.Refusal as refused:
        return refused


async def _answered(plan: Plan) -> Result:
    started = perf_counter()
    found = await desk(plan.database).ask(plan.agent, plan.checked, plan.most)
    return Result(
        database=plan.database.name,
        row_count=len(found.rows),
        truncated=found.truncated,
        elapsed_ms=round((perf_counter() - started) * 1000),
        columns=found.columns,
        rows=found.rows,
    )


@operation(_NAME, role="readonly", audited=True, prepare=_guarded, outside=_answered)
async def query(
    call: Call, database: model.DatabaseName, query: model.Query, limit: model.Limit = 100
) -> Plan:
    """One statement that only reads, in the database's own SQL."""
    registered = _registered(call, database)
    if isinstance(call.prepared, errors.Refusal):
        raise call.prepared
    call.subject = f"{registered.name}: {masked(' '.join(query.split())).text[:_SUBJECT]}"
    return Plan(registered, call.agent, call.prepared, min(limit, registered.max_rows))


db = Family(
    _NAME,
    "Read the operator's databases: one bounded SELECT at a time.",
    {"list": list_all, "schema": schema, "query": query},
)


def _registered(call: Call, name: str) -> Registered:
    mine = {each.name: each for each in config.registered().values() if each.serves(call.project)}
    found = mine.get(name.lower())
    if found is None:
        raise errors.NotFound(
            f"There is no database '{name}' for the project '{call.project}'.",
            hint=f"Known: {', '.join(mine) or 'none'}.",
        )
    if found.problem:
        raise errors.Unavailable(
            f"'{found.name}' is registered wrongly: {found.problem}", hint="Tell its operator."
        )
    if found.dialect == "sqlite" and Path(found.database).resolve().is_relative_to(
        call.settings.data.resolve()
    ):
        raise errors.Forbidden(f"'{found.name}' is a file of this server itself.", hint="Use its operations.")
    return found


async def _database(registered: Registered) -> Database:
    shown = Database(
        name=registered.name,
        type=registered.dialect,
        database=_without_folder(registered),
        read_only=True,
        max_rows=registered.max_rows,
        problem=registered.problem,
    )
    if registered.asked_to_write and not shown.problem:
        shown.problem = (
            f"DB_{registered.name.upper()}_READONLY is false; Commonplace only reads all the same."
        )
    if not registered.problem:
        login = await desk(registered).look()
        shown.unsafe, shown.unreachable = list(login.unsafe), login.unreachable
    return shown


def _without_folder(registered: Registered) -> str:
    name = registered.database
    return name.replace("\\", "/").rsplit("/", 1)[-1] if registered.dialect == "sqlite" else name


async def _columns(plan: Plan) -> Columns:
    found = await desk(plan.database).ask(plan.agent, plan.checked, plan.most, model.split(plan.table))
    if not found.rows:
        raise errors.NotFound(
            f"'{plan.database.name}' has no table '{plan.table}' that its login may read.",
            hint="Action schema without a table names them.",
        )
    return Columns(
        database=plan.database.name,
        table=plan.table,
        columns=[
            Column(
                name=name,
                type=str(kind),
                nullable=bool(nullable),
                primary_key=bool(key),
                default="" if default is None else str(default),
            )
            for name, kind, nullable, default, key in found.rows
        ],
    )
