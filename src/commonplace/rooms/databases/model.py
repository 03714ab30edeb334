"""Replies and arguments of memory_db, and the plan of a query that runs after the transaction."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from commonplace.operation import Reply
from commonplace.rooms.databases.store import RegisteredDatabase
from commonplace.sqlguard import CheckedStatement

MAX_LISTED_TABLES = 2000

DatabaseName = Annotated[str, Field(min_length=1, max_length=100, description="From action=list.")]
Query = Annotated[str, Field(min_length=1, max_length=50_000)]
TableName = Annotated[str, Field(min_length=1, max_length=300)]
RowLimit = Annotated[int, Field(ge=1, le=10_000)]


class ListedDatabase(Reply):
    name: str
    type: str
    database: str
    read_only: bool
    max_rows: int
    unsafe: list[str] = []
    unreachable: bool = False
    problem: str = ""


class DatabaseListing(Reply):
    count: int
    databases: list[ListedDatabase]


class DatabaseTable(Reply):
    name: str
    kind: str
    schema: str = ""


class DatabaseTables(Reply):
    database: str
    type: str
    count: int
    truncated: bool
    tables: list[DatabaseTable]


class TableColumn(Reply):
    name: str
    type: str
    nullable: bool
    primary_key: bool
    default: str = ""


class TableColumns(Reply):
    database: str
    table: str
    columns: list[TableColumn]


class DatabaseQueryResult(Reply):
    database: str
    row_count: int
    truncated: bool
    elapsed_ms: int
    columns: list[str]
    rows: list[list[Any]]


@dataclass(frozen=True)
class QueryPlan:
    """A query that an operation was allowed to run; it runs after the transaction."""

    database: RegisteredDatabase
    agent: str
    checked: CheckedStatement
    max_rows: int = 0
    table: str = ""


def split_table_name(table: str) -> tuple[str, str]:
    """Split `schema.table` and remove quotes around both parts."""
    schema, _, name = table.rpartition(".")
    return schema.strip('"`[]'), name.strip('"`[]')
