"""MySQL and MariaDB by PyMySQL, in a thread: one statement, read only, streamed, the connection thrown away.

The asyncio drivers around it switch several statements at once on; this one does not.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from commonplace import errors
from commonplace.sqlguard import Checked
from commonplace.sqlguard.engines.rows import Rows, said_no, unreachable
from commonplace.sqlguard.engines.target import QueryTarget
from commonplace.sqlguard.engines.threads import in_thread

_CONNECT_SECONDS = 5
_INTERRUPTED = frozenset({1317, 1969, 3024})
_REFUSED = frozenset({1142, 1143, 1044, 1227, 1290, 1370, 1792})
_LOST = frozenset({2003, 2006, 2013, 2014, 2055})
_READING = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROXY"})
# The generator writes for these rules; the server's own default must not change what a quote means.
_RULES = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"


async def ask(database: QueryTarget, checked: Checked, most: int, parameters: Sequence[Any] = ()) -> Rows:
    question = _Question(database)
    return await in_thread(lambda: question.read(checked.sql, most, parameters), question.stop)


async def rights(database: QueryTarget) -> list[str]:
    """What the login may do beyond reading."""
    question = _Question(database)
    grants = await in_thread(lambda: question.read("SHOW GRANTS", 200, ()), question.stop)
    held = {right for (text,) in grants.rows for right in _granted(str(text))}
    return [f"may {right.lower()}" for right in sorted(held - _READING)]


def _granted(text: str) -> set[str]:
    match = re.match(r"GRANT (.+?) ON ", text)
    if match is None:
        return {"USE A ROLE"}
    rights = {right.strip().upper() for right in re.sub(r"\([^)]*\)", "", match[1]).split(",")}
    return rights | ({"GRANT"} if text.endswith("GRANT OPTION") else set())


class _Question:
    def __init__(self, database: QueryTarget) -> None:
        self._database = database
        self._thread = 0

    def read(self, sql: str, most: int, parameters: Sequence[Any]) -> Rows:
        try:
            connection = self._connected()
        except (pymysql.Error, OSError):
            raise unreachable(self._database.name) from None
        try:
            self._thread = connection.thread_id()
            _prepare(connection, self._database.timeout)
            return _streamed(connection, sql, most, parameters)
        except pymysql.Error as refused:
            raise _refusal(self._database.name, refused) from None
        except OSError:
            raise unreachable(self._database.name) from None
        finally:
            # Whatever still streams, and whatever the session holds, ends with the socket.
            connection._force_close()  # noqa: SLF001 - close() would first read the rest of the rows

    def stop(self) -> None:
        if not self._thread:
            return
        with contextlib.suppress(pymysql.Error, OSError), self._connected() as connection:
            connection.cursor().execute(f"KILL QUERY {int(self._thread)}")

    def _connected(self) -> Any:
        database = self._database
        return pymysql.connect(
            host=database.host,
            port=database.port,
            user=database.user,
            password=database.password,
            database=database.database,
            charset="utf8mb4",
            sql_mode=_RULES,
            local_infile=False,
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=int(database.timeout) + _CONNECT_SECONDS,
            write_timeout=_CONNECT_SECONDS,
        )


def _prepare(connection: Any, seconds: float) -> None:
    with connection.cursor() as cursor:
        if "mariadb" in connection.get_server_info().lower():
            cursor.execute(
                f"SET SESSION max_statement_time = {float(seconds)}, tx_read_only = 1, lock_wait_timeout = 1"
            )
        else:
            cursor.execute(
                f"SET SESSION max_execution_time = {int(seconds * 1000)}, transaction_read_only = 1,"
                " lock_wait_timeout = 1"
            )
        cursor.execute("START TRANSACTION READ ONLY")


def _streamed(connection: Any, sql: str, most: int, parameters: Sequence[Any]) -> Rows:
    cursor = connection.cursor(SSCursor)
    cursor.execute(sql, tuple(parameters) or None)
    rows = Rows(most, [column[0] for column in cursor.description or ()])
    while (values := cursor.fetchone()) is not None:
        if not rows.add(values):
            break
    return rows


def _refusal(name: str, refused: pymysql.Error) -> Exception:
    code, message = (*refused.args, "", "")[:2]
    if code in _INTERRUPTED:
        return TimeoutError()
    if code in _LOST:
        return unreachable(name)
    if code in _REFUSED:
        return errors.Forbidden(f"'{name}' refused the query. ({code})", hint="Agents only read here.")
    return said_no(name, code, str(message))
