"""Finds a function by its id, for memory_get_by_id."""

from typing import Any

import msgspec

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.functions import model, store
from commonplace.store import ids
from commonplace.store.database import Row


async def find_function(call: Call, project: str, given: str) -> dict[str, Any] | None:
    found = await ids.beginning(call.tx, "function", [project], given)
    rows = await store.by_ids(call.tx, project, [found[0][1]]) if found else {}
    return _whole(next(iter(rows.values()))) if rows else None


def _whole(row: Row) -> dict[str, Any]:
    """A function as memory_get_by_id shows it: all that is known, the code last."""
    found = model.analysis(row) | model.facts(row)
    told = {
        "purpose": model.purpose(row),
        "signature": model.signature(row),
        "gotchas": model.gotchas(row),
        "prefer_over": row["prefer_over"],
        "requires": ", ".join(msgspec.json.decode(row["requires"])),
        **{
            name: _spoken(value)
            for name, value in found.items()
            if name not in ("signature", "additional_gotchas")
        },
        "drift": ", ".join(model.drift(row)),
        "code": f"\n{row['code']}" if row["code"] else "",
    }
    return {
        "id": row["id"],
        "title": row["name"],
        "type": "function_ref",
        "status": "gone" if row["state"] == "gone" else "active",
        "project": row["project"],
        "created": iso(row["created_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["described_by"] or row["enriched_by"] or "librarian",
        "content": "\n".join(f"{name}: {value}" for name, value in told.items() if value),
        "links": {"file": model.where(row)},
    }


def _spoken(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(
            each if isinstance(each, str) else msgspec.json.encode(each).decode() for each in value
        )
    return str(value)


FINDERS = {"func_": find_function}
