"""MySQL and MariaDB with PyMySQL in a thread: one read-only statement per connection, streamed.

The asyncio drivers enable several statements in one query; this driver does not.
"""

import contextlib
import re
from collections.abc import Sequence
from typing import Any

import pymysql
from pymysql.cursors import SSCursor

from commonplace import errors
from commonplace.sqlguard import CheckedStatement, verdict, view_check
from commonplace.sqlguard.engines.rows import QueryRows, database_unreachable, query_refused
from commonplace.sqlguard.engines.target import QueryTarget
from commonplace.sqlguard.engines.threads import run_cancellable

_CONNECT_SECONDS = 5
_TIMEOUT_CODES = frozenset({1317, 1969, 3024})
_FORBIDDEN_CODES = frozenset({1142, 1143, 1044, 1227, 1290, 1370, 1792})
_CONNECTION_LOST_CODES = frozenset({2003, 2006, 2013, 2014, 2055})
_READING_RIGHTS = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROXY"})
# sqlglot generates SQL for this mode; a default of the server must not change the meaning of quotes.
_SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"


async def run_mysql_query(
    database: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any] = ()
) -> QueryRows:
    query = _MySqlQuery(database)
    return await run_cancellable(lambda: query.read(checked, max_rows, parameters), query.cancel)


async def list_excess_mysql_rights(database: QueryTarget) -> list[str]:
    """What the login may do besides reading."""
    query = _MySqlQuery(database)
    grants = await run_cancellable(lambda: query.read(CheckedStatement("SHOW GRANTS"), 200, ()), query.cancel)
    held = {right for (text,) in grants.rows for right in _parse_grant(str(text))}
    return [f"may {right.lower()}" for right in sorted(held - _READING_RIGHTS)]


def _parse_grant(text: str) -> set[str]:
    match = re.match(r"GRANT (.+?) ON ", text)
    if match is None:
        return {"USE A ROLE"}
    rights = {right.strip().upper() for right in re.sub(r"\([^)]*\)", "", match[1]).split(",")}
    return rights | ({"GRANT"} if text.endswith("GRANT OPTION") else set())


class _MySqlQuery:
    def __init__(self, database: QueryTarget) -> None:
        self._database = database
        self._connection_id = 0

    def read(self, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any]) -> QueryRows:
        try:
            connection = self._connect()
        except (pymysql.Error, OSError):
            raise database_unreachable(self._database.name) from None
        try:
            self._connection_id = connection.thread_id()
            _make_read_only(connection, self._database.timeout_seconds)
            _require_reading_views(connection, self._database.database, checked)
            return _stream_rows(connection, checked.sql, max_rows, parameters)
        except pymysql.Error as error:
            raise _refusal_from_error(self._database.name, error) from None
        except OSError:
            raise database_unreachable(self._database.name) from None
        finally:
            # Closing the socket ends everything that still streams and everything that the session holds.
            connection._force_close()  # noqa: SLF001 - close() would first read the rest of the rows

    def cancel(self) -> None:
        if not self._connection_id:
            return
        with contextlib.suppress(pymysql.Error, OSError), self._connect() as connection:
            connection.cursor().execute(f"KILL QUERY {int(self._connection_id)}")

    def _connect(self) -> Any:
        database = self._database
        return pymysql.connect(
            host=database.host,
            port=database.port,
            user=database.user,
            password=database.password,
            database=database.database,
            charset="utf8mb4",
            sql_mode=_SQL_MODE,
            local_infile=False,
            connect_timeout=_CONNECT_SECONDS,
            read_timeout=int(database.timeout_seconds) + _CONNECT_SECONDS,
            write_timeout=_CONNECT_SECONDS,
        )


def _make_read_only(connection: Any, seconds: float) -> None:
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


def _require_reading_views(connection: Any, schema: str, checked: CheckedStatement) -> None:
    """A view runs its functions, such as SLEEP or LOAD_FILE, with the rights of who made it: look into each one."""
    names, depth = checked.relations, 0
    while names:
        pairs = sorted({(name.schema or schema, name.name) for name in names})
        names = set()
        for name, definition in _list_views(connection, pairs):
            if not definition:
                raise verdict.forbidden_statement(
                    f"The view {name} cannot be looked into.",
                    "Ask the operator to grant SHOW VIEW to this login.",
                )
            names |= view_check.check_view("mysql", name, definition, depth).relations
        depth += 1


def _list_views(connection: Any, pairs: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    places = ", ".join(["(%s, %s)"] * len(pairs))
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name, view_definition FROM information_schema.views"
            f" WHERE (table_schema, table_name) IN ({places})",
            [part for pair in pairs for part in pair],
        )
        return [(str(name), str(definition or "")) for name, definition in cursor.fetchall()]


def _stream_rows(connection: Any, sql: str, max_rows: int, parameters: Sequence[Any]) -> QueryRows:
    cursor = connection.cursor(SSCursor)
    cursor.execute(sql, tuple(parameters) or None)
    rows = QueryRows(max_rows, [column[0] for column in cursor.description or ()])
    while (values := cursor.fetchone()) is not None:
        if not rows.add_row(values):
            break
    return rows


def _refusal_from_error(name: str, error: pymysql.Error) -> Exception:
    code, message = (*error.args, "", "")[:2]
    if code in _TIMEOUT_CODES:
        return TimeoutError()
    if code in _CONNECTION_LOST_CODES:
        return database_unreachable(name)
    if code in _FORBIDDEN_CODES:
        return errors.Forbidden(
            f"'{name}' refused the query. ({code})",
            hint="Send a query that only reads what this login may read.",
        )
    return query_refused(name, code, str(message))
