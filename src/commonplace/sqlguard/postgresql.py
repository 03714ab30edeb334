"""PostgreSQL with asyncpg: one connection and one read-only transaction for each query, rolled back at the end.

Before a query runs, the catalog confirms it: which code would its names run? The definition of a view is checked like a
statement. A user-defined function, operator, cast or field is allowed only if the catalog declares it immutable or
stable, it runs with the rights of its caller, and its code is SQL, PL/pgSQL or part of a trusted extension. Some code
runs without being named: an implicit cast or an everyday operator of a type that the statement uses, the check of a
domain, a row policy.
"""

import asyncio
import re
from collections.abc import Iterable, Sequence
from typing import Any

from commonplace.sqlguard.dialect import (
    MAX_VIEW_DEPTH,
    CheckedStatement,
    SqlDialect,
    SqlName,
    forbidden_function,
    forbidden_statement,
    name_refused_code,
    view_too_deep,
)
from commonplace.sqlguard.query_rows import (
    CONNECT_SECONDS,
    MAX_CELL_CHARACTERS,
    MAX_RESULT_BYTES,
    QueryRows,
    QueryTarget,
    database_unreachable,
    load_package,
    query_forbidden,
    query_refused,
)

_CLOSE_SECONDS = 2
_IDLE_MILLISECONDS = 10_000
_FORBIDDEN_CODES = frozenset({"25006", "42501"})
_SHORT_TYPES = frozenset({"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "oid"})
_TEXT_TYPES = frozenset({"text", "varchar", "bpchar"})
_SYSTEM_SCHEMAS = frozenset({"pg_catalog", "information_schema"})
_TRUSTED_LANGUAGES = frozenset({"sql", "plpgsql"})
# Built-in or bundled functions with effects: files, sleep, locks, sequences, large objects, other connections, SQL in a
# string, signals, replication. The catalog check would refuse most of them too, but only after connecting.
ACTING_FUNCTIONS = re.compile(
    r"pg_|lo_|lo(read|write)$|dblink|binary_upgrade_|brin_|gin_clean|(query|table|schema|database|cursor)_to_xml"
    r"|ts_(stat|rewrite)$|set_config$|(next|set|curr|last)val$|setseed$|txid_|inet_|crosstab|connectby$"
    r"|x(path_|slt_)|postgres_fdw_|file_fdw_|current_query$|currtid|bt_index|heap_|get_raw_page|page_header"
    r"|row_security|array_fill$|ts_debug$|getpgusername$"
)

_SELECT_RIGHTS = """
select r.rolsuper as "is a superuser", r.rolbypassrls as "bypasses row security",
  r.rolcreaterole as "creates roles", r.rolcreatedb as "creates databases", r.rolreplication as "replicates",
  exists (select 1 from pg_catalog.pg_roles g where g.rolname in ('pg_read_server_files', 'pg_write_server_files',
    'pg_execute_server_program', 'pg_signal_backend', 'pg_write_all_data', 'pg_maintain')
    and not r.rolsuper and pg_has_role(r.oid, g.oid, 'USAGE')) as "is a member of a role that acts on the server",
  exists (select 1 from pg_catalog.pg_class c where c.relowner = r.oid) as "owns relations",
  exists (select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'f') and n.nspname not in ('pg_catalog', 'information_schema')
    and not r.rolsuper and has_table_privilege(r.oid, c.oid, 'INSERT, UPDATE, DELETE, TRUNCATE'))
    as "may change rows",
  exists (select 1 from pg_catalog.pg_namespace n where n.nspname not like 'pg\\_temp%'
    and not r.rolsuper and has_schema_privilege(r.oid, n.oid, 'CREATE')) as "may create objects"
from pg_catalog.pg_roles r where r.rolname = session_user
"""
_SELECT_FUNCTION = """
select p.proname as name, n.nspname as schema, p.provolatile in ('i', 's') and not p.prosecdef as quiet,
  l.lanname as language, coalesce(e.extname, '') as extension, p.pronargs - p.pronargdefaults <= 1 as unary,
  coalesce(t.typtype = 'c' or t.typtype = 'p', false) as of_row
from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
join pg_catalog.pg_language l on l.oid = p.prolang
left join pg_catalog.pg_type t on t.oid = p.proargtypes[0]
left join pg_catalog.pg_depend d on d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass
  and d.objid = p.oid and d.deptype = 'e'
left join pg_catalog.pg_extension e on e.oid = d.refobjid
"""
_SELECT_FUNCTIONS_BY_NAME = _SELECT_FUNCTION + "where p.proname = any($1)"
_SELECT_FUNCTIONS_OF_OPERATORS = (
    _SELECT_FUNCTION
    + "where p.oid in (select o.oprcode from pg_catalog.pg_operator o where o.oprname = any($1)"
    " and o.oprnamespace <> 'pg_catalog'::pg_catalog.regnamespace)"
)
_SELECT_FUNCTIONS_OF_CASTS = (
    _SELECT_FUNCTION + "where p.oid in (select c.castfunc from pg_catalog.pg_cast c"
    " where c.casttarget = pg_catalog.to_regtype($1))"
)
_SELECT_RELATION = """
select c.relkind::pg_catalog.text as kind, n.nspname as schema,
  case when c.relkind = 'v' then pg_catalog.pg_get_viewdef(c.oid) end as definition
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = pg_catalog.to_regclass($1)
"""
_SELECT_UNNAMED_FUNCTION = """
with used as (
  select t.oid, t.typelem, t.typbasetype from pg_catalog.pg_type t where t.oid in (
    select a.atttypid from pg_catalog.pg_attribute a
      where a.attnum > 0 and a.attrelid in (select pg_catalog.to_regclass(r) from pg_catalog.unnest($1::text[]) r)
    union select pg_catalog.to_regtype(n) from pg_catalog.unnest($2::text[]) n
    union select p.prorettype from pg_catalog.pg_proc p where p.proname = any($3)
    union select pg_catalog.unnest(p.proargtypes) from pg_catalog.pg_proc p where p.proname = any($3))
), reachable as (
  select oid from used union select typelem from used union select typbasetype from used
  union select t.oid from pg_catalog.pg_type t
    join pg_catalog.pg_namespace n on n.oid = t.typnamespace where n.nspname = 'pg_catalog'
)
select p.proname as name from pg_catalog.pg_proc p
join pg_catalog.pg_namespace n on n.oid = p.pronamespace
where n.nspname <> 'pg_catalog' and (p.provolatile = 'v' or p.prosecdef) and p.oid in (
  select o.oprcode from pg_catalog.pg_operator o where o.oprname = any($4)
    and (o.oprleft = 0 or o.oprleft in (select oid from reachable)) and o.oprright in (select oid from reachable)
  union select c.castfunc from pg_catalog.pg_cast c where c.castcontext = 'i'
    and c.castsource in (select oid from reachable) and c.casttarget in (select oid from reachable))
limit 1
"""
_SELECT_DOMAIN_CHECKS = """
with recursive chain as (
  select t.oid, t.typbasetype from pg_catalog.pg_type t where t.oid = pg_catalog.to_regtype($1)
  union select t.oid, t.typbasetype from chain c join pg_catalog.pg_type t on t.oid in (c.typbasetype)
)
select pg_catalog.pg_get_expr(k.conbin, 0) as expression from pg_catalog.pg_constraint k
where k.contypid in (select oid from chain) and k.contype = 'c'
"""
_SELECT_POLICIES = """
select pg_catalog.pg_get_expr(p.polqual, p.polrelid) as expression from pg_catalog.pg_policy p
join pg_catalog.pg_class c on c.oid = p.polrelid
where c.oid = pg_catalog.to_regclass($1) and c.relrowsecurity and p.polqual is not null
"""


def _check_statement(_dialect: SqlDialect, sql: str) -> CheckedStatement:
    check: CheckedStatement = load_package(
        "postgresql", "commonplace.sqlguard.pglast_check"
    ).check_postgresql(sql)
    return check


async def _run_query(
    target: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any]
) -> QueryRows:
    asyncpg = load_package("postgresql", "asyncpg")
    connection = await _open_connection(target)
    try:
        transaction = connection.transaction(readonly=True)
        await transaction.start()
        await _drop_privileges(connection)
        await _confirm_by_catalog(connection, checked)
        rows = await _fetch_rows(connection, checked, max_rows, parameters)
        await transaction.rollback()
    except asyncpg.QueryCanceledError:
        raise TimeoutError from None
    except (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError):
        raise database_unreachable(target.name) from None
    except asyncpg.PostgresError as error:
        if error.sqlstate in _FORBIDDEN_CODES:
            raise query_forbidden(target.name, f"{error.message}, {error.sqlstate}") from None
        raise query_refused(target.name, error.sqlstate, str(error.message)) from None
    else:
        return rows
    finally:
        await asyncio.shield(_close_connection(connection))


async def _list_excess_rights(target: QueryTarget) -> list[str]:
    connection = await _open_connection(target)
    try:
        row = await connection.fetchrow(_SELECT_RIGHTS)
    finally:
        await asyncio.shield(_close_connection(connection))
    return [name for name, holds in dict(row or {}).items() if holds]


async def _open_connection(target: QueryTarget) -> Any:
    asyncpg = load_package("postgresql", "asyncpg")
    milliseconds = int(target.timeout_seconds * 1000)
    try:
        return await asyncpg.connect(
            host=target.host,
            port=target.port,
            database=target.database,
            user=target.user or None,
            password=target.password or None,
            timeout=CONNECT_SECONDS,
            statement_cache_size=0,
            server_settings={
                "application_name": "commonplace",
                "default_transaction_read_only": "on",
                "statement_timeout": str(milliseconds),
                "lock_timeout": "1000",
                "idle_in_transaction_session_timeout": str(max(milliseconds, _IDLE_MILLISECONDS)),
            },
        )
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, TimeoutError):
        raise database_unreachable(target.name) from None


async def _close_connection(connection: Any) -> None:
    """Waits for the cancel request of a query that was cut short, then leaves nothing behind."""
    asyncpg = load_package("postgresql", "asyncpg")
    try:
        await connection.close(timeout=_CLOSE_SECONDS)
    except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
        connection.terminate()


async def _drop_privileges(connection: Any) -> None:
    """A superuser reads as the role that may only read; every login finds the system's names first."""
    await connection.execute(
        "select set_config('search_path', 'pg_catalog, ' || current_setting('search_path'), true)"
    )
    if connection.get_settings().is_superuser == "on":
        await connection.execute("set local role pg_read_all_data")


async def _fetch_rows(
    connection: Any, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any]
) -> QueryRows:
    statement = await connection.prepare(checked.sql)
    columns = statement.get_attributes()
    rows = QueryRows(max_rows, [column.name for column in columns])
    if checked.can_wrap and columns:
        statement = await connection.prepare(_bound_columns(checked.sql, columns))
    cursor = await statement.cursor(*parameters)
    while batch := await cursor.fetch(rows.batch_size):
        for record in batch:
            if not rows.add_row(record):
                return rows
    return rows


def _bound_columns(sql: str, columns: Sequence[Any]) -> str:
    """Let the server truncate long values, so that a cell of a gigabyte is never transferred."""
    max_characters = min(MAX_CELL_CHARACTERS, max(256, MAX_RESULT_BYTES // len(columns))) + 1
    names = [f"c{index}" for index in range(len(columns))]
    shown = [
        _bound_column(f"q.{name}", column.type.name, max_characters)
        for name, column in zip(names, columns, strict=True)
    ]
    return f"SELECT {', '.join(shown)} FROM ({sql}\n) AS q({', '.join(names)})"


def _bound_column(name: str, type_name: str, max_characters: int) -> str:
    if type_name in _SHORT_TYPES:
        return name
    if type_name in _TEXT_TYPES:
        return f"pg_catalog.left({name}, {max_characters})"
    if type_name == "bytea":
        return f"pg_catalog.substr({name}, 1, {max_characters // 2})"
    return f"pg_catalog.left({name}::pg_catalog.text, {max_characters})"


async def _confirm_by_catalog(connection: Any, checked: CheckedStatement, depth: int = 0) -> None:
    """Refuse a statement that would run code with effects."""
    await _confirm_functions(connection, checked)
    await _confirm_operators(connection, checked.operators)
    types = {name: _quote_name(name) for name in checked.types}
    relations = {name: _quote_name(name) for name in checked.relations}
    for name, quoted in types.items():
        rows = await connection.fetch(_SELECT_FUNCTIONS_OF_CASTS, quoted)
        if not all(_only_reads(row) for row in rows):
            raise forbidden_statement(f"A cast to {name} runs code that is not known to be read-only.")
    for name, quoted in relations.items():
        await _confirm_relation(connection, name, quoted, depth)
    await _confirm_unnamed_functions(connection, checked, list(relations.values()), list(types.values()))
    for quoted in types.values():
        parts = "SELECT ", " FROM (SELECT 1 AS value) AS checked"
        await _confirm_expressions(connection, f"The domain {quoted}", _SELECT_DOMAIN_CHECKS, quoted, parts)
    for quoted in relations.values():
        parts = f"SELECT 1 FROM {quoted} WHERE ", ""
        await _confirm_expressions(connection, f"A row policy of {quoted}", _SELECT_POLICIES, quoted, parts)


async def _confirm_unnamed_functions(
    connection: Any, checked: CheckedStatement, relations: list[str], types: list[str]
) -> None:
    row = await connection.fetchrow(
        _SELECT_UNNAMED_FUNCTION,
        relations,
        types,
        sorted({name.name for name in checked.user_functions}),
        sorted(POSTGRESQL.names("everyday_operators")),
    )
    if row is not None:
        raise forbidden_statement(
            f"A cast or operator of its types runs {row['name']}, which is not known to be read-only."
        )


async def _confirm_expressions(
    connection: Any, owner: str, select: str, name: str, parts: tuple[str, str]
) -> None:
    """Check the expressions of a domain or a policy as parts of a query."""
    for item in await connection.fetch(select, name):
        with name_refused_code(owner):
            inside = _check_statement(POSTGRESQL, item["expression"].join(parts))
        await _confirm_functions(connection, inside)
        await _confirm_operators(connection, inside.operators)


async def _confirm_functions(connection: Any, checked: CheckedStatement) -> None:
    called = checked.user_functions | checked.builtin_functions
    names = {name.name for name in called} | checked.fields | checked.attributes
    if not names:
        return
    rows = await connection.fetch(_SELECT_FUNCTIONS_BY_NAME, sorted(names))
    for name in called:
        functions = [row for row in rows if row["name"] == name.name and name.schema in ("", row["schema"])]
        if (not functions and name in checked.user_functions) or not all(map(_only_reads, functions)):
            raise forbidden_function(name)
    for row in rows:
        as_field = row["name"] in checked.fields and row["unary"]
        as_column = row["name"] in checked.attributes and row["unary"] and row["of_row"]
        if (as_field or as_column) and not _only_reads(row):
            raise forbidden_function(row["name"])


async def _confirm_operators(connection: Any, names: Iterable[SqlName]) -> None:
    operators = sorted({name.name for name in names})
    if not operators:
        return
    rows = await connection.fetch(_SELECT_FUNCTIONS_OF_OPERATORS, operators)
    if not all(_only_reads(row) for row in rows):
        raise forbidden_statement(
            f"An operator of {', '.join(operators)} runs code that is not known to be read-only."
        )


def _only_reads(row: Any) -> bool:
    if row["schema"] == "pg_catalog":
        return row["name"] in POSTGRESQL.functions
    trusted = (
        row["extension"] in POSTGRESQL.names("extensions")
        if row["extension"]
        else row["language"] in _TRUSTED_LANGUAGES
    )
    return bool(row["quiet"]) and trusted and not ACTING_FUNCTIONS.match(row["name"])


async def _confirm_relation(connection: Any, name: SqlName, quoted: str, depth: int) -> None:
    row = await connection.fetchrow(_SELECT_RELATION, quoted)
    if row is None or row["schema"] in _SYSTEM_SCHEMAS:
        return
    if row["kind"] == "f":
        raise forbidden_statement(f"{name} is a foreign table; reading it would query another server.")
    if row["definition"] is None:
        return
    if depth >= MAX_VIEW_DEPTH:
        raise view_too_deep(name)
    with name_refused_code(f"The view {name}"):
        inside = _check_statement(POSTGRESQL, row["definition"])
    await _confirm_by_catalog(connection, inside, depth + 1)


def _quote_name(name: SqlName) -> str:
    parts = [*name.schema.split("."), name.name] if name.schema else [name.name]
    return ".".join('"{}"'.format(part.replace('"', '""')) for part in parts)


POSTGRESQL = SqlDialect(
    name="postgresql",
    synonyms=("postgres",),
    default_port=5432,
    check=_check_statement,
    run_query=_run_query,
    list_excess_rights=_list_excess_rights,
    select_tables="""
    select n.nspname, c.relname, case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
      when 'f' then 'foreign table' else 'table' end
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
      and not c.relispartition and has_any_column_privilege(c.oid, 'SELECT')
    order by 1, 2
    """,
    select_columns="""
    select a.attname, format_type(a.atttypid, a.atttypmod), not a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
      exists (select 1 from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype = 'p'
        and a.attnum = any(k.conkey))
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and (n.nspname = $1 or ($1 = '' and pg_table_is_visible(c.oid)))
      and c.relname = $2 and has_any_column_privilege(c.oid, 'SELECT')
    order by n.nspname, a.attnum
    """,
)
