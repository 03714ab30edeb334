"""SQL Server with python-tds in a thread. It has no read-only transactions: the guard and the login's rights protect it."""

import contextlib
import re
import socket
from collections.abc import Sequence
from typing import Any

from commonplace.sqlguard.dialect import CheckedStatement, SqlDialect, check_with_sqlglot
from commonplace.sqlguard.query_rows import (
    CONNECT_SECONDS,
    MAX_CELL_CHARACTERS,
    BlockingQuery,
    QueryRows,
    QueryTarget,
    load_package,
    query_forbidden,
    query_refused,
)

_FORBIDDEN_CODES = frozenset({229, 230, 262, 297, 300, 916})
_HIDDEN_DATABASES = frozenset({"master", "msdb", "model", "tempdb", "resource", "mssqlsystemresource"})
_SESSION_SETTINGS = (
    "SET QUOTED_IDENTIFIER ON; SET IMPLICIT_TRANSACTIONS OFF; SET XACT_ABORT ON; SET LOCK_TIMEOUT 1000;"
    f" SET TEXTSIZE {MAX_CELL_CHARACTERS + 2};"
)
_READING_RIGHTS = re.compile(
    r"CONNECT( SQL)?|SELECT|UNMASK|VIEW DEFINITION"
    r"|VIEW ANY (DATABASE|DEFINITION|COLUMN (ENCRYPTION|MASTER) KEY DEFINITION)"
)
_SELECT_RIGHTS = """
SELECT permission_name FROM fn_my_permissions(NULL, 'DATABASE')
UNION SELECT permission_name FROM fn_my_permissions(NULL, 'SERVER')
UNION SELECT 'membership of ' + r FROM (VALUES ('db_owner'), ('db_datawriter'), ('db_ddladmin'), ('db_securityadmin'),
  ('db_backupoperator')) AS roles(r) WHERE IS_ROLEMEMBER(r) = 1
UNION SELECT 'membership of sysadmin' WHERE IS_SRVROLEMEMBER('sysadmin') = 1
"""


def _is_hidden_relation(catalog: str, schema: str, name: str) -> bool:
    if catalog in _HIDDEN_DATABASES or name.startswith("#"):
        return True
    if schema == "sys":
        return name not in MSSQL.names("relations")
    return schema in ("", "dbo") and bool(re.match(r"sys[a-z]+$|dm_|fn_|xp_|sp_", name))


def _correct_tree(tree: Any) -> None:
    """A literal of money is no column."""
    from sqlglot import exp  # noqa: PLC0415 - large, so the first query imports it

    for column in list(tree.find_all(exp.Column)):
        qualifier, name = column.table, column.name
        if re.fullmatch(r"\$\d*", qualifier or name) and not column.db:
            column.replace(exp.Var(this=f"{qualifier}.{name}" if qualifier else name))


class _MsSqlQuery(BlockingQuery):
    def __init__(self, target: QueryTarget) -> None:
        super().__init__(target, load_package("mssql", "pytds"))
        self._socket: socket.socket | None = None

    def connect(self) -> Any:
        target = self.target
        self._socket = socket.create_connection((target.host, target.port), CONNECT_SECONDS)
        return self.driver.connect(
            server=target.host,
            port=target.port,
            database=target.database,
            user=target.user,
            password=target.password,
            sock=self._socket,
            timeout=target.timeout_seconds,
            login_timeout=CONNECT_SECONDS,
            appname="commonplace",
            readonly=True,
            autocommit=True,
            use_mars=False,
            disable_connect_retry=True,
        )

    def open_cursor(self, connection: Any, _checked: CheckedStatement) -> Any:
        cursor = connection.cursor()
        cursor.execute(_SESSION_SETTINGS)
        cursor.execute("BEGIN TRANSACTION")
        return cursor

    def disconnect(self, _connection: Any) -> None:
        """When the connection drops, the server stops the batch and rolls back."""
        self.cancel()

    def cancel(self) -> None:
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()

    def build_refusal(self, error: Any) -> Exception:
        number = getattr(error, "number", 0)
        if number in _FORBIDDEN_CODES:
            return query_forbidden(self.target.name, number)
        return query_refused(self.target.name, number, str(error)[:500])


async def _run_query(
    target: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any]
) -> QueryRows:
    return await _MsSqlQuery(target).run(checked, max_rows, parameters)


async def _list_excess_rights(target: QueryTarget) -> list[str]:
    held = await _MsSqlQuery(target).run(CheckedStatement(_SELECT_RIGHTS), 500)
    names = {str(name).strip() for (name,) in held.rows}
    return [f"has {name}" for name in sorted(names) if not _READING_RIGHTS.fullmatch(name)]


MSSQL = SqlDialect(
    name="mssql",
    synonyms=("sqlserver",),
    default_port=1433,
    check=check_with_sqlglot,
    run_query=_run_query,
    list_excess_rights=_list_excess_rights,
    select_tables="""
    SELECT TABLE_SCHEMA, TABLE_NAME, CASE TABLE_TYPE WHEN 'VIEW' THEN 'view' ELSE 'table' END
    FROM INFORMATION_SCHEMA.TABLES ORDER BY TABLE_SCHEMA, TABLE_NAME
    """,
    select_columns="""
    SELECT c.COLUMN_NAME, c.DATA_TYPE, CASE c.IS_NULLABLE WHEN 'YES' THEN 1 ELSE 0 END, c.COLUMN_DEFAULT,
      CASE WHEN EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS t
        JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE k ON k.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA
          AND k.CONSTRAINT_NAME = t.CONSTRAINT_NAME
        WHERE t.CONSTRAINT_TYPE = 'PRIMARY KEY' AND t.TABLE_SCHEMA = c.TABLE_SCHEMA
          AND t.TABLE_NAME = c.TABLE_NAME AND k.COLUMN_NAME = c.COLUMN_NAME) THEN 1 ELSE 0 END
    FROM INFORMATION_SCHEMA.COLUMNS c
    WHERE c.TABLE_SCHEMA = COALESCE(NULLIF(%s, ''), SCHEMA_NAME()) AND c.TABLE_NAME = %s ORDER BY c.ORDINAL_POSITION
    """,
    grammar="tsql",
    is_hidden_relation=_is_hidden_relation,
    correct_tree=_correct_tree,
    session_variables=re.compile(r"version|language|spid|datefirst|rowcount", re.IGNORECASE),
    query_options=re.compile(
        r"recompile|maxdop|fast|force order|(hash|merge|loop) join|maxrecursion", re.IGNORECASE
    ),
)
