"""The boot section `checklists`: lists about the task that are not finished."""

from typing import Any

from commonplace.boot import BootSection, PartialSection, StartingSession, list_topic_words
from commonplace.call import Call
from commonplace.rooms.checklists import model, store

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
