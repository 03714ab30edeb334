"""What this room contributes: the boot section, search by how and fix, and retention."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.retention import delete_from_table
from commonplace.rooms.journals import store
from commonplace.rooms.journals.resumption import find_left_journal, tell_journal
from commonplace.search.source import SearchSource

_SETTING = "session_days"
JOURNAL_RULES = (
    delete_from_table("journal", kind="journals", key=("id", "source"), at="updated_at", setting=_SETTING),
)


async def render_resume(call: Call, start: StartingSession) -> dict[str, Any]:
    """What the last session of this place left; after a compaction what this session itself did."""
    for head in await store.list_heads_of_session(call.tx, start.project, start.session):
        found = await store.find_journal(call.tx, start.project, head.id)
        if found and found[1].compactions and found[1].prompts:
            return await tell_journal(call, head)
        return {}
    left = await find_left_journal(call, start.project, start.agent, start.working_directory, start.session)
    return await tell_journal(call, left) if left else {}


RESUME_SECTION = BootSection("resume", 21, render_resume)

SEARCH_SOURCES = (
    SearchSource(
        kind=store.HOW_KIND, load=store.load_facts, names=("command", "invocation"), is_general=False
    ),
    SearchSource(kind=store.FIX_KIND, load=store.load_facts, names=("error",), is_general=False),
)


async def find_fact(call: Call, project: str, entry: str) -> dict[str, Any] | None:
    items = await store.load_facts(call.tx, project, [entry]) if call.caller.sees_project(project) else []
    if not items:
        return None
    item = items[0]
    return {
        "id": item.id,
        "title": item.title,
        "type": item.type,
        "status": item.status,
        "project": project,
        "created": iso(item.created_at),
        "updated": iso(item.updated_at),
        "author": item.author,
        "content": item.text,
    }


FINDERS = {f"{store.HOW_KIND}_": find_fact, f"{store.FIX_KIND}_": find_fact}
