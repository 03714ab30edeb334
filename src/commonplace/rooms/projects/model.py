"""A project and its roster, as replies show them."""

from typing import Annotated

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

Name = Annotated[str, Field(min_length=1, max_length=200)]
DisplayName = Annotated[str, Field(min_length=1, max_length=200)]
RoleDescription = Annotated[str, Field(max_length=2000)]
PathPatterns = Annotated[list[Annotated[str, Field(min_length=1, max_length=500)]], Field(max_length=50)]
Limit = Annotated[int, Field(ge=1, le=500)]
Offset = Annotated[int, Field(ge=0, le=1_000_000)]


class Member(Reply):
    agent: str
    tier: str
    role_description: str = ""
    path_patterns: list[str] = []
    last_seen: str | None = None

    @classmethod
    def of(cls, row: Row) -> "Member":
        return cls(
            agent=row["name"],
            tier=row["tier"],
            role_description=row["role_description"],
            path_patterns=msgspec.json.decode(row["path_patterns"], type=list[str]),
            last_seen=iso(row["last_seen_at"]) if row["last_seen_at"] else None,
        )


class Project(Reply):
    name: str
    display_name: str
    registered: bool
    created: str
    ignore_case: bool = False
    status: str = ""
    agent_count: int = 0
    agents: list[Member] = []

    @classmethod
    def of(cls, row: Row, status: str = "", members: tuple[Member, ...] = (), count: int = 0) -> "Project":
        return cls(
            name=row["name"],
            display_name=row["display_name"],
            registered=bool(row["registered"]),
            created=iso(row["created_at"]),
            ignore_case=bool(row["ignore_case"]),
            status=status,
            agent_count=count,
            agents=list(members),
        )


class Projects(Reply):
    total: int
    projects: list[Project] = []
    next_offset: int | None = None


class MemberChange(Reply):
    status: str
    project: str
    agent: str
    tier: str = ""
    role_description: str = ""
    path_patterns: list[str] = []


class Deleted(Reply):
    status: str
    name: str
    removed: dict[str, int] = {}


class Overview(Reply):
    project: str
    agents: int
    active_sessions: int
    last_activity: str
    document_count: int


class Shared(Reply):
    active_sessions: int
    document_count: int


class Overviews(Reply):
    total: int
    active_sessions: int
    shared: Shared
    projects: list[Overview] = []
    next_offset: int | None = None


def refuse_shared(name: str) -> None:
    if name == access.SHARED:
        raise errors.Invalid("The shared space is always there.", hint="Name a project of your own.")


def require_confirmed(name: str, confirm: str) -> None:
    if confirm != name and access.project_name(confirm) != name:
        raise errors.Invalid(
            f"Deleting '{name}' removes everything in it.", hint=f"To go on, say confirm='{name}'."
        )
