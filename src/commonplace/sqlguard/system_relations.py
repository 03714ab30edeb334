"""System relations, pragmas and settings of MySQL, SQL Server and SQLite that a statement may or may not name."""

import re

from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.verdict import forbidden_statement

# They show accounts, grants and statements of other sessions.
_MYSQL_FORBIDDEN_SCHEMAS = frozenset({"mysql", "performance_schema", "sys"})
_MYSQL_FORBIDDEN_VIEWS = re.compile(
    r"processlist$|user_|applicable_roles|enabled_roles|innodb_|.*privileges$|files$|plugins$|.*(?:_variables|_status)$"
)
_MSSQL_FORBIDDEN_DATABASES = frozenset(
    {"master", "msdb", "model", "tempdb", "resource", "mssqlsystemresource"}
)
_MSSQL_READABLE_VIEWS = frozenset(
    [
        "all_columns",
        "all_objects",
        "all_parameters",
        "all_sql_modules",
        "all_views",
        "check_constraints",
        "columns",
        "computed_columns",
        "data_spaces",
        "databases",
        "default_constraints",
        "extended_properties",
        "foreign_key_columns",
        "foreign_keys",
        "identity_columns",
        "index_columns",
        "indexes",
        "key_constraints",
        "objects",
        "parameters",
        "partitions",
        "procedures",
        "schemas",
        "sequences",
        "sql_expression_dependencies",
        "sql_modules",
        "stats",
        "stats_columns",
        "synonyms",
        "system_columns",
        "system_objects",
        "system_views",
        "tables",
        "triggers",
        "types",
        "views",
    ]
)
_SQLITE_READABLE_TABLES = frozenset(
    {"sqlite_master", "sqlite_schema", "sqlite_sequence", "sqlite_stat1", "sqlite_stat4"}
)
PRAGMAS_WITH_ARGUMENT = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
# Pragmas that only read as long as they have no argument.
PRAGMAS_WITHOUT_ARGUMENT = frozenset(
    [
        "application_id",
        "auto_vacuum",
        "cache_size",
        "collation_list",
        "compile_options",
        "data_version",
        "encoding",
        "foreign_keys",
        "freelist_count",
        "journal_mode",
        "page_count",
        "page_size",
        "schema_version",
        "user_version",
        "table_list",
    ]
)
SHOW_COMMANDS = frozenset(
    {
        "TABLES",
        "COLUMNS",
        "INDEX",
        "DATABASES",
        "CREATE TABLE",
        "CREATE VIEW",
        "TABLE STATUS",
        "ENGINES",
        "COLLATION",
        "CHARACTER SET",
        "WARNINGS",
    }
)
READABLE_SESSION_VARIABLES = re.compile(
    r"version(_comment)?$|sql_mode$|time_zone$|(character_set|collation)_\w+$|lower_case_table_names$|tx_isolation$"
    r"|transaction_isolation$|max_allowed_packet$|autocommit$|language$|spid$|datefirst$|rowcount$",
    re.IGNORECASE,
)


def require_readable_relation(dialect: Dialect, catalog: str, schema: str, name: str) -> None:
    catalog, schema, name = catalog.lower(), schema.lower(), name.lower()
    if _IS_FORBIDDEN[dialect](catalog, schema, name):
        full = ".".join(part for part in (catalog, schema, name) if part)
        raise forbidden_statement(f"Agents may not read the relation {full}.", "Read tables and views.")


def _is_forbidden_mysql(catalog: str, schema: str, name: str) -> bool:
    hidden = schema == "information_schema" and _MYSQL_FORBIDDEN_VIEWS.match(name)
    return bool(catalog) or schema in _MYSQL_FORBIDDEN_SCHEMAS or bool(hidden)


def _is_forbidden_mssql(catalog: str, schema: str, name: str) -> bool:
    if catalog in _MSSQL_FORBIDDEN_DATABASES or name.startswith("#"):
        return True
    if schema == "sys":
        return name not in _MSSQL_READABLE_VIEWS
    return schema in ("", "dbo") and bool(re.match(r"sys[a-z]+$|dm_|fn_|xp_|sp_", name))


def _is_forbidden_sqlite(catalog: str, schema: str, name: str) -> bool:
    if catalog or schema not in ("", "main"):
        return True
    if name.startswith("pragma_"):
        return name.removeprefix("pragma_") not in PRAGMAS_WITH_ARGUMENT
    hidden = name in ("dbstat", "bytecode", "tables_used", "stmt", "fsdir", "completion", "carray")
    return hidden or (name.startswith("sqlite_") and name not in _SQLITE_READABLE_TABLES)


_IS_FORBIDDEN = {"mysql": _is_forbidden_mysql, "mssql": _is_forbidden_mssql, "sqlite": _is_forbidden_sqlite}
