"""What only PostgreSQL's catalogue can say of a checked statement: what its user-defined names would run.

A view is guarded as if its text stood in the statement. A user's function, operator, cast or field runs only if the
catalogue calls it immutable or stable, it runs with the rights of its caller, and its code is SQL, PL/pgSQL or of a
known extension.
"""

from collections.abc import Iterable
from typing import Any

from commonplace import errors
from commonplace.sqlguard import Checked, allowed, pglast_check, postgres_names
from commonplace.sqlguard.verdict import Name, refuse, refuse_function

_DEEPEST = 8
_LANGUAGES = frozenset({"sql", "plpgsql"})

_FUNCTION = """
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
_BY_NAME = _FUNCTION + "where p.proname = any($1)"
_OF_OPERATORS = (
    _FUNCTION + "where p.oid in (select o.oprcode from pg_catalog.pg_operator o where o.oprname = any($1)"
    " and o.oprnamespace <> 'pg_catalog'::pg_catalog.regnamespace)"
)
_OF_CASTS = (
    _FUNCTION + "where p.oid in (select c.castfunc from pg_catalog.pg_cast c"
    " where c.casttarget = pg_catalog.to_regtype($1))"
)
_RELATION = """
select c.relkind::pg_catalog.text as kind, n.nspname as schema,
  case when c.relkind = 'v' then pg_catalog.pg_get_viewdef(c.oid) end as definition
from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
where c.oid = pg_catalog.to_regclass($1)
"""


async def confirm(connection: Any, checked: Checked, depth: int = 0) -> None:
    """Refuse what would run somebody's code that acts."""
    await _functions(connection, checked)
    await _operators(connection, checked.operators)
    for name in checked.types:
        rows = await connection.fetch(_OF_CASTS, _quoted(name))
        if not all(_reads(row) for row in rows):
            raise refuse(f"A cast to {name} runs code that is not known to only read.")
    for name in checked.relations:
        await _relation(connection, name, depth)


async def _functions(connection: Any, checked: Checked) -> None:
    asked = checked.functions | checked.called
    wanted = {name.name for name in asked} | checked.fields | checked.attributes
    if not wanted:
        return
    rows = await connection.fetch(_BY_NAME, sorted(wanted))
    for name in asked:
        found = [row for row in rows if row["name"] == name.name and name.schema in ("", row["schema"])]
        if (not found and name in checked.functions) or not all(_reads(row) for row in found):
            raise refuse_function(name)
    for row in rows:
        as_field = row["name"] in checked.fields and row["unary"]
        as_column = row["name"] in checked.attributes and row["unary"] and row["of_row"]
        if (as_field or as_column) and not _reads(row):
            raise refuse_function(row["name"])


async def _operators(connection: Any, names: Iterable[Name]) -> None:
    asked = sorted({name.name for name in names})
    if not asked:
        return
    rows = await connection.fetch(_OF_OPERATORS, asked)
    if not all(_reads(row) for row in rows):
        raise refuse(f"An operator of {', '.join(asked)} runs code that is not known to only read.")


def _reads(row: Any) -> bool:
    if row["schema"] == "pg_catalog":
        return row["name"] in allowed.functions("postgresql")
    known = (
        row["extension"] in postgres_names.EXTENSIONS if row["extension"] else row["language"] in _LANGUAGES
    )
    return bool(row["quiet"]) and known and not postgres_names.ACTING_FUNCTIONS.match(row["name"])


async def _relation(connection: Any, name: Name, depth: int) -> None:
    row = await connection.fetchrow(_RELATION, _quoted(name))
    if row is None or row["schema"] in postgres_names.SYSTEM_SCHEMAS:
        return
    if row["kind"] == "f":
        raise refuse(f"{name} is a foreign table; reading it acts on another server.")
    if row["definition"] is None:
        return
    if depth >= _DEEPEST:
        raise errors.TooLarge(f"The view {name} is made of too many views.", hint="Read its tables.")
    try:
        inside = pglast_check.check(row["definition"])
    except errors.Refusal as refused:
        raise refuse(f"The view {name} is not known to only read: {refused.message}") from None
    await confirm(connection, inside, depth + 1)


def _quoted(name: Name) -> str:
    parts = [*name.schema.split("."), name.name] if name.schema else [name.name]
    return ".".join('"{}"'.format(part.replace('"', '""')) for part in parts)
