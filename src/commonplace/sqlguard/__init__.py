"""Check that a text is one SQL statement that only reads, and run it.

The statement that is sent to the database is generated from the parsed tree; the original text is never sent. Each
engine is one `SqlDialect` in a module of its own; another engine is another module and its line in `DIALECTS`. Which
databases exist and who may query them is decided in `rooms/databases`.
"""

import re

from commonplace import errors
from commonplace.sqlguard.dialect import CheckedStatement
from commonplace.sqlguard.mssql import MSSQL
from commonplace.sqlguard.mysql import MYSQL
from commonplace.sqlguard.postgresql import POSTGRESQL
from commonplace.sqlguard.sqlite import SQLITE

__all__ = ["DIALECTS", "CheckedStatement", "check_statement"]

DIALECTS = {dialect.name: dialect for dialect in (POSTGRESQL, MYSQL, MSSQL, SQLITE)}
MAX_QUERY_BYTES = 20_000
# Parsers and servers interpret them differently: CR ends a `--` comment for some servers but not for others; U+FEFF is
# white space for SQLite alone.
_AMBIGUOUS_CHARACTER = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ufeff\u200b-\u200f\u2028-\u202e\u2060-\u206f]"
)


def check_statement(dialect_name: str, sql: str) -> CheckedStatement:
    """The statement to send, or a refusal."""
    dialect, text = DIALECTS[dialect_name], sql.replace("\r\n", "\n").strip()
    if not text:
        raise errors.Invalid("The query is empty.", hint="Send one SELECT statement.")
    if len(text.encode()) > MAX_QUERY_BYTES:
        raise errors.TooLarge(
            f"A query has at most {MAX_QUERY_BYTES:,} bytes.", hint="Shorten the query or split it."
        )
    if match := _AMBIGUOUS_CHARACTER.search(text):
        raise errors.Forbidden(
            f"The query contains the character U+{ord(match[0]):04X}, which databases interpret differently.",
            hint="Use plain spaces and line feeds only.",
        )
    if match := dialect.executable_comment.search(text):
        raise errors.Forbidden(
            f"The query contains a comment that {dialect.name} executes ({match[0]}).",
            hint="Remove that comment.",
        )
    try:
        return dialect.check(dialect, text)
    except RecursionError:
        raise errors.TooLarge(
            "The query is nested too deeply.", hint="Move nested parts into WITH queries."
        ) from None
