"""An agent of a project, as replies show it."""

from typing import Annotated, Literal

from pydantic import Field

from commonplace.clock import MINUTE, iso
from commonplace.operation import Reply
from commonplace.store.database import Row

STALE_AFTER = 5 * MINUTE

Status = Literal["idle", "busy", "error"]
Tier = Literal["admin", "named", "worker", "pending"]
TASK_LENGTH = 500
Task = Annotated[str, Field(max_length=TASK_LENGTH)]
AgentName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^\w[\w.@:+-]*$")]


class Heartbeat(Reply):
    status: str
    agent_status: str
    timestamp: str
    unread: int
    leases_renewed: int


class AgentStatus(Reply):
    instance: str
    project: str
    status: str
    stale: bool
    sessions: int
    locks: int
    current_task: str = ""
    last_heartbeat: str | None = None

    @classmethod
    def of(cls, row: Row, now: int) -> "AgentStatus":
        beat = row["heartbeat_at"]
        return cls(
            instance=row["name"],
            project=row["project"],
            status=row["status"],
            stale=beat is None or now - beat > STALE_AFTER,
            sessions=row["sessions"],
            locks=row["locks"],
            current_task=row["current_task"],
            last_heartbeat=iso(beat) if beat else None,
        )


class Agent(Reply):
    project: str
    instance: str
    tier: str
    session_count: int
    role_description: str = ""
    last_seen: str | None = None
    last_task: str = ""

    @classmethod
    def of(cls, row: Row) -> "Agent":
        return cls(
            project=row["project"],
            instance=row["name"],
            tier=row["tier"],
            session_count=row["session_count"],
            role_description=row["role_description"],
            last_seen=iso(row["last_seen_at"]) if row["last_seen_at"] else None,
            last_task=row["last_task"],
        )


class Statuses(Reply):
    count: int
    total: int
    agents: list[AgentStatus] = []


class Roster(Reply):
    count: int
    total: int
    agents: list[Agent] = []
