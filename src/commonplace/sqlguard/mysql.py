"""MySQL and MariaDB with PyMySQL in a thread: one read-only statement per connection, streamed.

The asyncio drivers enable several statements in one query; this driver does not.
"""

import contextlib
import itertools
import re
from collections.abc import Sequence
from typing import Any

from commonplace.sqlguard.dialect import (
    CheckedStatement,
    SqlDialect,
    check_view,
    check_with_sqlglot,
    forbidden_statement,
    strip_leading_comments,
)
from commonplace.sqlguard.query_rows import (
    CONNECT_SECONDS,
    BlockingQuery,
    QueryRows,
    QueryTarget,
    database_unreachable,
    load_package,
    query_forbidden,
    query_refused,
)

_TIMEOUT_CODES = frozenset({1317, 1969, 3024})
_FORBIDDEN_CODES = frozenset({1142, 1143, 1044, 1227, 1290, 1370, 1792})
_CONNECTION_LOST_CODES = frozenset({2003, 2006, 2013, 2014, 2055})
_READING_RIGHTS = frozenset({"USAGE", "SELECT", "SHOW VIEW", "SHOW DATABASES", "PROXY"})
# sqlglot generates SQL for this mode; a default of the server must not change the meaning of quotes.
_SQL_MODE = "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION"
# They show accounts, grants and statements of other sessions.
_HIDDEN_SCHEMAS = frozenset({"mysql", "performance_schema", "sys"})
_HIDDEN_VIEWS = re.compile(
    r"processlist$|user_|applicable_roles|enabled_roles|innodb_|.*privileges$|files$|plugins$|.*(?:_variables|_status)$"
)
# Synonyms that sqlglot does not know.
_SHOW_SYNONYM = re.compile(r"\Ashow\s+(?:(indexes|keys)|fields)\b", re.IGNORECASE)
_VALUES = re.compile(r"\Avalues\s*(?:row\s*)?\(", re.IGNORECASE)


def _is_hidden_relation(catalog: str, schema: str, name: str) -> bool:
    hidden = schema == "information_schema" and _HIDDEN_VIEWS.match(name)
    return bool(catalog) or schema in _HIDDEN_SCHEMAS or bool(hidden)


def _respell(sql: str) -> tuple[str, str]:
    """Spellings that sqlglot does not read: synonyms of SHOW, and VALUES as a statement of its own."""
    import sqlglot  # noqa: PLC0415 - large, so the first query imports it

    text = strip_leading_comments(sql)
    if not _VALUES.match(text):
        return "", _SHOW_SYNONYM.sub(lambda word: "SHOW INDEX" if word[1] else "SHOW COLUMNS", text)
    try:
        tokens, parts, at = sqlglot.tokenize(text, "mysql"), [], 0
    except sqlglot.errors.TokenError:
        return "", text  # the parser refuses it in words
    for token, bracket in itertools.pairwise(tokens):
        if token.text.upper() == "ROW" and bracket.token_type == sqlglot.TokenType.L_PAREN:
            parts.append(text[at : token.start])
            at = token.end + 1
    rows = "".join([*parts, text[at:]]).rstrip().removesuffix(";")
    return "", f"SELECT * FROM ({rows}) AS row_values"


def _correct_tree(tree: Any) -> None:
    from sqlglot import exp  # noqa: PLC0415 - large, so the first query imports it

    for query in tree.find_all(exp.Select):
        query.set("hint", None)  # it may only change how a query runs, and SET_VAR more than that
    for source in list(tree.find_all(exp.From)):
        if isinstance(source.this, exp.Table) and source.this.sql().lower() == "dual":
            source.pop()


class _MySqlQuery(BlockingQuery):
    def __init__(self, target: QueryTarget) -> None:
        super().__init__(target, load_package("mysql", "pymysql"))
        self._connection_id = 0

    def connect(self) -> Any:
        target = self.target
        return self.driver.connect(
            host=target.host,
            port=target.port,
            user=target.user,
            password=target.password,
            database=target.database,
            charset="utf8mb4",
            sql_mode=_SQL_MODE,
            local_infile=False,
            connect_timeout=CONNECT_SECONDS,
            read_timeout=int(target.timeout_seconds) + CONNECT_SECONDS,
            write_timeout=CONNECT_SECONDS,
        )

    def open_cursor(self, connection: Any, checked: CheckedStatement) -> Any:
        self._connection_id = connection.thread_id()
        _make_read_only(connection, self.target.timeout_seconds)
        _require_reading_views(connection, self.target.database, checked)
        return connection.cursor(self.driver.cursors.SSCursor)

    def disconnect(self, connection: Any) -> None:
        connection._force_close()  # noqa: SLF001 - close() would first read the rest of the rows

    def cancel(self) -> None:
        if not self._connection_id:
            return
        with contextlib.suppress(self.driver.Error, OSError), self.connect() as connection:
            connection.cursor().execute(f"KILL QUERY {int(self._connection_id)}")

    def build_refusal(self, error: Any) -> Exception:
        code, message = (*error.args, "", "")[:2]
        if code in _TIMEOUT_CODES:
            return TimeoutError()
        if code in _CONNECTION_LOST_CODES:
            return database_unreachable(self.target.name)
        if code in _FORBIDDEN_CODES:
            return query_forbidden(self.target.name, code)
        return query_refused(self.target.name, code, str(message))


def _make_read_only(connection: Any, seconds: float) -> None:
    if "mariadb" in connection.get_server_info().lower():
        limits = f"max_statement_time = {float(seconds)}, tx_read_only = 1"
    else:
        limits = f"max_execution_time = {int(seconds * 1000)}, transaction_read_only = 1"
    with connection.cursor() as cursor:
        cursor.execute(f"SET SESSION {limits}, lock_wait_timeout = 1")
        cursor.execute("START TRANSACTION READ ONLY")


def _require_reading_views(connection: Any, schema: str, checked: CheckedStatement) -> None:
    """A view runs its functions, such as SLEEP or LOAD_FILE, with the rights of who made it: look into each one."""
    names, depth = checked.relations, 0
    while names:
        pairs = sorted({(name.schema or schema, name.name) for name in names})
        names = set()
        for name, definition in _list_views(connection, pairs):
            if not definition:
                raise forbidden_statement(
                    f"The view {name} cannot be looked into.",
                    "Ask the operator to grant SHOW VIEW to this login.",
                )
            names |= check_view(MYSQL, name, definition, depth).relations
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


async def _run_query(
    target: QueryTarget, checked: CheckedStatement, max_rows: int, parameters: Sequence[Any]
) -> QueryRows:
    return await _MySqlQuery(target).run(checked, max_rows, parameters)


async def _list_excess_rights(target: QueryTarget) -> list[str]:
    grants = await _MySqlQuery(target).run(CheckedStatement("SHOW GRANTS"), 200)
    held = {right for (text,) in grants.rows for right in _parse_grant(str(text))}
    return [f"may {right.lower()}" for right in sorted(held - _READING_RIGHTS)]


def _parse_grant(text: str) -> set[str]:
    match = re.match(r"GRANT (.+?) ON ", text)
    if match is None:
        return {"USE A ROLE"}
    rights = {right.strip().upper() for right in re.sub(r"\([^)]*\)", "", match[1]).split(",")}
    return rights | ({"GRANT"} if text.endswith("GRANT OPTION") else set())


MYSQL = SqlDialect(
    name="mysql",
    synonyms=("mariadb",),
    default_port=3306,
    check=check_with_sqlglot,
    run_query=_run_query,
    list_excess_rights=_list_excess_rights,
    select_tables="""
    SELECT '', table_name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END FROM information_schema.tables
    WHERE table_schema = DATABASE() ORDER BY table_name
    """,
    select_columns="""
    SELECT column_name, column_type, is_nullable = 'YES', column_default, column_key = 'PRI'
    FROM information_schema.columns
    WHERE table_schema = COALESCE(NULLIF(%s, ''), DATABASE()) AND table_name = %s ORDER BY ordinal_position
    """,
    executable_comment=re.compile(r"/\*M?!", re.IGNORECASE),
    grammar="mysqlmariadb",
    is_hidden_relation=_is_hidden_relation,
    split_statement=_respell,
    correct_tree=_correct_tree,
    show_commands=re.compile(
        r"tables|columns|index|databases|create (table|view)|table status|engines|collation|character set|warnings",
        re.IGNORECASE,
    ),
    session_variables=re.compile(
        r"version(_comment)?|sql_mode|time_zone|(character_set|collation)_\w+|lower_case_table_names"
        r"|(tx|transaction)_isolation|max_allowed_packet|autocommit",
        re.IGNORECASE,
    ),
)
