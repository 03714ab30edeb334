"""References between the items of one batch: `#0`, `#1` in depends_on name earlier items, which have no ids yet."""

from collections.abc import Collection, Mapping
from typing import Any


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
