"""The locks of a project and their holders, for readers without a session: locks://{project} and memory_list_locks."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.locks import store
from commonplace.rooms.locks.lease import LeaseMoment
from commonplace.rooms.locks.model import MAX_LISTED_LOCKS, Lock, LockListing

_NO_SESSION = ""


async def _list_locks(call: Call, project: str) -> LockListing:
    """List the locks of a project, newest first."""
    now = await call.tx.clock()
    fold = await store.project_ignores_case(call.tx, project)
    held = await store.list_leases_of_others(call.tx, project, _NO_SESSION, fold, now, MAX_LISTED_LOCKS)
    total = await store.count_leases_of_others(call.tx, project, _NO_SESSION, now)
    moment = LeaseMoment(now, call.now)
    return LockListing(total_count=total, locks=[Lock.from_lease(lease, moment) for lease in held])


read_locks = operation("resource:locks", role="readonly", session=False)(_list_locks)
list_locks = operation("memory_list_locks", role="readonly", session=False, example={"project": "shop"})(
    _list_locks
)

LOCKS = Resource("locks://{project}", "Locks of a project", read_locks)
