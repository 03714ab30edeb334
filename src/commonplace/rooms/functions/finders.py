"""Finds a function by its id, for memory_get_by_id."""

from typing import Any

import msgspec

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.rooms.functions import descriptions, model, store
from commonplace.store import ids
from commonplace.store.database import Row


async def find_function_by_id(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "function", [project], id_prefix)
    rows = await store.load_functions(call.tx, project, [match[0][1]]) if match else {}
    if not rows:
        return None
    row = next(iter(rows.values()))
    texts = await store.list_function_texts(call.tx, project, row["id"])
    return _render_function_document(row) | {"versions": descriptions.render_texts(texts)}


def _render_function_document(row: Row) -> dict[str, Any]:
    """Render a function for memory_get_by_id, with the code last."""
    details = model.decode_analysis(row) | model.decode_facts(row)
    sections = {
        "purpose": model.describe_purpose(row),
        "signature": model.current_signature(row),
        "gotchas": model.join_gotchas(row),
        "prefer_over": row["prefer_over"],
        "requires": ", ".join(msgspec.json.decode(row["requires"])),
        **{
            name: _format_value(value)
            for name, value in details.items()
            if name not in ("signature", "additional_gotchas")
        },
        "drift": ", ".join(model.list_drift(row)),
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
        "content": "\n".join(f"{name}: {value}" for name, value in sections.items() if value),
        "links": {"file": model.format_location(row)},
    }


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(
            element if isinstance(element, str) else msgspec.json.encode(element).decode()
            for element in value
        )
    return str(value)


FINDERS = {"func_": find_function_by_id}
