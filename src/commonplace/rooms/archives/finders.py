"""Finds a passage or an error of an archived session by the id that a search gives, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.archives import store, study_store
from commonplace.rooms.archives.search import load_searched_passages

_ID_PARTS = 3


async def find_archived_passage(call: Call, project: str, entry_id: str) -> dict[str, Any] | None:
    """The id is workspace/session/number; only who sees the project may read its archives, as in search_sessions."""
    if entry_id.count("/") != _ID_PARTS - 1 or not call.caller.sees_project(project):
        return None
    items = await load_searched_passages(call.tx, project, [entry_id])
    workspace, session = study_store.session_from_entry_id(entry_id)
    archive = await store.find_archive(call.tx, project, workspace, session)
    if not items or archive is None:
        return None
    return {
        "id": entry_id,
        "title": items[0].title or archive.title,
        "type": "session",
        "status": "active",
        "project": project,
        "created": iso(archive.started_at),
        "updated": iso(archive.ended_at),
        "author": archive.tool,
        "content": items[0].text,
        "links": {**items[0].details, "read": "read_session"},
    }


FINDERS = {"": find_archived_passage}
"""Ids of archived passages begin with the name of a workspace, so this finder looks at every id that is left."""
