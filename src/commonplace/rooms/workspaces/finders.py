"""How memory_get_by_id finds and shows a knowledge file."""

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.workspaces import file_store
from commonplace.rooms.workspaces.file_page import DEFAULT_PAGE_BYTES
from commonplace.rooms.workspaces.json_size import truncate_to_json_bytes
from commonplace.rooms.workspaces.model import FileVersion
from commonplace.store import ids

_SHOWN_VERSIONS = 20


async def find_knowledge_file(call: Call, project: str, id_prefix: str) -> dict[str, object] | None:
    matches = await ids.find_ids_by_prefix(call.tx, "workspace_file", [project], id_prefix)
    return await _show_knowledge_file(call, *matches[0]) if matches else None


async def _show_knowledge_file(call: Call, project: str, file_id: str) -> dict[str, object] | None:
    """None if the file is deleted."""
    rows = await file_store.list_file_texts(call.tx, project, [file_id])
    if not rows:
        return None
    row = rows[0]
    history = await file_store.list_file_versions(call.tx, row, _SHOWN_VERSIONS)
    content, truncated = truncate_to_json_bytes(row["content"], DEFAULT_PAGE_BYTES)
    return {
        "id": file_id,
        "title": row["title"],
        "type": "knowledge",
        "status": "active",
        "project": project,
        "updated": iso(row["modified_at"]),
        "author": history[0]["author"],
        "content": content,
        **({"truncated": True} if truncated else {}),
        "versions": [FileVersion.from_row(version) for version in history],
        "links": {"workspace_id": row["workspace"], "path": row["path"]},
    }


FINDERS = {"know_": find_knowledge_file}
