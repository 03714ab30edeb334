"""Code of a PostgreSQL database that a statement runs without naming it: casts, operators, domains and row policies.

Which types a statement uses is told by its relations, its functions and the types that it names. An implicit cast or an
everyday operator of one of them may be somebody's volatile function; so may be the check of a domain, or a policy.
"""

from collections.abc import Callable
from typing import Any

from commonplace import errors
from commonplace.sqlguard.verdict import CheckedStatement, forbidden_statement

# Operators that sorting, grouping, joining and comparing use, whether the statement writes them or not.
_EVERYDAY_OPERATORS = [
    "=",
    "<>",
    "<",
    "<=",
    ">",
    ">=",
    "+",
    "-",
    "*",
    "/",
    "%",
    "||",
    "~",
    "~~",
    "->",
    "->>",
    "@>",
]

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

Check = Callable[[str], CheckedStatement]


async def require_reading_code(
    connection: Any, checked: CheckedStatement, quote_name: Callable[[Any], str], check: Check
) -> list[CheckedStatement]:
    """Refuse a statement that would run such code; return the expressions that the catalog must confirm further."""
    relations = [quote_name(name) for name in checked.relations]
    types = [quote_name(name) for name in checked.types]
    functions = sorted({name.name for name in checked.user_functions})
    row = await connection.fetchrow(
        _SELECT_UNNAMED_FUNCTION, relations, types, functions, _EVERYDAY_OPERATORS
    )
    if row is not None:
        raise forbidden_statement(
            f"A cast or operator of its types runs {row['name']}, which is not known to be read-only."
        )
    found: list[CheckedStatement] = []
    for name in types:
        for item in await connection.fetch(_SELECT_DOMAIN_CHECKS, name):
            query = f"SELECT {item['expression']} FROM (SELECT 1 AS value) AS checked"
            found.append(_check_expression(f"The domain {name}", query, check))
    for name in relations:
        for item in await connection.fetch(_SELECT_POLICIES, name):
            query = f"SELECT 1 FROM {name} WHERE {item['expression']}"
            found.append(_check_expression(f"A row policy of {name}", query, check))
    return found


def _check_expression(owner: str, query: str, check: Check) -> CheckedStatement:
    try:
        return check(query)
    except errors.Refusal as refused:
        raise forbidden_statement(f"{owner} is not known to be read-only: {refused.message}") from None
