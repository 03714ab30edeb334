"""Whether an agent is there: it has a live session, or since when it has none. Replies name it where somebody waits for,
writes to or depends on another agent."""

import msgspec

from commonplace.activity import IS_AWAKE, SESSION_LIVE_MICROSECONDS
from commonplace.clock import MINUTE, format_age, iso
from commonplace.store.database import Tx

_SILENT_AFTER = MINUTE


def format_silence(active_at: int | None, now: int) -> str:
    """How long a live agent has made no call, such as `3min`; empty if it called within the last minute."""
    return format_age(active_at, now) if active_at is not None and now - active_at > _SILENT_AFTER else ""


class AgentPresence(msgspec.Struct, frozen=True):
    """`last_active_at` is its last call, or the end of its last session; None if it never had one."""

    agent: str
    is_live: bool
    last_active_at: int | None

    def is_silent(self, now: int) -> bool:
        return self.is_live and bool(format_silence(self.last_active_at, now))

    def describe(self, now: int) -> str:
        if self.last_active_at is None:
            return f"{self.agent} has had no session"
        if self.is_silent(now):
            return f"{self.agent} has been silent for {format_silence(self.last_active_at, now)}"
        if self.is_live:
            return f"{self.agent} is live (last call: {format_age(self.last_active_at, now)})"
        return f"{self.agent} is offline since {iso(self.last_active_at)}"


async def load_presence(tx: Tx, project: str, agent: str, now: int) -> AgentPresence:
    row = await tx.one(
        f"select max(case when ended_at is null and active_at > $3 and {IS_AWAKE} then active_at end) as live_at,"
        " max(coalesce(ended_at, active_at)) as last_at from session where project = $1 and agent = $2",
        project,
        agent,
        now - SESSION_LIVE_MICROSECONDS,
    )
    live_at, last_at = (row["live_at"], row["last_at"]) if row else (None, None)
    return AgentPresence(agent, live_at is not None, live_at if live_at is not None else last_at)
