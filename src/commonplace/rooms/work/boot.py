"""The boot sections `your_work`, `signals`, `blocking_others` and `you_waited_for`."""

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY, HOUR, iso
from commonplace.rooms.work import store
from commonplace.rooms.work.active_work import OwnWork
from commonplace.rooms.work.model import EDITS_TITLE, OPEN_STATUSES, BlockedAgent, WaitLeft, WorkSignal
from commonplace.rooms.work.waits import describe_awaited

_NEW_SIGNAL_AGE = HOUR
_WAIT_LIFETIME = 14 * DAY
_MAX_SIGNALS = 5
_MAX_WAITS_LEFT = 3
_MAX_BLOCKED_AGENTS = 10


async def list_own_work(call: Call, start: StartingSession) -> list[OwnWork]:
    """List the open work of the dormant sessions that this one continues: they left no handoff."""
    del call
    # Its own, if the work was moved before this is read.
    earlier = {each.session.id for each in start.earlier_sessions} | {start.session}
    return [
        OwnWork.from_row(row)
        for row in start.latest_work
        if row["session"] in earlier and row["status"] in OPEN_STATUSES and row["title"] != EDITS_TITLE
    ]


async def list_new_signals(call: Call, start: StartingSession) -> list[WorkSignal]:
    """List what others signalled since the agent's last session, or lately if it had none."""
    since = start.previous_start or call.now - _NEW_SIGNAL_AGE
    rows = await store.list_signals(call.tx, start.project, since, start.scale_limit(_MAX_SIGNALS))
    return [WorkSignal.from_row(row) for row in rows if row["agent"] != start.agent]


async def list_waiting_agents(call: Call, start: StartingSession) -> list[BlockedAgent]:
    rows = await store.list_work_blocked_by_agent(call.tx, start.project, start.agent, _MAX_BLOCKED_AGENTS)
    return [BlockedAgent.from_row(row) for row in rows]


async def list_waits_left(call: Call, start: StartingSession) -> list[WaitLeft]:
    """List what earlier sessions of the agent waited for in vain, and how that stands."""
    if start.previous_start is None:
        return []
    rows = await store.list_waits_left(
        call.tx, start.project, start.agent, call.now - _WAIT_LIFETIME, _MAX_WAITS_LEFT
    )
    return [
        WaitLeft(
            title=row["title"],
            waiting_for=row["blocked_by"] or row["waiting_for"],
            reason=row["blocked_reason"],
            item=row["item"],
            since=iso(row["updated_at"]),
            now=await describe_awaited(call, start.agent, row),
        )
        for row in rows
    ]


OWN_WORK_SECTION = BootSection("your_work", 1, list_own_work)
SIGNALS_SECTION = BootSection("signals", 50, list_new_signals)
WAITS_LEFT_SECTION = BootSection("you_waited_for", 29, list_waits_left)
BLOCKING_OTHERS_SECTION = BootSection("blocking_others", 30, list_waiting_agents)
