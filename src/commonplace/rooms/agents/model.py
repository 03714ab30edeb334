"""The replies about agents of a project. SQL is in `store.py`; the roster is edited by `rooms/projects`."""

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from commonplace.clock import MINUTE, format_age, iso
from commonplace.identity.liveness import format_silence
from commonplace.operation import Reply
from commonplace.store.database import Row

AGENT_STALE_AFTER = 5 * MINUTE

HeartbeatStatus = Literal["idle", "busy", "error"]
AgentTier = Literal["admin", "named", "worker", "pending"]
MAX_TASK_CHARACTERS = 500
TaskText = Annotated[str, Field(max_length=MAX_TASK_CHARACTERS)]


class HeartbeatReply(Reply):
    status: str
    agent: str
    agent_status: str
    timestamp: str
    unread: int
    leases_renewed: int


def derive_status(row: Row, now: int) -> str:
    """Return what the agent reported, while that is recent, else what follows from its work and calls.

    It is the status at the agent's last call: silence ends neither a task nor a report, and a lock that lapsed since
    then was held. An agent is busy while it has a task or a lock, also if it reported so long ago. One that has reported
    work and has none open is idle. One that never had anything is busy by its calls alone. Without a live session it is
    offline, whatever it reported.
    """
    active_at, reported_at = row["active_at"], row["status_at"]
    if active_at is None:
        return "offline"
    has_open = bool(row["current_task"] or row["locks"] or (row["locked_until"] or 0) > active_at)
    if reported_at is not None:
        is_lasting = row["status"] == "error" or (row["status"] == "busy" and has_open)
        if is_lasting or active_at - reported_at <= AGENT_STALE_AFTER:
            return str(row["status"])
    has_stopped = row["has_worked"] or now - active_at > AGENT_STALE_AFTER
    return "busy" if has_open or not has_stopped else "idle"


class AgentStatus(Reply):
    instance: str
    project: str
    status: str
    stale: bool
    sessions: int
    locks: int
    current_task: str = ""
    last_heartbeat: str | None = None
    """The last sign of life: every call is one."""
    silent_for: str = ""
    """How long ago that was, for a live agent that made no call in the last minute."""
    restarted: str = ""
    """How long ago its session started, if that continues an earlier one that was not ended."""

    @classmethod
    def from_row(cls, row: Row, now: int) -> "AgentStatus":
        last_active = max(row["active_at"] or 0, row["last_seen_at"] or 0)
        return cls(
            instance=row["name"],
            project=row["project"],
            status=derive_status(row, now),
            stale=now - last_active > AGENT_STALE_AFTER,
            sessions=row["sessions"],
            locks=row["locks"],
            current_task=row["current_task"],
            last_heartbeat=iso(last_active) if last_active else None,
            silent_for=format_silence(row["active_at"], now),
            restarted=format_age(row["restarted_at"], now) if row["restarted_at"] else "",
        )


class RosterAgent(Reply):
    project: str
    instance: str
    tier: str
    session_count: int
    role_description: str = ""
    last_seen: str | None = None
    last_task: str = ""

    @classmethod
    def from_row(cls, row: Row) -> "RosterAgent":
        return cls(
            project=row["project"],
            instance=row["name"],
            tier=row["tier"],
            session_count=row["session_count"],
            role_description=row["role_description"],
            last_seen=iso(row["last_seen_at"]) if row["last_seen_at"] else None,
            last_task=row["last_task"],
        )


class AgentStatusListing(Reply):
    count: int
    total: int
    agents: list[AgentStatus]

    @classmethod
    def from_rows(cls, rows: Sequence[Row], now: int) -> "AgentStatusListing":
        return cls(
            count=len(rows),
            total=total_of_rows(rows),
            agents=[AgentStatus.from_row(row, now) for row in rows],
        )


class AgentRoster(Reply):
    count: int
    total: int
    agents: list[RosterAgent]


def total_of_rows(rows: Sequence[Row]) -> int:
    """Read the `count(*) over ()` column; a page without rows has none."""
    return rows[0]["total"] if rows else 0
