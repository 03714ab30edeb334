"""SQL Server with python-tds in a thread. It has no read-only transactions: the guard and the login's rights protect it."""

import contextlib
import socket
from collections.abc import Sequence
from typing import Any

import pytds

from commonplace import errors
from commonplace.sqlguard import CheckedStatement
from commonplace.sqlguard.engines.rows import (
    MAX_CELL_CHARACTERS,
    QueryRows,
    database_unreachable,
    query_refused,
)
from commonplace.sqlguard.engines.target import QueryTarget
from commonplace.sqlguard.engines.threads import run_cancellable

_CONNECT_SECONDS = 5
_FORBIDDEN_CODES = frozenset({229, 230, 262, 297, 300, 916})
_SESSION_SETTINGS = (
    "SET QUOTED_IDENTIFIER ON; SET IMPLICIT_TRANSACTIONS OFF; SET XACT_ABORT ON; SET LOCK_TIMEOUT 1000;"
    f" SET TEXTSIZE {MAX_CELL_CHARACTERS + 2};"
)
_READING_RIGHTS = frozenset(
    {
        "CONNECT",
        "CONNECT SQL",
        "SELECT",
        "UNMASK",
        "VIEW ANY COLUMN ENCRYPTION KEY DEFINITION",
        "VIEW ANY COLUMN MASTER KEY DEFINITION",
        "VIEW ANY DATABASE",
        "VIEW ANY DEFINITION",
        "VIEW DEFINITION",
    }
)
_SELECT_RIGHTS = """
SELECT permission_name FROM fn_my_permissions(NULL, 'DATABASE')
UNION SELECT permission_name FROM fn_my_permissions(NULL, 'SERVER')
UNION SELECT 'membership of ' + r FROM (VALUES ('db_owner'), ('db_datawriter'), ('db_ddladmin'), ('db_securityadmin'),
  ('db_backupoperator')) AS roles(r) WHERE IS_ROLEMEMBER(r) = 1
UNION SELECT 'membership of sysadmin' WHERE IS_SRVROLEMEMBER('sysadmin') = 1
"""


async def run_mssql_query(
    database: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any] = ()
) -> QueryRows:
    query = _MsSqlQuery(database)
    return await run_cancellable(lambda: query.read(checked.sql, max_rows, parameters), query.cancel)


async def list_excess_mssql_rights(database: QueryTarget) -> list[str]:
    """What the login may do besides reading."""
    query = _MsSqlQuery(database)
    held = await run_cancellable(lambda: query.read(_SELECT_RIGHTS, 500, ()), query.cancel)
    names = {str(name).strip() for (name,) in held.rows}
    return [f"has {name}" for name in sorted(names - _READING_RIGHTS)]


class _MsSqlQuery:
    def __init__(self, database: QueryTarget) -> None:
        self._database = database
        self._socket: socket.socket | None = None

    def read(self, sql: str, max_rows: int, parameters: Sequence[Any]) -> QueryRows:
        try:
            connection = self._connect()
        except (pytds.Error, OSError):
            raise database_unreachable(self._database.name) from None
        try:
            cursor = connection.cursor()
            cursor.execute(_SESSION_SETTINGS)
            cursor.execute("BEGIN TRANSACTION")
            return _stream_rows(cursor, sql, max_rows, parameters)
        except TimeoutError:
            raise
        except pytds.Error as error:
            raise _refusal_from_error(self._database.name, error) from None
        except OSError:
            raise database_unreachable(self._database.name) from None
        finally:
            # When the connection drops, the server stops the batch and rolls back.
            self.cancel()

    def cancel(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def _connect(self) -> Any:
        database = self._database
        self._socket = socket.create_connection((database.host, database.port), _CONNECT_SECONDS)
        return pytds.connect(
            server=database.host,
            port=database.port,
            database=database.database,
            user=database.user,
            password=database.password,
            sock=self._socket,
            timeout=database.timeout_seconds,
            login_timeout=_CONNECT_SECONDS,
            appname="commonplace",
            readonly=True,
            autocommit=True,
            use_mars=False,
            disable_connect_retry=True,
        )


def _stream_rows(cursor: Any, sql: str, max_rows: int, parameters: Sequence[Any]) -> QueryRows:
    cursor.execute(sql, tuple(parameters))
    rows = QueryRows(max_rows, [column[0] or "" for column in cursor.description or ()])
    while (values := cursor.fetchone()) is not None:
        if not rows.add_row(values):
            break
    return rows


def _refusal_from_error(name: str, error: pytds.Error) -> errors.Refusal:
    number = getattr(error, "number", 0)
    if number in _FORBIDDEN_CODES:
        return errors.Forbidden(
            f"'{name}' refused the query. ({number})",
            hint="Send a query that only reads what this login may read.",
        )
    return query_refused(name, number, str(error)[:500])
