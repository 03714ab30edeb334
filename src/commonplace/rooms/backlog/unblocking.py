"""Items with the status `blocked` whose last dependency is closed: they go on, unless they wait for something else.

What else is a `deferred_reason` that names neither a dependency nor who closed it, or what the work on the item was
reported to wait for. `edits.py` calls this when an item is closed, and tells the agents.
"""

import re
from collections.abc import Sequence
from typing import Any

from commonplace import errors
from commonplace.boot import list_topic_words
from commonplace.call import Call
from commonplace.rooms.backlog import claims, model, store
from commonplace.rooms.backlog.named_files import extract_named_files
from commonplace.rooms.work import item_store
from commonplace.store.database import Row

_NAME = re.compile(r"[\w.@:+-]*\w")


async def unblock_items(call: Call, items: Sequence[Row]) -> list[Row]:
    """Set those of the items that only waited for their dependencies to open or in progress; return those that can go on."""
    return [
        item
        for item in items
        if item["status"] != "blocked" or await _unblock_item(call, item["project"], item["id"])
    ]


async def _unblock_item(call: Call, project: str, item: str) -> bool:
    row = await store.load_item(call.tx, project, item)
    needs = await store.list_closed_dependencies(call.tx, project, item)
    work = await item_store.list_blocked_work_of_item(call.tx, project, item)
    if row is None or not _waits_for_nothing_else(row, needs, work):
        return False
    values = {**row, **_unblock_values(call, row, work)}
    updated = await store.update_item(call.tx, row, values, call.now)
    if updated is None:
        raise errors.Conflict(f"{item} was changed meanwhile.", hint="Retry the same call.")
    await store.insert_changes(call.tx, updated, model.diff_fields(row, values), call.agent, call.now)
    if updated["claim_session"]:
        files = extract_named_files(row["title"], row["description"])
        await store.insert_claim(call.tx, project, updated["claim_session"], project, item, files)
    claims.emit_backlog_changed(call, project, item)
    await claims.update_work_of_item(call, row, updated)
    return True


def _waits_for_nothing_else(row: Row, needs: Sequence[Row], work: Sequence[Row]) -> bool:
    names = {name for need in needs for name in (need["id"], need["completed_by"])}
    words = {word for need in needs for word in list_topic_words(need["title"])}
    reason = row["deferred_reason"]
    is_known = not reason or bool(names & set(_NAME.findall(reason)) or words & list_topic_words(reason))
    return is_known and not any(_waits_for_other(each, row, names) for each in work)


def _waits_for_other(work: Row, row: Row, names: set[str]) -> bool:
    """Was the work reported to wait for something that is no dependency of its item?"""
    awaited = {name.strip() for name in work["blocked_by"].split(",")} - {""}
    has_own_reason = work["blocked_reason"] not in ("", row["deferred_reason"]) and not awaited
    return bool(work["waiting_for"] or awaited - names or has_own_reason)


def _unblock_values(call: Call, row: Row, work: Sequence[Row]) -> dict[str, Any]:
    """In progress with a claim of the live session that works on it, else open."""
    session = next((each["session"] for each in work if each["agent"] == row["assigned_to"]), "")
    if not session:
        return {"status": "open", "deferred_reason": ""}
    return {
        "status": "in_progress",
        "deferred_reason": "",
        "claim_project": row["project"],
        "claim_session": session,
        "claimed_until": call.now + model.CLAIM_LIFETIME,
    }
