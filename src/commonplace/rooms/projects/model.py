"""The replies about projects and their rosters, and the checks that need no store."""

from typing import Annotated

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.clock import iso
from commonplace.operation import Reply
from commonplace.store.database import Row

ProjectName = Annotated[str, Field(min_length=1, max_length=200)]
DisplayName = Annotated[str, Field(min_length=1, max_length=200)]
RoleDescription = Annotated[str, Field(max_length=2000)]
PathPatterns = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=500)]],
    Field(max_length=50, description="Its working directories."),
]
ProjectLimit = Annotated[int, Field(ge=1, le=500)]
ProjectOffset = Annotated[int, Field(ge=0, le=1_000_000)]


class RosterMember(Reply):
    agent: str
    tier: str
    role_description: str = ""
    path_patterns: list[str] = []
    last_seen: str | None = None

    @classmethod
    def from_row(cls, row: Row) -> "RosterMember":
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
    agents: list[RosterMember] = []

    @classmethod
    def from_row(
        cls, row: Row, status: str = "", members: tuple[RosterMember, ...] = (), count: int = 0
    ) -> "Project":
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


class ProjectListing(Reply):
    total: int
    projects: list[Project]
    next_offset: int | None = None


class RosterChange(Reply):
    status: str
    project: str
    agent: str
    tier: str = ""


class DeletedProject(Reply):
    status: str
    name: str
    removed: dict[str, int] = {}


class ProjectOverview(Reply):
    project: str
    agents: int
    active_sessions: int
    last_activity: str
    document_count: int


class SharedOverview(Reply):
    active_sessions: int
    document_count: int


class ProjectOverviewListing(Reply):
    total: int
    active_sessions: int
    shared: SharedOverview
    projects: list[ProjectOverview]
    next_offset: int | None = None


def require_not_shared(name: str) -> None:
    if name == access.SHARED:
        raise errors.Invalid(
            f"'{access.SHARED}' is the shared space, not a project.", hint="Set `name` to another project."
        )


def require_delete_confirmation(name: str, confirm: str) -> None:
    if access.join_words(confirm, "_") != name:
        raise errors.Invalid(
            f"Deleting '{name}' removes everything in it.", hint=f"Set confirm='{name}' to delete it."
        )
