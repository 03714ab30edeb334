"""A registered database, as replies show it, and what is asked of one."""

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from commonplace.operation import Reply
from commonplace.rooms.databases.config import Registered
from commonplace.sqlguard.verdict import Checked

MOST_TABLES = 2000

DatabaseName = Annotated[str, Field(min_length=1, max_length=100)]
Query = Annotated[str, Field(min_length=1, max_length=50_000)]
TableName = Annotated[str, Field(min_length=1, max_length=300)]
Limit = Annotated[int, Field(ge=1, le=10_000)]


class Database(Reply):
    name: str
    type: str
    database: str
    read_only: bool
    max_rows: int
    unsafe: list[str] = []
    unreachable: bool = False
    problem: str = ""


class Listing(Reply):
    count: int
    databases: list[Database] = []


class Table(Reply):
    name: str
    kind: str
    schema: str = ""


class Tables(Reply):
    database: str
    type: str
    count: int
    truncated: bool
    tables: list[Table] = []


class Column(Reply):
    name: str
    type: str
    nullable: bool
    primary_key: bool
    default: str = ""


class Columns(Reply):
    database: str
    table: str
    columns: list[Column]


class Result(Reply):
    database: str
    row_count: int
    truncated: bool
    elapsed_ms: int
    columns: list[str] = []
    rows: list[list[Any]] = []


@dataclass(frozen=True)
class Plan:
    """What an operation was allowed to ask; it is asked after its transaction."""

    database: Registered
    agent: str
    checked: Checked
    most: int = 0
    table: str = ""


def split(table: str) -> tuple[str, str]:
    """`schema.table` in two; quotes around either are left away."""
    schema, _, name = table.rpartition(".")
    return schema.strip('"`[]'), name.strip('"`[]')
