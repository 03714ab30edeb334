"""Questions to the schema itself, so that no list of tables is kept in code."""

from commonplace.store.database import Kind, Tx

_WITH_PROJECT: dict[Kind, str] = {
    "sqlite": (
        "select tables.name as name from pragma_table_list as tables, pragma_table_info(tables.name) as columns"
        " where tables.schema = 'main' and tables.type in ('table', 'virtual') and columns.name = 'project'"
        " order by tables.name"
    ),
    "postgresql": (
        "select tables.table_name as name from information_schema.tables"
        " join information_schema.columns using (table_schema, table_name)"
        # A Citus coordinator may hold shards beside the tables; their names end in the number of the shard.
        " where table_schema = current_schema() and table_type = 'BASE TABLE' and column_name = 'project'"
        " and tables.table_name !~ '_[0-9]{6,}$'"
        " order by tables.table_name"
    ),
}


async def project_tables(tx: Tx) -> list[str]:
    """Every table whose rows belong to a project."""
    return [row["name"] for row in await tx.all(_WITH_PROJECT[tx.kind])]
