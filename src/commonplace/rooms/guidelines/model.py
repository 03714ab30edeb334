"""A guideline, as replies show it."""

from typing import Annotated

from pydantic import Field

from commonplace.access import EVERY
from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

GLOBAL = "global"

RuleName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
Rule = Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S")]
Scope = Annotated[str, Field(min_length=1, max_length=200)]
Priority = Annotated[int, Field(ge=1, le=100)]


class Guideline(Reply):
    name: str
    rule: str
    scope: str
    priority: int
    updated: str
    updated_by: str
    status: str = ""

    @classmethod
    def of(cls, row: Row, status: str = "") -> "Guideline":
        return cls(
            name=row["name"],
            rule=row["rule"],
            scope=scope_of(row["project"]),
            priority=row["priority"],
            updated=iso(row["updated_at"]),
            updated_by=row["updated_by"],
            status=status,
        )


class Reminder(Reply):
    """What a starting session reads."""

    name: str
    rule: str


class Guidelines(Reply):
    count: int
    guidelines: list[Guideline] = []


class Deleted(Reply):
    status: str
    name: str
    scope: str


def scope_of(project: str) -> str:
    return GLOBAL if project == EVERY else project
