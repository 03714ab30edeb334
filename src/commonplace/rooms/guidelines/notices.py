"""Tells live sessions of a guideline that is new or changed; who reads it before is not told again.

The boot pack shows what was set before a session began. A notice has the id of its guideline, so that only the last
text of it is told.
"""

from collections.abc import Sequence
from functools import partial

from commonplace import access
from commonplace.activity import list_live_sessions
from commonplace.call import Call
from commonplace.named_notices import delete_notices_by_id, replace_notices
from commonplace.project import list_all_project_names
from commonplace.rooms.guidelines import model
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

_NOTICE_CHARACTERS = 200


async def notify_sessions(call: Call, row: Row) -> list[str]:
    """Notify the live sessions that the guideline applies to, except that of the caller; return their agents."""
    project, rule = row["project"], shorten_text(row["rule"], _NOTICE_CHARACTERS)
    own_session = call.session.id if call.session else ""
    text = f"{call.agent} set the guideline '{row['name']}' ({model.scope_from_project(project)}): {rule}"
    projects = await list_all_project_names(call.tx) if project == access.ALL_PROJECTS else [project]
    notified: set[str] = set()
    for target in projects:
        sessions = await list_live_sessions(call.tx, target, call.now, own_session)
        await replace_notices(call.tx, target, [each["id"] for each in sessions], row["id"], text, call.now)
        notified.update(each["agent"] for each in sessions)
    return sorted(notified)


def drop_notices(call: Call, rows: Sequence[Row]) -> None:
    """Do not tell the session of the call again what this reply shows."""
    if call.session and call.session.has_notice:
        ids = [row["id"] for row in rows]
        call.deferred_writes.append(partial(delete_notices_by_id, session=call.session, notice_ids=ids))
