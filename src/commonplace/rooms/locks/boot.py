"""The locks that an agent should know of when it starts."""

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.locks import store
from commonplace.rooms.locks.lease import Lease
from commonplace.rooms.locks.model import Lock

_SHOWN = 10
_READ = 100


async def relevant_locks(call: Call, start: StartingSession) -> list[Lock]:
    now = await call.tx.clock()
    others = await store.of_others(call.tx, start.project, start.session, False, now, _READ)
    tails = _tails(start.working_directory)
    nearest = sorted(others, key=lambda lease: not _in_one_of(lease, tails))
    return [Lock.of(lease, now) for lease in nearest[:_SHOWN]]


def _tails(directory: str) -> list[str]:
    """`/home/me/shop/api` may be the project's root, or its `api/`, or `shop/api/`."""
    names = [name for name in directory.replace("\\", "/").casefold().split("/") if name]
    return ["/".join(names[place:]) + "/" for place in range(len(names))]


def _in_one_of(lease: Lease, tails: list[str]) -> bool:
    return any(lease.prefix.startswith(tail) for tail in tails)


RELEVANT_LOCKS = BootSection("relevant_locks", 40, relevant_locks)
