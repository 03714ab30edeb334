"""What checklists contribute: their resource, event, section of the boot pack, search source and finder."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from commonplace import errors
from commonplace.boot import BootSection, PartialSection, StartingSession, list_topic_words
from commonplace.call import Call
from commonplace.events import EventType
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.rooms.checklists import model, store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store import ids
from commonplace.store.database import Row, Tx


@operation("resource:checklist", role="readonly", session=False)
async def read_checklist(call: Call, project: str, name: model.ChecklistName) -> model.Checklist:
    """Get a checklist with who checked what and when."""
    row = await store.load_checklist(call.tx, project, name)
    if row is None:
        raise errors.NotFound(
            f"Checklist '{name}' does not exist in '{project}'.",
            hint='Find its name with memory_checklist(action="list").',
        )
    return model.Checklist.from_row(row, await store.list_items(call.tx, project, name))


CHECKLIST = Resource("checklist://{project}/{name}", "A checklist of a project", read_checklist)


CHECKLIST_CHANGED = EventType("ChecklistChanged", CHECKLIST)


_MAX_CHECKLISTS_IN_BOOT = 5


async def list_task_checklists(call: Call, start: StartingSession) -> PartialSection:
    words = start.topic_words
    rows = await store.list_checklist_rows(call.tx, start.project)
    about = [row for row in rows if row["done"] < row["total"] and words & list_topic_words(row["name"])]
    shown = about[: start.scale_limit(_MAX_CHECKLISTS_IN_BOOT)]
    entries: list[dict[str, Any]] = [
        {"name": row["name"], "progress": model.format_progress(row["done"], row["total"])} for row in shown
    ]
    return PartialSection(entries, len(about) - len(shown))


TASK_CHECKLISTS_SECTION = BootSection("checklists", 45, list_task_checklists)


CHECKLIST_KIND = "checklist"


async def load_searched_checklists(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = await store.load_checklists(tx, project, ids)
    items_by_list: dict[str, list[Row]] = defaultdict(list)
    for item in await store.list_items_of_lists(tx, project, [row["name"] for row in rows]):
        items_by_list[item["checklist"]].append(item)
    return [_build_search_item(row, items_by_list[row["name"]]) for row in rows]


def _build_search_item(row: Row, items: Sequence[Row]) -> SearchItem:
    progress = model.format_progress(sum(item["done"] for item in items), len(items))
    return SearchItem(
        id=row["id"],
        title=row["name"],
        text=model.format_items(items),
        type="checklist",
        author=row["created_by"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
        details={"progress": progress},
    )


SEARCH_SOURCE = SearchSource(kind=CHECKLIST_KIND, load=load_searched_checklists, table="checklist")


async def find_checklist(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "checklist", [project], id_prefix)
    rows = await store.load_checklists(call.tx, project, [match[0][1]]) if match else []
    if not rows:
        return None
    items = await store.list_items(call.tx, project, rows[0]["name"])
    uri = CHECKLIST.format_uri(project=project, name=rows[0]["name"])
    return model.render_checklist_document(rows[0], items, uri)
