"""Relations and settings of the servers that a statement may not name."""

import re

from commonplace.sqlguard.dialects import Dialect
from commonplace.sqlguard.verdict import refuse

# Accounts, grants, other sessions' statements.
_MYSQL_SCHEMAS = frozenset({"mysql", "performance_schema", "sys"})
_MYSQL_VIEWS = re.compile(
    r"processlist$|user_|applicable_roles|enabled_roles|innodb_|.*privileges$|files$|plugins$"
)
_TSQL_DATABASES = frozenset({"master", "msdb", "model", "tempdb", "resource", "mssqlsystemresource"})
_TSQL_SYSTEM = frozenset(
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
_SQLITE_SYSTEM = frozenset(
    {"sqlite_master", "sqlite_schema", "sqlite_sequence", "sqlite_stat1", "sqlite_stat4"}
)
PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo", "foreign_key_list"}
)
# Pragmas that only tell something when they are given nothing.
READABLE_PRAGMAS = frozenset(
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
SHOWS = frozenset(
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
SESSION_PARAMETERS = re.compile(
    r"version(_comment)?$|sql_mode$|time_zone$|(character_set|collation)_\w+$|lower_case_table_names$|tx_isolation$"
    r"|transaction_isolation$|max_allowed_packet$|autocommit$|language$|spid$|datefirst$|rowcount$",
    re.IGNORECASE,
)


def refuse_relation(dialect: Dialect, catalog: str, schema: str, name: str) -> None:
    catalog, schema, name = catalog.lower(), schema.lower(), name.lower()
    if _SECRET[dialect](catalog, schema, name):
        full = ".".join(part for part in (catalog, schema, name) if part)
        raise refuse(f"{full} is not a relation that agents may read.", "Read tables and views.")


def _mysql(catalog: str, schema: str, name: str) -> bool:
    hidden = schema == "information_schema" and _MYSQL_VIEWS.match(name)
    return bool(catalog) or schema in _MYSQL_SCHEMAS or bool(hidden)


def _mssql(catalog: str, schema: str, name: str) -> bool:
    if catalog in _TSQL_DATABASES or name.startswith("#"):
        return True
    if schema == "sys":
        return name not in _TSQL_SYSTEM
    return schema in ("", "dbo") and bool(re.match(r"sys[a-z]+$|dm_|fn_|xp_|sp_", name))


def _sqlite(catalog: str, schema: str, name: str) -> bool:
    if catalog or schema not in ("", "main"):
        return True
    if name.startswith("pragma_"):
        return name.removeprefix("pragma_") not in PRAGMAS
    hidden = name in ("dbstat", "bytecode", "tables_used", "stmt", "fsdir", "completion", "carray")
    return hidden or (name.startswith("sqlite_") and name not in _SQLITE_SYSTEM)


_SECRET = {"mysql": _mysql, "mssql": _mssql, "sqlite": _sqlite}
