"""SQL Server by python-tds, in a thread. It has no read-only transaction: the login's rights and the guard hold."""

import contextlib
import socket
from collections.abc import Sequence
from typing import Any

import pytds

from commonplace import errors
from commonplace.sqlguard import Checked
from commonplace.sqlguard.engines.rows import MOST_CELL, Rows, said_no, unreachable
from commonplace.sqlguard.engines.target import QueryTarget
from commonplace.sqlguard.engines.threads import in_thread

_CONNECT_SECONDS = 5
_REFUSED = frozenset({229, 230, 262, 297, 300, 916})
_SESSION = (
    "SET QUOTED_IDENTIFIER ON; SET IMPLICIT_TRANSACTIONS OFF; SET XACT_ABORT ON; SET LOCK_TIMEOUT 1000;"
    f" SET TEXTSIZE {MOST_CELL + 2};"
)
_READING = frozenset(
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
_RIGHTS = """
SELECT permission_name FROM fn_my_permissions(NULL, 'DATABASE')
UNION SELECT permission_name FROM fn_my_permissions(NULL, 'SERVER')
UNION SELECT 'membership of ' + r FROM (VALUES ('db_owner'), ('db_datawriter'), ('db_ddladmin'), ('db_securityadmin'),
  ('db_backupoperator')) AS roles(r) WHERE IS_ROLEMEMBER(r) = 1
UNION SELECT 'membership of sysadmin' WHERE IS_SRVROLEMEMBER('sysadmin') = 1
"""


async def ask(database: QueryTarget, checked: Checked, most: int, parameters: Sequence[Any] = ()) -> Rows:
    question = _Question(database)
    return await in_thread(lambda: question.read(checked.sql, most, parameters), question.stop)


async def rights(database: QueryTarget) -> list[str]:
    """What the login may do beyond reading."""
    question = _Question(database)
    held = await in_thread(lambda: question.read(_RIGHTS, 500, ()), question.stop)
    names = {str(name).strip() for (name,) in held.rows}
    return [f"has {name}" for name in sorted(names - _READING)]


class _Question:
    def __init__(self, database: QueryTarget) -> None:
        self._database = database
        self._socket: socket.socket | None = None

    def read(self, sql: str, most: int, parameters: Sequence[Any]) -> Rows:
        try:
            connection = self._connected()
        except (pytds.Error, OSError):
            raise unreachable(self._database.name) from None
        try:
            cursor = connection.cursor()
            cursor.execute(_SESSION)
            cursor.execute("BEGIN TRANSACTION")
            return _streamed(cursor, sql, most, parameters)
        except TimeoutError:
            raise
        except pytds.Error as refused:
            raise _refusal(self._database.name, refused) from None
        except OSError:
            raise unreachable(self._database.name) from None
        finally:
            # A dropped connection makes the server stop the batch and roll back.
            self.stop()

    def stop(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def _connected(self) -> Any:
        database = self._database
        self._socket = socket.create_connection((database.host, database.port), _CONNECT_SECONDS)
        return pytds.connect(
            server=database.host,
            port=database.port,
            database=database.database,
            user=database.user,
            password=database.password,
            sock=self._socket,
            timeout=database.timeout,
            login_timeout=_CONNECT_SECONDS,
            appname="commonplace",
            readonly=True,
            autocommit=True,
            use_mars=False,
            disable_connect_retry=True,
        )


def _streamed(cursor: Any, sql: str, most: int, parameters: Sequence[Any]) -> Rows:
    cursor.execute(sql, tuple(parameters))
    rows = Rows(most, [column[0] or "" for column in cursor.description or ()])
    while (values := cursor.fetchone()) is not None:
        if not rows.add(values):
            break
    return rows


def _refusal(name: str, refused: pytds.Error) -> errors.Refusal:
    number = getattr(refused, "number", 0)
    if number in _REFUSED:
        return errors.Forbidden(f"'{name}' refused the query. ({number})", hint="Agents only read here.")
    return said_no(name, number, str(refused)[:500])
