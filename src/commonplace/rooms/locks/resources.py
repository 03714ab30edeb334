"""locks://{project}: what is locked, and by whom."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.locks import store
from commonplace.rooms.locks.model import MAX_SHOWN, Lock, Locks

_NOBODY = ""


@operation("resource:locks", role="readonly", session=False)
async def read_locks(call: Call, project: str) -> Locks:
    """Every lock of the project, newest first."""
    now = await call.tx.clock()
    fold = await store.ignores_case(call.tx, project)
    held = await store.of_others(call.tx, project, _NOBODY, fold, now, MAX_SHOWN)
    total = await store.count_of_others(call.tx, project, _NOBODY, now)
    return Locks(total_count=total, locks=[Lock.of(lease, now) for lease in held])


LOCKS = Resource("locks://{project}", "Locks of a project", read_locks)
