"""The files that other sessions have locked or reported as touched: known without hooks, unlike uncommitted changes."""

from collections import defaultdict
from collections.abc import Sequence

from commonplace.call import Call
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.rooms.checkouts import model, store
from commonplace.rooms.locks.store import list_leases_of_others, project_ignores_case
from commonplace.store.database import Row

_MAX_LEASES = 200
_MAX_FILES_PER_SESSION = 10


async def show_sessions(call: Call, rows: Sequence[Row], root: str) -> list[model.CheckoutSession]:
    """Render the sessions, each with the newest of the files that it holds and touched."""
    if not rows:
        return []
    locked, touched = await _list_locked(call), await _list_touched(call, [row["session"] for row in rows])
    shown = []
    for row in rows:
        session = model.CheckoutSession.from_row(row, root)
        session.locked = locked[row["session"]][:_MAX_FILES_PER_SESSION]
        session.touched = touched[row["session"]][:_MAX_FILES_PER_SESSION]
        shown.append(session)
    return shown


async def _list_locked(call: Call) -> dict[str, list[str]]:
    fold, now = await project_ignores_case(call.tx, call.project), await call.tx.clock()
    leases = await list_leases_of_others(call.tx, call.project, call.own_session.id, fold, now, _MAX_LEASES)
    names: dict[str, list[str]] = defaultdict(list)
    for lease in leases:
        names[lease.session].append(lease.name)
    return names


async def _list_touched(call: Call, sessions: Sequence[str]) -> dict[str, list[str]]:
    since = call.now - SESSION_LIVE_MICROSECONDS
    paths: dict[str, list[str]] = defaultdict(list)
    for row in await store.list_touched_files(call.tx, call.project, sessions, since):
        paths[row["session"]].append(row["path"])
    return paths
