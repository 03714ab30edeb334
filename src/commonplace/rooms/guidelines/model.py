"""The replies about guidelines, and the limits of their arguments."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from pydantic import Field, WithJsonSchema

from commonplace.access import ALL_PROJECTS
from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

GLOBAL_SCOPE = "global"
_MAX_NOTIFIED_SHOWN = 20

RuleName = Annotated[str, Field(min_length=1, max_length=100, pattern=r"\S")]
RuleText = Annotated[str, Field(min_length=1, max_length=4000, pattern=r"\S")]
GuidelineScope = Annotated[str, Field(min_length=1, max_length=200)]
GuidelinePriority = Annotated[int, Field(ge=1, le=100, description="Low first.")]
Enforcement = Annotated[
    dict[str, Any],
    Field(max_length=20, description="{on, match, unless, do, say, reason}"),
    WithJsonSchema({"type": "object", "maxProperties": 20}),
]
"""Validated by `rules/rule_schema.py`, whose refusals say more than a schema does, and cost no tokens."""


class Guideline(Reply):
    id: str
    name: str
    rule: str
    scope: str
    priority: int
    updated: str
    updated_by: str
    confirmed_by: str = ""
    """The person who set or confirmed it; without one it is a proposal of an agent."""
    enforce: dict[str, Any] = {}
    enforced_by: str = ""
    hits: int = 0
    last_hit: str = ""

    @classmethod
    def from_row(cls, row: Row) -> "Guideline":
        return cls(
            enforce=decode_enforcement(row["enforce"]),
            enforced_by=row["enforced_by"],
            hits=row["hits"],
            last_hit=iso(row["hit_at"]) if row["hit_at"] else "",
            id=row["id"],
            name=row["name"],
            rule=row["rule"],
            scope=scope_from_project(row["project"]),
            priority=row["priority"],
            updated=iso(row["updated_at"]),
            updated_by=row["updated_by"],
            confirmed_by=row["confirmed_by"],
        )


class BootGuideline(Reply):
    """A guideline in the boot pack."""

    name: str
    rule: str
    by: str = ""
    enforced: str = ""
    """What happens to those who break it: deny, ask, warn or inject."""


class GuidelineListing(Reply):
    count: int
    guidelines: list[Guideline]


class ChangedGuideline(Reply):
    status: str
    id: str
    name: str
    scope: str
    is_proposal: bool = False
    """Set by an agent: it counts as the team's rule once a person sets or confirms it."""
    notified: list[str] = []
    """The agents with a live session that are told of it."""

    @classmethod
    def from_row(cls, row: Row, outcome: str, notified: Sequence[str] = ()) -> "ChangedGuideline":
        return cls(
            status=outcome,
            is_proposal=outcome != "deleted" and not row["confirmed_by"],
            id=row["id"],
            name=row["name"],
            scope=scope_from_project(row["project"]),
            notified=list(notified[:_MAX_NOTIFIED_SHOWN]),
        )


class StoredRule(Reply):
    """A rule as hooks keep it (`rules/rule.py`)."""

    name: str
    scope: str
    author: str
    rule: str
    enforce: dict[str, Any]

    @classmethod
    def from_row(cls, row: Row) -> "StoredRule":
        return cls(
            name=row["name"],
            scope=scope_from_project(row["project"]),
            author=row["enforced_by"],
            rule=row["rule"],
            enforce=decode_enforcement(row["enforce"]),
        )


class RuleSet(Reply):
    """The rules of a project and the global ones; without a version if the hook has them already."""

    version: str = ""
    project: str = ""
    role: str = ""
    rules: list[StoredRule] = []


class FiredRule(Reply):
    rule: str
    scope: str
    do: str
    say: str
    by: str
    reason: str = ""
    unless: dict[str, Any] = {}
    """What would keep it from firing, beside the branch and role that were looked at."""


class RuleTest(Reply):
    fires: list[FiredRule]
    message: str = ""


def decode_enforcement(text: str) -> dict[str, Any]:
    return msgspec.json.decode(text, type=dict[str, Any]) if text else {}


def scope_from_project(project: str) -> str:
    return GLOBAL_SCOPE if project == ALL_PROJECTS else project
