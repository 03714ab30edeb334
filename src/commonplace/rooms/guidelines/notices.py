"""Tells live sessions of a guideline that is new or changed; who reads it before is not told again.

The boot pack shows what was set before a session began. A notice has the id of its guideline, so that only the last
text of it is told.
"""

from collections.abc import Sequence

from commonplace import access
from commonplace.call import Call
from commonplace.identity.liveness import list_live_sessions
from commonplace.notices import Notice, drop_notices, notify_sessions
from commonplace.project import list_all_project_names
from commonplace.rooms.guidelines import model
from commonplace.store.database import Row


async def announce_guideline(call: Call, row: Row) -> list[str]:
    """Notify the live sessions that the guideline applies to, except that of the caller; return their agents."""
    project = row["project"]
    own_session = call.session.id if call.session else ""
    body = {
        "agent": call.agent,
        "name": row["name"],
        "scope": model.scope_from_project(project),
        "rule": row["rule"],
    }
    notice = Notice("guideline", body, row["id"])
    projects = await list_all_project_names(call.tx) if project == access.ALL_PROJECTS else [project]
    notified: set[str] = set()
    for target in projects:
        sessions = await list_live_sessions(call.tx, target, call.now, but=own_session)
        await notify_sessions(call.tx, target, [each["id"] for each in sessions], notice, call.now)
        notified.update(each["agent"] for each in sessions)
    return sorted(notified)


def forget_notices(call: Call, rows: Sequence[Row]) -> None:
    """Do not tell the session of the call again what this reply shows."""
    if call.session and call.session.has_notice:
        own, ids = call.session, [row["id"] for row in rows]
        call.deferred_writes.append(
            lambda tx: drop_notices(tx, own.project, "guideline", sessions=[own.id], subjects=ids)
        )
