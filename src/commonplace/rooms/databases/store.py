"""SQL that lists the tables and columns of registered databases. The room itself stores nothing."""

from dataclasses import dataclass

from commonplace.sqlguard.dialects import Dialect


@dataclass(frozen=True)
class SchemaQueries:
    """`tables` returns schema, name, kind; `columns` takes schema and table and returns name, type, nullable, default, key."""

    tables: str
    columns: str


_POSTGRESQL = SchemaQueries(
    """
    select n.nspname, c.relname, case c.relkind when 'v' then 'view' when 'm' then 'materialized view'
      when 'f' then 'foreign table' else 'table' end
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname not like 'pg\\_%' and n.nspname <> 'information_schema'
      and not c.relispartition and has_any_column_privilege(c.oid, 'SELECT')
    order by 1, 2
    """,
    """
    select a.attname, format_type(a.atttypid, a.atttypmod), not a.attnotnull, pg_get_expr(d.adbin, d.adrelid),
      exists (select 1 from pg_catalog.pg_constraint k where k.conrelid = c.oid and k.contype = 'p'
        and a.attnum = any(k.conkey))
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_catalog.pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and (n.nspname = $1 or ($1 = '' and pg_table_is_visible(c.oid)))
      and c.relname = $2 and has_any_column_privilege(c.oid, 'SELECT')
    order by n.nspname, a.attnum
    """,
)
_MYSQL = SchemaQueries(
    """
    SELECT '', table_name, CASE table_type WHEN 'VIEW' THEN 'view' ELSE 'table' END FROM information_schema.tables
    WHERE table_schema = DATABASE() ORDER BY table_name
    """,
    """
    SELECT column_name, column_type, is_nullable = 'YES', column_default, column_key = 'PRI'
    FROM information_schema.columns
    WHERE table_schema = COALESCE(NULLIF(%s, ''), DATABASE()) AND table_name = %s ORDER BY ordinal_position
    """,
)
_MSSQL = SchemaQueries(
    """
    SELECT TABLE_SCHEMA, TABLE_NAME, CASE TABLE_TYPE WHEN 'VIEW' THEN 'view' ELSE 'table' END
    FROM INFORMATION_SCHEMA.TABLES ORDER BY TABLE_SCHEMA, TABLE_NAME
    """,
    """
    SELECT c.COLUMN_NAME, c.DATA_TYPE, CASE c.IS_NULLABLE WHEN 'YES' THEN 1 ELSE 0 END, c.COLUMN_DEFAULT,
      CASE WHEN EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS t
        JOIN INFORMATION_SCHEMA.KEY_COLUMN_USAGE k ON k.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA
          AND k.CONSTRAINT_NAME = t.CONSTRAINT_NAME
        WHERE t.CONSTRAINT_TYPE = 'PRIMARY KEY' AND t.TABLE_SCHEMA = c.TABLE_SCHEMA
          AND t.TABLE_NAME = c.TABLE_NAME AND k.COLUMN_NAME = c.COLUMN_NAME) THEN 1 ELSE 0 END
    FROM INFORMATION_SCHEMA.COLUMNS c
    WHERE c.TABLE_SCHEMA = COALESCE(NULLIF(%s, ''), SCHEMA_NAME()) AND c.TABLE_NAME = %s ORDER BY c.ORDINAL_POSITION
    """,
)
_SQLITE = SchemaQueries(
    """
    select '', name, type from pragma_table_list
    where schema = 'main' and type <> 'shadow' and substr(name, 1, 7) <> 'sqlite_' order by name
    """,
    """
    select name, type, not "notnull" and not pk, dflt_value, pk > 0 from pragma_table_xinfo(?2)
    where hidden <> 1 and ?1 in ('', 'main') order by cid
    """,
)

SCHEMA_QUERIES: dict[Dialect, SchemaQueries] = {
    "postgresql": _POSTGRESQL,
    "mysql": _MYSQL,
    "mssql": _MSSQL,
    "sqlite": _SQLITE,
}
