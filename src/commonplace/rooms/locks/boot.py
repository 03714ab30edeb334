"""The boot section with the locks of other sessions, nearest to the working directory first."""

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.locks import store
from commonplace.rooms.locks.lease import Lease
from commonplace.rooms.locks.model import Lock

_MAX_LOCKS_IN_BOOT = 10
_MAX_LOCKS_SCANNED = 100


async def relevant_locks(call: Call, start: StartingSession) -> list[Lock]:
    now = await call.tx.clock()
    others = await store.list_leases_of_others(
        call.tx, start.project, start.session, False, now, _MAX_LOCKS_SCANNED
    )
    roots = _list_possible_roots(start.working_directory)
    nearest = sorted(others, key=lambda lease: not _is_below_any(lease, roots))
    return [Lock.from_lease(lease, now) for lease in nearest[:_MAX_LOCKS_IN_BOOT]]


def _list_possible_roots(directory: str) -> list[str]:
    """List what the directory may be called in lock paths: `/me/shop/api` may be `api/` or `shop/api/`."""
    names = [name for name in directory.replace("\\", "/").casefold().split("/") if name]
    return ["/".join(names[index:]) + "/" for index in range(len(names))]


def _is_below_any(lease: Lease, roots: list[str]) -> bool:
    return any(lease.prefix.startswith(root) for root in roots)


RELEVANT_LOCKS_SECTION = BootSection("relevant_locks", 40, relevant_locks)
