"""Who waits for which lock and for whom, for the lists of other rooms. The queue itself: `reservations.py`."""

from collections.abc import Sequence
from dataclasses import dataclass

from commonplace.file_region import shorten_path
from commonplace.rooms.locks import store, waiters
from commonplace.rooms.locks.lease import Lease
from commonplace.rooms.locks.reservations import Waiter
from commonplace.shortening import list_names
from commonplace.store.database import Tx

_MAX_HOLDERS = 3


@dataclass(frozen=True, slots=True)
class WaitingAgent:
    """`holders` is empty if the path is free, so that the agent only has to lock it."""

    agent: str
    path: str
    holders: str
    reason: str
    since: int


async def list_waiting_agents(tx: Tx, project: str) -> list[WaitingAgent]:
    """The longest waiting first; nothing is read but the queue if nobody waits."""
    now = await tx.clock()
    rows = await waiters.list_waiters(tx, project, now)
    if not rows:
        return []
    fold = await store.project_ignores_case(tx, project)
    waiting = [Waiter.from_row(row, fold) for row in rows]
    leases = await store.list_candidate_leases(tx, project, [waiter.request for waiter in waiting], fold)
    held = [lease for lease in leases if lease.blocks_others(now)]
    return [
        WaitingAgent(
            waiter.agent,
            shorten_path(waiter.request.path),
            _name_holders(waiter, held),
            waiter.reason,
            waiter.at,
        )
        for waiter in waiting
    ]


def _name_holders(waiter: Waiter, leases: Sequence[Lease]) -> str:
    return list_names([lease.agent for lease in leases if waiter.conflicts_with(lease)], _MAX_HOLDERS)
