"""Run a checked statement on a database. The first query to a dialect imports its driver."""

from types import ModuleType

from commonplace import errors
from commonplace.sqlguard.dialects import Dialect


def load_engine(dialect: Dialect) -> ModuleType:
    """A module with `run_query` and `list_excess_rights`."""
    try:
        if dialect == "postgresql":
            from commonplace.sqlguard.engines import postgres  # noqa: PLC0415 - see above

            return postgres
        if dialect == "mysql":
            from commonplace.sqlguard.engines import mysql  # noqa: PLC0415 - see above

            return mysql
        if dialect == "mssql":
            from commonplace.sqlguard.engines import mssql  # noqa: PLC0415 - see above

            return mssql
    except ModuleNotFoundError as missing:
        raise errors.Unavailable(
            f"The driver {missing.name} for {dialect} is not installed.",
            hint=f"Install commonplace[{dialect}].",
        ) from None
    from commonplace.sqlguard.engines import sqlite  # noqa: PLC0415 - see above

    return sqlite
