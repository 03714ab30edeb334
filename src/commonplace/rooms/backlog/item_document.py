"""A backlog item as memory_get_by_id shows it, with the history of its changes."""

from collections.abc import Sequence
from typing import Any

from commonplace.clock import iso
from commonplace.rooms.backlog.model import BacklogItem
from commonplace.store.database import Row


def group_changes_by_version(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Group changes by the version that they created, newest first."""
    versions: dict[int, dict[str, Any]] = {}
    for row in rows:
        entry = {"version": row["version"], "at": iso(row["at"]), "by": row["agent"], "changes": {}}
        version = versions.setdefault(row["version"], entry)
        version["changes"][row["field"]] = {"from": row["before"], "to": row["after"]}
    return sorted(versions.values(), key=lambda entry: -int(entry["version"]))


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
