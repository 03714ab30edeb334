"""The replies about guidelines, and the limits of their arguments."""

from typing import Annotated

from pydantic import Field

from commonplace.access import ALL_PROJECTS
from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

GLOBAL_SCOPE = "global"

RuleName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
RuleText = Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S")]
GuidelineScope = Annotated[str, Field(min_length=1, max_length=200)]
GuidelinePriority = Annotated[int, Field(ge=1, le=100)]


class Guideline(Reply):
    id: str
    name: str
    rule: str
    scope: str
    priority: int
    updated: str
    updated_by: str

    @classmethod
    def from_row(cls, row: Row) -> "Guideline":
        return cls(
            id=row["id"],
            name=row["name"],
            rule=row["rule"],
            scope=scope_from_project(row["project"]),
            priority=row["priority"],
            updated=iso(row["updated_at"]),
            updated_by=row["updated_by"],
        )


class BootGuideline(Reply):
    """A guideline in the boot pack."""

    name: str
    rule: str
    by: str = ""


class GuidelineListing(Reply):
    count: int
    guidelines: list[Guideline]


class ChangedGuideline(Reply):
    status: str
    id: str
    name: str
    scope: str

    @classmethod
    def from_row(cls, row: Row, outcome: str) -> "ChangedGuideline":
        return cls(status=outcome, id=row["id"], name=row["name"], scope=scope_from_project(row["project"]))


def scope_from_project(project: str) -> str:
    return GLOBAL_SCOPE if project == ALL_PROJECTS else project
