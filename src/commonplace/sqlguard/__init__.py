"""Check that a text is one SQL statement that only reads.

The statement that is sent to the database is generated from the parsed tree; the original text is never sent.
`pglast_check` checks PostgreSQL, `sqlglot_check` the other dialects; `engines` run a checked statement. Which databases
exist and who may query them is decided in `rooms/databases`.
"""

from commonplace import errors
from commonplace.sqlguard import lexical
from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.verdict import CheckedStatement

__all__ = ["CheckedStatement", "check_statement"]


def check_statement(dialect: Dialect, sql: str) -> CheckedStatement:
    """The statement to send, or a refusal. The parsers are large, so the first query imports them."""
    text = lexical.normalize_query(dialect, sql)
    try:
        if dialect == "postgresql":
            from commonplace.sqlguard.pglast_check import check_postgresql  # noqa: PLC0415 - see above

            return check_postgresql(text)
        from commonplace.sqlguard.sqlglot_check import check_with_sqlglot  # noqa: PLC0415 - see above

        return check_with_sqlglot(dialect, text)
    except ModuleNotFoundError as missing:
        raise errors.Unavailable(
            f"Queries to {dialect} need the package {missing.name}, which is not installed.",
            hint=f"Install commonplace-mcp[{dialect}]; in a clone, run `make setup EXTRAS={dialect}`.",
        ) from None
    except RecursionError:
        raise errors.TooLarge(
            "The query is nested too deeply.", hint="Move nested parts into WITH queries."
        ) from None
