"""Confirm a checked statement with PostgreSQL's catalog: which code would its user-defined names run?

The definition of a view is checked like a statement. A user-defined function, operator, cast or field is allowed only
if the catalog declares it immutable or stable, it runs with the rights of its caller, and its code is SQL, PL/pgSQL or
part of a trusted extension.
"""

from collections.abc import Iterable
from typing import Any

from commonplace import errors
from commonplace.sqlguard import CheckedStatement, allowed, pglast_check, postgres_names
from commonplace.sqlguard.postgres_hidden_code import require_reading_code
from commonplace.sqlguard.verdict import SqlName, forbidden_function, forbidden_statement

_MAX_VIEW_DEPTH = 8
_TRUSTED_LANGUAGES = frozenset({"sql", "plpgsql"})

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


async def confirm_by_catalog(connection: Any, checked: CheckedStatement, depth: int = 0) -> None:
    """Refuse a statement that would run code with effects."""
    await _confirm_functions(connection, checked)
    await _confirm_operators(connection, checked.operators)
    for name in checked.types:
        rows = await connection.fetch(_SELECT_FUNCTIONS_OF_CASTS, _quote_name(name))
        if not all(_only_reads(row) for row in rows):
            raise forbidden_statement(f"A cast to {name} runs code that is not known to be read-only.")
    for name in checked.relations:
        await _confirm_relation(connection, name, depth)
    for inside in await require_reading_code(connection, checked, _quote_name, pglast_check.check_postgresql):
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
        return row["name"] in allowed.load_function_names("postgresql")
    trusted = (
        row["extension"] in postgres_names.TRUSTED_EXTENSIONS
        if row["extension"]
        else row["language"] in _TRUSTED_LANGUAGES
    )
    return bool(row["quiet"]) and trusted and not postgres_names.ACTING_FUNCTIONS.match(row["name"])


async def _confirm_relation(connection: Any, name: SqlName, depth: int) -> None:
    row = await connection.fetchrow(_SELECT_RELATION, _quote_name(name))
    if row is None or row["schema"] in postgres_names.SYSTEM_SCHEMAS:
        return
    if row["kind"] == "f":
        raise forbidden_statement(f"{name} is a foreign table; reading it would query another server.")
    if row["definition"] is None:
        return
    if depth >= _MAX_VIEW_DEPTH:
        raise errors.TooLarge(f"The view {name} is nested too deeply.", hint="Read its tables instead.")
    try:
        inside = pglast_check.check_postgresql(row["definition"])
    except errors.Refusal as refused:
        raise forbidden_statement(
            f"The view {name} is not known to be read-only: {refused.message}"
        ) from None
    await confirm_by_catalog(connection, inside, depth + 1)


def _quote_name(name: SqlName) -> str:
    parts = [*name.schema.split("."), name.name] if name.schema else [name.name]
    return ".".join('"{}"'.format(part.replace('"', '""')) for part in parts)
