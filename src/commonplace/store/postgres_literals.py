"""The text of statements for PostgreSQL: which projects they name, and their values written into the text, so that
several travel in one message.

Every value is a quoted literal without a type, so that PostgreSQL gives it the type that the parameter would have.
"""

import re
from collections.abc import Sequence

from commonplace.store.database import Statement, Value

_PARAMETER = re.compile(r"\$(\d+)")


def format_statement(sql: str, values: Sequence[Value]) -> str | None:
    """The statement with its values; None if one of them cannot be written into a text."""
    literals = [format_literal(value) for value in values]
    if any("\0" in literal for literal in literals):
        return None  # a message ends at a NUL, so PostgreSQL must refuse it as a parameter
    return _PARAMETER.sub(lambda match: literals[int(match[1]) - 1], sql)


def format_literal(value: Value) -> str:
    if value is None:
        return "null"
    if isinstance(value, bytes):
        return quote_text(f"\\x{value.hex()}")
    if isinstance(value, int | float):
        return f"'{int(value) if isinstance(value, int) else value!r}'"
    return quote_text(value if isinstance(value, str) else _format_array(value))


def quote_text(text: str) -> str:
    """Quote as libpq does: right whether or not the server reads backslashes in plain literals."""
    doubled = text.replace("'", "''")
    return f" E'{doubled}'".replace("\\", "\\\\") if "\\" in doubled else f"'{doubled}'"


def _format_array(values: Sequence[str] | Sequence[int]) -> str:
    return (
        "{" + ",".join(str(each) if isinstance(each, int) else _quote_element(each) for each in values) + "}"
    )


def _quote_element(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def shift_parameters(sql: str, by: int) -> str:
    """The statement with `$1` as `$(1 + by)`, so that its values can follow those of another one."""
    return _PARAMETER.sub(lambda match: f"${int(match[1]) + by}", sql) if by else sql


_PROJECT = re.compile(r"\bproject = (?:any\()?(?:\$(\d+)|('[^']*'))")
_ONE_OF_PROJECTS = re.compile(r"\bproject = any\(\$(\d+)\)")


def group_by_project(statements: Sequence[Statement]) -> list[list[int]]:
    """The places of these statements, together where they name the same projects."""
    groups: dict[frozenset[str], list[int]] = {}
    for place, (sql, *values) in enumerate(statements):
        named = frozenset(
            str(values[int(number) - 1]) if number else literal[1:-1]
            for number, literal in _PROJECT.findall(sql)
        )
        groups.setdefault(named, []).append(place)
    return list(groups.values())


def name_single_project(sql: str, values: tuple[Value, ...]) -> tuple[str, tuple[Value, ...]]:
    """`project = any($1)` with one project as `project = $1`: Citus asks every shard for a correlated `any`."""
    listed = list(values)
    for number in set(_ONE_OF_PROJECTS.findall(sql)):
        projects = values[int(number) - 1]
        is_used_elsewhere = len(re.findall(rf"\${number}\b", sql)) != sql.count(f"project = any(${number})")
        if isinstance(projects, list | tuple) and len(projects) == 1 and not is_used_elsewhere:
            sql = sql.replace(f"project = any(${number})", f"project = ${number}")
            listed[int(number) - 1] = projects[0]
    return sql, tuple(listed)
