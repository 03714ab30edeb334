"""The boot sections `recent_modifications`, `signals` and `blocking_others`."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import HOUR, iso
from commonplace.rooms.work import store
from commonplace.rooms.work.model import OVERLAP_HOURS, BlockedAgent, WorkSignal

_MAX_MODIFICATIONS = 10
_MAX_SIGNALS = 5
_MAX_BLOCKED_AGENTS = 10


async def list_recent_modifications(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    since = call.now - OVERLAP_HOURS * HOUR
    rows = await store.list_recently_touched_files(
        call.tx, start.project, start.session, since, _MAX_MODIFICATIONS
    )
    return [{"file": row["path"], "agent": row["agent"], "when": iso(row["at"])} for row in rows]


async def list_recent_signals(call: Call, start: StartingSession) -> list[WorkSignal]:
    since = call.now - OVERLAP_HOURS * HOUR
    return [
        WorkSignal.from_row(row)
        for row in await store.list_signals(call.tx, start.project, since, _MAX_SIGNALS)
    ]


async def list_waiting_agents(call: Call, start: StartingSession) -> list[BlockedAgent]:
    rows = await store.list_work_blocked_by_agent(call.tx, start.project, start.agent, _MAX_BLOCKED_AGENTS)
    return [BlockedAgent.from_row(row) for row in rows]


RECENT_MODIFICATIONS_SECTION = BootSection("recent_modifications", 60, list_recent_modifications)
SIGNALS_SECTION = BootSection("signals", 50, list_recent_signals)
BLOCKING_OTHERS_SECTION = BootSection("blocking_others", 30, list_waiting_agents)
