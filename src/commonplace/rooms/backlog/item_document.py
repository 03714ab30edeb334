"""A backlog item as memory_get_by_id shows it, with the history of its changes."""

from collections.abc import Sequence
from typing import Any

from commonplace.clock import iso
from commonplace.rooms.backlog.model import BacklogItem
from commonplace.shortening import shorten_text
from commonplace.store.database import Row

_MAX_VALUE_CHARACTERS = 120
"""A list of dependencies is longer than most other values; the whole description is in `content`."""


def group_changes_by_version(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Group changes by the version that they created, newest first."""
    versions: dict[int, dict[str, Any]] = {}
    for row in rows:
        entry = {"version": row["version"], "at": iso(row["at"]), "by": row["agent"], "changes": {}}
        version = versions.setdefault(row["version"], entry)
        version["changes"][row["field"]] = _shorten_change(row["before"], row["after"])
    return sorted(versions.values(), key=lambda entry: -int(entry["version"]))


def _shorten_change(before: str, after: str) -> dict[str, str]:
    """Both values; of long texts the beginning, or only what was added at the end."""
    if before and len(after) > _MAX_VALUE_CHARACTERS and after.startswith(before):
        return {"added": shorten_text(after[len(before) :].strip(), _MAX_VALUE_CHARACTERS)}
    return {
        "from": shorten_text(before, _MAX_VALUE_CHARACTERS),
        "to": shorten_text(after, _MAX_VALUE_CHARACTERS),
    }


def render_item_document(
    item: BacklogItem, change_rows: Sequence[Row], blocks: Sequence[str]
) -> dict[str, Any]:
    """Render an item for memory_get_by_id."""
    fields = {
        name: getattr(item, name)
        for name in ("id", "title", "status", "project", "tags", "created", "updated")
    }
    optional_fields = (
        "priority",
        "assigned_to",
        "claimed_until",
        "was_claimed_by",
        "was_claimed_until",
        "milestone",
        "deferred_reason",
        "resolution",
        "completed_by",
        "version",
    )
    return fields | {
        "type": "backlog_item",
        "author": item.created_by,
        "content": item.description,
        "versions": group_changes_by_version(change_rows),
        "links": {"depends_on": item.depends_on, "blocked_by": item.blocked_by, "blocks": list(blocks)},
        **{name: getattr(item, name) for name in optional_fields if getattr(item, name)},
    }
