"""The boot sections `signals` and `blocking_others`."""

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import HOUR
from commonplace.rooms.work import store
from commonplace.rooms.work.model import BlockedAgent, WorkSignal

_NEW_SIGNAL_AGE = HOUR
_MAX_SIGNALS = 5
_MAX_BLOCKED_AGENTS = 10


async def list_new_signals(call: Call, start: StartingSession) -> list[WorkSignal]:
    """List what others signalled since the agent's last session, or lately if it had none."""
    since = start.previous_start or call.now - _NEW_SIGNAL_AGE
    rows = await store.list_signals(call.tx, start.project, since, start.scale_limit(_MAX_SIGNALS))
    return [WorkSignal.from_row(row) for row in rows if row["agent"] != start.agent]


async def list_waiting_agents(call: Call, start: StartingSession) -> list[BlockedAgent]:
    rows = await store.list_work_blocked_by_agent(call.tx, start.project, start.agent, _MAX_BLOCKED_AGENTS)
    return [BlockedAgent.from_row(row) for row in rows]


SIGNALS_SECTION = BootSection("signals", 50, list_new_signals)
BLOCKING_OTHERS_SECTION = BootSection("blocking_others", 30, list_waiting_agents)
