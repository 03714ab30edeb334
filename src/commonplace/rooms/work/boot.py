"""What others did and wait for, as an agent should know it when it starts."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import HOUR, iso
from commonplace.rooms.work import store
from commonplace.rooms.work.model import OVERLAP_HOURS, BlockedAgent, WorkSignal

_MODIFICATIONS = 10
_SIGNALS = 5
_BLOCKED = 10


async def recent_modifications(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    since = call.now - OVERLAP_HOURS * HOUR
    rows = await store.list_recently_touched_files(
        call.tx, start.project, start.session, since, _MODIFICATIONS
    )
    return [{"file": row["path"], "agent": row["agent"], "when": iso(row["at"])} for row in rows]


async def recent_signals(call: Call, start: StartingSession) -> list[WorkSignal]:
    since = call.now - OVERLAP_HOURS * HOUR
    return [
        WorkSignal.from_row(row) for row in await store.list_signals(call.tx, start.project, since, _SIGNALS)
    ]


async def blocking_others(call: Call, start: StartingSession) -> list[BlockedAgent]:
    rows = await store.list_work_blocked_by_agent(call.tx, start.project, start.agent, _BLOCKED)
    return [BlockedAgent.from_row(row) for row in rows]


RECENT_MODIFICATIONS_SECTION = BootSection("recent_modifications", 60, recent_modifications)
SIGNALS_SECTION = BootSection("signals", 50, recent_signals)
BLOCKING_OTHERS_SECTION = BootSection("blocking_others", 30, blocking_others)
