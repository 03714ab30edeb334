"""The items of one batch: their arguments, and references between them: `#0`, `#1` in depends_on name earlier items,
which have no ids yet. `operations.py` runs the batch.
"""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import Field, WithJsonSchema

from commonplace.arguments import MAX_INTEGER
from commonplace.operation import Reply
from commonplace.rooms.backlog.model import (
    MAX_TEXT_CHARACTERS,
    BacklogPriority,
    BacklogStatus,
    ChangedItem,
    CompletedItem,
)

BacklogAction = Literal["create", "update", "complete"]
_TEXT = {"type": "string", "maxLength": MAX_TEXT_CHARACTERS}
_TEXTS, _FLAG = {"type": "array", "items": _TEXT, "maxItems": 50}, {"type": "boolean"}
BATCH_ITEM_PROPERTIES: dict[str, Any] = {
    "item_id": _TEXT,
    "title": _TEXT,
    "description": _TEXT,
    "note": _TEXT,
    "status": {"enum": list(get_args(BacklogStatus))},
    "priority": {"enum": list(get_args(BacklogPriority))},
    "assigned_to": _TEXT,
    "tags": _TEXTS,
    "milestone": _TEXT,
    "deferred_reason": _TEXT,
    "depends_on": _TEXTS,
    "project": _TEXT,
    "claim": _FLAG,
    "force": _FLAG,
    "expected_version": {"type": "integer", "minimum": 1, "maximum": MAX_INTEGER},
    "resolution": _TEXT,
    "wont_do": _FLAG,
}
"""The arguments of an item in a batch: those of the operation that its action names."""

BatchItem = Annotated[dict[str, Any], WithJsonSchema({"type": "object", "properties": BATCH_ITEM_PROPERTIES})]
BatchItems = Annotated[list[BatchItem], Field(min_length=1, max_length=100)]


class BatchReply(Reply):
    status: str
    action: str
    count: int
    items: list[ChangedItem | CompletedItem]


def replace_references(item: Mapping[str, Any], ids_by_reference: Mapping[str, str]) -> dict[str, Any]:
    """Replace `#0`, `#1` in depends_on by the ids of those earlier items of the batch."""
    depends_on = item.get("depends_on")
    if not isinstance(depends_on, list):
        return dict(item)
    resolved = [ids_by_reference.get(need, need) if isinstance(need, str) else need for need in depends_on]
    return {**item, "depends_on": resolved}


def depends_on_any(item: Mapping[str, Any], references: Collection[str]) -> bool:
    """Does the item depend on one of these items of its batch? If that one is invalid, nothing can be said of this one."""
    depends_on = item.get("depends_on")
    return isinstance(depends_on, list) and any(reference in depends_on for reference in references)
