"""Who described a function: a text of another agent is never replaced silently, and stays readable.

The registry holds the latest text; earlier ones are in `function_text` and shown as `versions` by memory_get_by_id.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from commonplace.call import Call
from commonplace.clock import iso
from commonplace.notices import notify_agents
from commonplace.rooms.functions import store
from commonplace.store.database import Row, Value

_TEXTS = ("purpose", "gotchas", "prefer_over", "requires")


def choose_author(call: Call, before: Row | None, after: Mapping[str, Value]) -> str:
    """Return the author of the text: whoever repeats it word for word is not its author."""
    return call.agent if before is None or _is_new_text(before, after) else before["described_by"]


async def keep_replaced_text(call: Call, before: Row | None, after: Mapping[str, Value]) -> dict[str, str]:
    """Store the text that the new one replaces, and notify its author; return whose it was if another's."""
    if before is None or not _is_new_text(before, after):
        return {}
    await store.insert_function_text(call.tx, before)
    author = before["described_by"]
    if author in ("", call.agent):
        return {}
    text = f"{call.agent} described {before['name']} ({before['id']}) anew; your text is in its versions."
    await notify_agents(call.tx, before["project"], [author], text, call.now)
    return {"by": author, "at": iso(before["described_at"]), "purpose": before["purpose"]}


def _is_new_text(before: Row, after: Mapping[str, Value]) -> bool:
    """A function that nobody described yet has no text to lose."""
    return not before["described_by"] or any(before[name] != after[name] for name in _TEXTS)


def render_texts(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Render earlier texts, newest first."""
    return [
        {"at": iso(row["described_at"]), "by": row["described_by"]}
        | {name: row[name] for name in _TEXTS[:-1] if row[name]}
        | ({"requires": requires} if (requires := msgspec.json.decode(row["requires"])) else {})
        for row in rows
    ]
