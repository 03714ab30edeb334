"""The replies about keys, the audit log and server health, and the rules for the scope of a key."""

import re
import secrets
import time
from typing import Annotated

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.arguments import ProjectSpelling
from commonplace.clock import iso, iso_exact
from commonplace.operation import Reply
from commonplace.store.database import Row

PROCESS_START_SECONDS = time.monotonic()

KeyName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.@:+-][\w .@:+-]*$")]
AgentType = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.-]+$")]
KeyProjects = Annotated[list[ProjectSpelling], Field(max_length=100, description="`*`: all.")]
KeyLimits = Annotated[list[Annotated[str, Field(min_length=1, max_length=220)]], Field(max_length=100)]
ExpiryDays = Annotated[int, Field(ge=1, le=3650)]
AdminPageLimit = Annotated[int, Field(ge=1, le=200)]
AdminPageOffset = Annotated[int, Field(ge=0, le=100_000)]
AuditCursor = Annotated[str, Field(max_length=50, pattern=r"^\d{1,17}-\w{1,32}$")]
SubjectId = Annotated[
    str,
    Field(
        min_length=22,
        max_length=22,
        pattern=r"^oauth_[0-9a-f]{16}$",
        description="As list_keys of memory_admin shows it: oauth_...",
    ),
]
AuditFilter = Annotated[str, Field(max_length=200)]

_KEY_ID_PREFIX = re.compile(r"^key_[0-9a-f]{4,}$")


def mint_key_secret() -> str:
    return f"smk_{secrets.token_urlsafe(32)}"


def resolve_key_projects(caller: Caller, role: access.Role, requested: list[str] | None) -> list[str]:
    """Return the projects of a new key, never more than its creator has.

    Without a request, admin and owner keys get the creator's projects and other keys get none.
    """
    if requested is None:
        return sorted(caller.projects) if role in {"admin", "owner"} else []
    spelled = [name for each in requested for name in each.split(",")]
    names = {
        name if name == access.ALL_PROJECTS else access.normalize_project_name(name)
        for name in map(str.strip, spelled)
        if name
    }
    for name in sorted(names):
        access.require_project(caller, name, writes=True)
    return sorted(names)


def resolve_key_limits(caller: Caller, machines: list[str], workspaces: list[str]) -> dict[str, list[str]]:
    """Return the machines and workspaces that a new key may write for (none = all), never more than its creator's."""
    is_limited = caller.machines or caller.workspaces
    if is_limited and not (
        (machines or workspaces) and set(machines) <= caller.machines and set(workspaces) <= caller.workspaces
    ):
        raise errors.Forbidden(
            "A new key cannot have more access than the key that creates it.",
            hint="Set `machines` or `workspaces` to those of your own key.",
        )
    return {"machines": machines, "workspaces": workspaces}


def is_visible_key(caller: Caller, row: Row) -> bool:
    """Does the caller see every project of this key?"""
    return all(caller.sees_project(project) for project in parse_key_projects(row))


def parse_key_projects(row: Row) -> list[str]:
    return msgspec.json.decode(row["projects"], type=list[str])


def choose_key(rows: list[Row], reference: str) -> Row:
    """Find the one key with this id, name or id prefix."""
    exact = [row for row in rows if row["id"] == reference] or [
        row for row in rows if row["name"] == reference
    ]
    matches = exact or [
        row for row in rows if _KEY_ID_PREFIX.match(reference) and row["id"].startswith(reference)
    ]
    if not matches:  # the message leaves out the reference: it may be a secret, and refusals are audited
        raise errors.NotFound(
            "No live key has that name or id.", hint="Set action='list_keys' to see names and ids."
        )
    if len(matches) > 1:
        raise errors.Conflict(
            f"'{reference}' matches several keys.",
            hint="Set `name` to one of the candidate ids.",
            candidates=[row["id"] for row in matches],
        )
    return matches[0]


class CreatedKey(Reply):
    status: str
    key: str
    id: str
    name: str
    role: str
    projects: list[str] = []
    agent: str | None = None
    agent_type: str | None = None
    machines: list[str] = []
    workspaces: list[str] = []
    person: bool = False
    expires_at: str | None = None
    warning: str = ""


class RevokedKey(Reply):
    status: str
    id: str
    name: str


class ReadmittedSubject(Reply):
    status: str
    id: str


class RevokedWriter(Reply):
    status: str
    workspace_id: str


class ApiKey(Reply):
    id: str
    name: str
    role: str
    created: str
    created_by: str
    projects: list[str] = []
    agent: str | None = None
    agent_type: str | None = None
    machines: list[str] = []
    workspaces: list[str] = []
    expires_at: str | None = None
    expired: bool = False
    revoked_at: str | None = None
    last_used_at: str | None = None
    person: bool = False

    @classmethod
    def from_row(cls, row: Row, now: int) -> "ApiKey":
        return cls(
            id=row["id"],
            name=row["name"],
            role=row["role"],
            created=iso(row["created_at"]),
            created_by=row["created_by"],
            projects=parse_key_projects(row),
            agent=row["agent"],
            agent_type=row["agent_type"],
            machines=msgspec.json.decode(row["machines"], type=list[str]),
            workspaces=msgspec.json.decode(row["workspaces"], type=list[str]),
            expires_at=_iso_or_none(row["expires_at"]),
            expired=row["expires_at"] is not None and row["expires_at"] <= now,
            revoked_at=_iso_or_none(row["revoked_at"]),
            last_used_at=_iso_or_none(row["last_used_at"]),
            person=bool(row["person"]),
        )


class ApiKeyListing(Reply):
    total: int
    keys: list[ApiKey]
    next_offset: int | None = None


class AuditRow(Reply):
    at: str
    operation: str
    outcome: str
    role: str
    project: str = ""
    agent: str = ""
    key: str = ""
    detail: str = ""

    @classmethod
    def from_row(cls, row: Row) -> "AuditRow":
        return cls(
            at=iso_exact(row["at"]),
            operation=row["operation"],
            outcome=row["outcome"],
            role=row["role"],
            project=row["project"],
            agent=row["agent"],
            key=row["key_id"],
            detail=row["detail"],
        )


class AuditPage(Reply):
    count: int
    events: list[AuditRow]
    next_cursor: str | None = None


class AuthStatus(Reply):
    auth: str
    role: str
    projects: list[str] = []
    key: str = ""
    name: str = ""
    """The name of the key, as an agent name."""
    agent: str | None = None
    operator: bool = False


class StoreHealth(Reply):
    kind: str
    ok: bool
    latency_ms: float


class SearchHealth(Reply):
    """`problem` says why no vectors are made or compared; `without_vectors` counts the texts that the model rejected."""

    ok: bool
    pending: int
    problem: str = ""
    without_vectors: int = 0


class ServerHealth(Reply):
    status: str
    version: str
    uptime_seconds: int
    store: StoreHealth
    search: SearchHealth
    active_sessions: int
    active_locks: int


def _iso_or_none(at: int | None) -> str | None:
    return iso(at) if at is not None else None
