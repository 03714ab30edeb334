"""The resources work://{project} and signals://{project}."""

from collections.abc import Sequence

from commonplace.call import Call
from commonplace.clock import HOUR
from commonplace.operation import Reply, operation
from commonplace.resource import Resource
from commonplace.rooms.locks.waiting import WaitingAgent, list_waiting_agents
from commonplace.rooms.work import store
from commonplace.rooms.work.active_work import ActiveWork, WorkItem, group_active_agents
from commonplace.rooms.work.model import OVERLAP_HOURS, BlockedAgent, WorkSignal
from commonplace.store.database import Row

_SINCE_HOURS = 24
_MAX_LISTED = 20


class SignalListing(Reply):
    signals: list[WorkSignal]


async def list_active_work(
    call: Call, project: str, since_hours: int, limit: int, agent: str | None = None
) -> ActiveWork:
    """List active and blocked agents, signals and work items; memory_get_active_work returns it too."""
    since = call.now - since_hours * HOUR
    active = await store.list_active_sessions(call.tx, project, since, limit, agent)
    work_rows = await store.list_work_in_progress(call.tx, project, [row["id"] for row in active])
    blocked = await store.list_blocked_work(call.tx, project, limit, agent)
    signals = await store.list_signals(call.tx, project, since, limit, agent=agent)
    items = await store.list_work_items(call.tx, project, since, limit, agent)
    waiting = await list_waiting_agents(call.tx, project)
    return ActiveWork(
        currently_active=group_active_agents(
            [_with_own_activity(call, row) for row in active], work_rows, call.now
        ),
        blocked_agents=[
            *(BlockedAgent.from_row(row) for row in blocked),
            *(
                BlockedAgent.from_lock_wait(wait)
                for wait in waiting
                if wait.holders and agent in (None, wait.agent) and not _is_reported(wait, blocked)
            ),
        ][:limit],
        recent_signals=[WorkSignal.from_row(row) for row in signals],
        recent_work_items=[WorkItem.from_row(row, call.now) for row in items],
        overlap_window_hours=OVERLAP_HOURS,
    )


def _is_reported(wait: WaitingAgent, blocked: Sequence[Row]) -> bool:
    """Did the agent say itself that it is blocked on this file?"""
    return any(row["agent"] == wait.agent and wait.path in row["blocked_reason"] for row in blocked)


def _with_own_activity(call: Call, row: Row) -> Row:
    """Count this call as activity of its session; the store learns of a read up to a second later."""
    is_own = call.session is not None and call.session.id == row["id"]
    return {**row, "active_at": call.now} if is_own else row


@operation("resource:work", role="readonly", session=False)
async def read_work(call: Call, project: str) -> ActiveWork:
    """Active and blocked agents, and their work items of the last day."""
    return await list_active_work(call, project, _SINCE_HOURS, _MAX_LISTED)


@operation("resource:signals", role="readonly", session=False)
async def read_signals(call: Call, project: str) -> SignalListing:
    """Signals of the last day, newest first."""
    rows = await store.list_signals(call.tx, project, call.now - _SINCE_HOURS * HOUR, _MAX_LISTED)
    return SignalListing(signals=[WorkSignal.from_row(row) for row in rows])


WORK = Resource("work://{project}", "Active work of a project", read_work)
SIGNALS = Resource("signals://{project}", "Recent signals of a project", read_signals)
