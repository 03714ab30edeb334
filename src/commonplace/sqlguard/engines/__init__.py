"""Run a checked statement on a database. The first query to a dialect imports its driver."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

from commonplace import errors
from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.engines.rows import QueryRows
from commonplace.sqlguard.engines.target import QueryTarget
from commonplace.sqlguard.verdict import CheckedStatement


class QueryEngine(NamedTuple):
    run_query: Callable[[QueryTarget, CheckedStatement, int, Sequence[Any]], Awaitable[QueryRows]]
    """Run a statement with parameters and read at most so many rows."""
    list_excess_rights: Callable[[QueryTarget], Awaitable[list[str]]]
    """What the login may do besides reading."""


def load_engine(dialect: Dialect) -> QueryEngine:
    try:
        if dialect == "postgresql":
            from commonplace.sqlguard.engines import postgres  # noqa: PLC0415 - see above

            return QueryEngine(postgres.run_postgresql_query, postgres.list_excess_postgresql_rights)
        if dialect == "mysql":
            from commonplace.sqlguard.engines import mysql  # noqa: PLC0415 - see above

            return QueryEngine(mysql.run_mysql_query, mysql.list_excess_mysql_rights)
        if dialect == "mssql":
            from commonplace.sqlguard.engines import mssql  # noqa: PLC0415 - see above

            return QueryEngine(mssql.run_mssql_query, mssql.list_excess_mssql_rights)
    except ModuleNotFoundError as missing:
        raise errors.Unavailable(
            f"The driver {missing.name} for {dialect} is not installed.",
            hint=f"Install commonplace-mcp[{dialect}]; in a clone, run `make setup EXTRAS={dialect}`.",
        ) from None
    from commonplace.sqlguard.engines import sqlite  # noqa: PLC0415 - see above

    return QueryEngine(sqlite.run_sqlite_query, sqlite.list_excess_sqlite_rights)
