"""Keys, audit rows and the state of the server, as replies show them."""

import re
import secrets
import time
from typing import Annotated

import msgspec
from pydantic import Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.clock import iso, iso_exact
from commonplace.operation import Reply
from commonplace.store.database import Row

STARTED = time.monotonic()

KeyName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.@:+-][\w .@:+-]*$")]
AgentType = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[\w.-]+$")]
Projects = Annotated[list[str], Field(max_length=100)]
Limits = Annotated[list[Annotated[str, Field(min_length=1, max_length=220)]], Field(max_length=100)]
Days = Annotated[int, Field(ge=1, le=3650)]
Limit = Annotated[int, Field(ge=1, le=200)]
Offset = Annotated[int, Field(ge=0, le=100_000)]
Cursor = Annotated[str, Field(pattern=r"^\d{1,17}-\w{1,32}$")]

_PREFIX = re.compile(r"^key_[0-9a-f]{4,}$")


def mint() -> str:
    return f"smk_{secrets.token_urlsafe(32)}"


def granted(caller: Caller, role: access.Role, asked: list[str] | None) -> list[str]:
    """The projects of a key: never more than its maker has; admins and owners get those unless told otherwise."""
    if asked is None:
        return sorted(caller.projects) if role in {"admin", "owner"} else []
    names = {name if name == access.EVERY else access.project_name(name) for name in asked}
    for name in sorted(names):
        access.require_project(caller, name, writes=True)
    return sorted(names)


def limited(caller: Caller, machines: list[str], workspaces: list[str]) -> dict[str, list[str]]:
    """The machines and workspaces that a key may write for, none named = all; never more than its maker's."""
    bound = caller.machines or caller.workspaces
    if bound and not (
        (machines or workspaces) and set(machines) <= caller.machines and set(workspaces) <= caller.workspaces
    ):
        raise errors.Forbidden(
            "A key gives no more than its maker has.", hint="Name machines or workspaces of your own key."
        )
    return {"machines": machines, "workspaces": workspaces}


def visible(caller: Caller, row: Row) -> bool:
    """A key is shown to those who have all that it has."""
    return all(caller.sees(project) for project in projects_of(row))


def projects_of(row: Row) -> list[str]:
    return msgspec.json.decode(row["projects"], type=list[str])


def chosen(rows: list[Row], wanted: str) -> Row:
    """The one key that an id, a name or the beginning of an id means."""
    exact = [row for row in rows if row["id"] == wanted] or [row for row in rows if row["name"] == wanted]
    found = exact or [row for row in rows if _PREFIX.match(wanted) and row["id"].startswith(wanted)]
    if not found:  # the text is not repeated: it may be a whole key, and refusals are written down
        raise errors.NotFound("No live key has that name or id.", hint="list_keys names them.")
    if len(found) > 1:
        raise errors.Conflict(
            f"'{wanted}' means several keys.",
            hint="Give a whole id.",
            candidates=[row["id"] for row in found],
        )
    return found[0]


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
    expires_at: str | None = None
    warning: str = ""


class RevokedKey(Reply):
    status: str
    id: str
    name: str


class RevokedWriter(Reply):
    status: str
    workspace_id: str


class Key(Reply):
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

    @classmethod
    def of(cls, row: Row, now: int) -> "Key":
        return cls(
            id=row["id"],
            name=row["name"],
            role=row["role"],
            created=iso(row["created_at"]),
            created_by=row["created_by"],
            projects=projects_of(row),
            agent=row["agent"],
            agent_type=row["agent_type"],
            machines=msgspec.json.decode(row["machines"], type=list[str]),
            workspaces=msgspec.json.decode(row["workspaces"], type=list[str]),
            expires_at=_when(row["expires_at"]),
            expired=row["expires_at"] is not None and row["expires_at"] <= now,
            revoked_at=_when(row["revoked_at"]),
            last_used_at=_when(row["last_used_at"]),
        )


class Keys(Reply):
    total: int
    keys: list[Key] = []
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
    def of(cls, row: Row) -> "AuditRow":
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
    events: list[AuditRow] = []
    next_cursor: str | None = None


class AuthStatus(Reply):
    auth: str
    role: str
    projects: list[str] = []
    key: str = ""
    agent: str | None = None
    operator: bool = False


class StoreHealth(Reply):
    kind: str
    ok: bool
    latency_ms: float


class SearchHealth(Reply):
    """`problem` is why vectors are not made; `without_vectors` counts the texts that the model did not take."""

    ok: bool
    pending: int
    problem: str = ""
    without_vectors: int = 0


class Health(Reply):
    status: str
    version: str
    uptime_seconds: int
    store: StoreHealth
    search: SearchHealth
    active_sessions: int
    active_locks: int


def _when(at: int | None) -> str | None:
    return iso(at) if at is not None else None
