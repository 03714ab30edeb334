"""Statements of PostgreSQL with their values written into the text, so that several travel in one message.

Every value is a quoted literal without a type, so that PostgreSQL gives it the type that the parameter would have.
"""

import re
from collections.abc import Sequence

from commonplace.store.database import Value

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
