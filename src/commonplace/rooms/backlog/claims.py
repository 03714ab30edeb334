"""Claims of backlog items. A claim is a lease of a session: its calls renew it, and it lapses with the session.

A claim that lapsed in silence is shown as lapsed by `model.with_lapsed_claim` and written down by the next change
of its item. `edits.py` makes the claim itself.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from commonplace import errors
from commonplace.activity import ActivityStep
from commonplace.call import Call
from commonplace.identity.session import AgentSession
from commonplace.notices import notify_sessions
from commonplace.rooms.backlog import model, notices, store
from commonplace.rooms.backlog.contributes import emit_backlog_changed
from commonplace.rooms.backlog.model import ReleasedClaim
from commonplace.rooms.locks import store as locks
from commonplace.rooms.work import item_store
from commonplace.rooms.work import store as work
from commonplace.rooms.work.contributes import WORK_UPDATED
from commonplace.rooms.work.model import (
    HANDED_OVER,
    MAX_WORK_TITLE_CHARACTERS,
    OPEN_STATUSES,
    choose_work_of_claim,
    describe_wait,
)
from commonplace.search.index import WORK_KIND
from commonplace.shortening import shorten_text
from commonplace.store.counters import advance_counter
from commonplace.store.database import Row, Tx

_MAX_LOCKED_FILES = 10


def session_digest(call: Call) -> str:
    """The id under which the session of the call is stored; empty for an agent without one, such as a person."""
    return call.session.id if call.session else ""


def home_project(call: Call) -> str:
    """The project of the session, else of the call."""
    return call.session.project if call.session else call.project


async def require_claimable(call: Call, row: Row, *, force: bool) -> dict[str, str]:
    """Return the edit that assigns the item to the caller; refuse if another agent has it or it is blocked."""
    owner = row["assigned_to"] or row["completed_by"]
    if row["closed"] or row["assigned_to"] not in ("", call.agent):
        raise errors.Conflict(
            f"{row['id']} is {row['status']} and belongs to {owner}.",
            hint="List unclaimed items with memory_list_backlog(ready=true).",
            owner=owner,
            item_status=row["status"],
        )
    blocked_by = await store.list_open_dependencies(call.tx, row["project"], row["id"])
    if blocked_by and not force and row["was_claimed_by"] != call.agent:
        blockers = await store.load_items(call.tx, row["project"], blocked_by)
        listed = "; ".join(notices.describe_blocker(blocker) for blocker in blockers)
        waiting = (
            "You are told when it is free."
            if row["assigned_to"]
            else f"To be told when it is free, assign it to yourself: memory_update_backlog_item(item_id='{row['id']}',"
            f" assigned_to='{call.agent}')."
        )
        raise errors.Conflict(
            f"{row['id']} is blocked by {listed}.",
            hint=f"{waiting} Other work: memory_list_backlog(ready=true). force=true claims it all the same, to begin with what does not depend on it.",
            blocked_by=blocked_by,
        )
    return {"status": "in_progress", "assigned_to": call.agent}


async def release_lapsed_claim(call: Call, row: Row) -> Row:
    """Write down that another session's claim lapsed and notify it; the caller holds the backlog lock."""
    if not model.is_claim_lapsed(row, call.now) or row["claim_session"] == session_digest(call):
        return row
    text = f"Your claim on {row['id']} lapsed, and {call.agent} has changed it since: {row['title']}"
    await notify_sessions(call.tx, row["claim_project"], [row["claim_session"]], text, call.now)
    return await _release_claim(call, row, row["claimed_until"])


async def release_claims_of_session(call: Call, session: AgentSession) -> list[ReleasedClaim]:
    """Make ready again what the session has claimed and not completed."""
    released = []
    for project, items in (
        await store.delete_claims_of_session(call.tx, session.project, session.id)
    ).items():
        await advance_counter(call.tx, project, "backlog")
        for row in await store.list_claimed_items(call.tx, project, items, session.id):
            work_row = await item_store.find_work_of_item(call.tx, session, row["id"])
            await _release_claim(call, row, call.now)
            blocked = describe_wait(work_row) if work_row else ""
            released.append(ReleasedClaim(id=row["id"], title=row["title"], blocked=blocked))
    return released


async def _release_claim(call: Call, row: Row, until: int) -> Row:
    values = {**row, **model.release_values(row, until)}
    released = await store.update_item(call.tx, row, values, call.now)
    if released is None:
        raise errors.Conflict(f"{row['id']} was changed meanwhile.", hint="Retry the same call.")
    changes = model.diff_fields(row, values)
    await store.insert_changes(call.tx, released, changes, row["assigned_to"], call.now)
    emit_backlog_changed(call, row["project"], row["id"])
    await update_work_of_item(call, row, released)
    return released


async def update_work_of_item(call: Call, before: Row, after: Row) -> None:
    """Let the work items follow a change of their backlog item: claimed, completed, or taken from its agent."""
    title = shorten_text(after["title"], MAX_WORK_TITLE_CHARACTERS)
    session = call.session
    if after["closed"] and not before["closed"]:
        status = "completed" if after["status"] == "done" else "abandoned"
        await _close_work(call, before, {call.agent, before["assigned_to"]}, status)
        return
    is_put_back = before["status"] in ("in_progress", "blocked") and after["status"] == "open"
    if is_put_back or before["assigned_to"] != after["assigned_to"]:
        is_given = before["assigned_to"] == call.agent and after["assigned_to"] not in ("", call.agent)
        status = HANDED_OVER if is_given else "abandoned"
        await _close_work(call, before, {before["assigned_to"]}, status)
    elif "blocked" in (before["status"], after["status"]):
        await _block_or_unblock_work(call, before, after)
    if session and after["claim_session"] == session.id != before["claim_session"]:
        await _start_work(call, session, after["id"], title)


async def _block_or_unblock_work(call: Call, before: Row, after: Row) -> None:
    """Let the open work on an item be blocked as long as the item is, with its reason and what it depends on."""
    projects = _list_work_projects(call, before)
    if after["status"] == "blocked":
        needs = ", ".join(await store.list_open_dependencies(call.tx, after["project"], after["id"]))
        changed = await item_store.block_work_of_item(
            call.tx, projects, after["id"], needs, after["deferred_reason"], call.now
        )
    else:
        changed = await item_store.unblock_work_of_item(call.tx, projects, after["id"], call.now)
    for row in changed:
        status, files = "blocked" if after["status"] == "blocked" else "in_progress", row["files"]
        call.reindex(WORK_KIND, row["id"], project=row["project"])
        call.emit(
            WORK_UPDATED,
            project=row["project"],
            title=row["title"],
            status=status,
            files=msgspec.json.decode(files),
        )


def _list_work_projects(call: Call, row: Row) -> list[str]:
    """The projects in which an agent may work on this item: its own, and those of the sessions that claim or change it."""
    return list(dict.fromkeys(filter(None, [row["project"], home_project(call), row["claim_project"]])))


async def _start_work(call: Call, session: AgentSession, item: str, title: str) -> None:
    """Open the work of a claim; work on the same thing that the session has reported before goes on as it is."""
    reported = await item_store.find_work_of_item(call.tx, session, item)
    if reported is None:
        reported = choose_work_of_claim(await work.list_work_of_session(call.tx, session), item)
    if reported is None:
        work_id = await item_store.start_work_of_item(call.tx, session, title, item, call.now)
    else:
        work_id, title = reported["id"], reported["title"]
        await item_store.link_work_to_item(call.tx, session.project, work_id, item, call.now)
    await work.show_current_work(call.tx, session, call.now)
    call.reindex(WORK_KIND, work_id, project=session.project)
    call.emit(WORK_UPDATED, project=session.project, title=title, status="in_progress", files=[])


async def _close_work(call: Call, row: Row, agents: set[str], status: str) -> None:
    title = shorten_text(row["title"], MAX_WORK_TITLE_CHARACTERS)
    await item_store.close_work_of_item(
        call.tx, _list_work_projects(call, row), sorted(agents - {""}), title, row["id"], status, call.now
    )


async def list_locked_files(call: Call) -> list[str]:
    """List the first files that the caller holds locked, to be released when the work on them is done."""
    if call.session is None:
        return []
    now, fold = await call.tx.clock(), await locks.project_ignores_case(call.tx, call.session.project)
    leases = await locks.list_leases_of_session(call.tx, call.session.project, call.session.id, fold)
    return [lease.name for lease in leases if lease.blocks_others(now)][:_MAX_LOCKED_FILES]


async def list_open_work(call: Call) -> list[str]:
    """List the titles of work that the caller's session has open beside its claims."""
    rows = await work.list_work_of_session(call.tx, call.session) if call.session else []
    return [row["title"] for row in rows if row["status"] in OPEN_STATUSES and not row["item"]]


async def _renew_claims(
    tx: Tx, session: AgentSession, claims: Sequence[Row], now: int, store_now: int
) -> bool:
    del store_now
    for project, items in store.group_claimed_ids(claims).items():
        await store.extend_claims(tx, project, items, session.id, now)
    return False


RENEW_CLAIMS = ActivityStep(store.CLAIMS_OF_SESSION, _renew_claims)


async def unblock_items(call: Call, items: Sequence[Row]) -> list[Row]:
    """Let items with the status `blocked` whose last dependency is closed go on; return all of these that can go on.

    An item stays blocked if its `deferred_reason` names none of its dependencies, or if the work on it was reported to
    wait for something else.
    """
    return [
        item
        for item in items
        if item["status"] != "blocked" or await _unblock_item(call, item["project"], item["id"])
    ]


async def _unblock_item(call: Call, project: str, item: str) -> bool:
    row = await store.load_item(call.tx, project, item)
    needs = await store.list_closed_dependencies(call.tx, project, item)
    work_rows = await item_store.list_blocked_work_of_item(call.tx, project, item)
    if row is None or not _waits_for_nothing_else(row, needs, work_rows):
        return False
    values = {**row, **_unblock_values(call, row, work_rows)}
    updated = await store.update_item(call.tx, row, values, call.now)
    if updated is None:
        raise errors.Conflict(f"{item} was changed meanwhile.", hint="Retry the same call.")
    await store.insert_changes(call.tx, updated, model.diff_fields(row, values), call.agent, call.now)
    if updated["claim_session"]:
        await store.insert_claim(call.tx, project, updated["claim_session"], project, item)
    emit_backlog_changed(call, project, item)
    await update_work_of_item(call, row, updated)
    return True


def _waits_for_nothing_else(row: Row, needs: Sequence[Row], work_rows: Sequence[Row]) -> bool:
    reason = row["deferred_reason"]
    names = {name for need in needs for name in (need["id"], need["completed_by"])}
    awaited = {name.strip() for each in work_rows for name in each["blocked_by"].split(",")} - {""}
    has_signal = any(each["waiting_for"] for each in work_rows)
    is_known = not reason or any(need["id"] in reason for need in needs)
    return is_known and not has_signal and not awaited - names


def _unblock_values(call: Call, row: Row, work_rows: Sequence[Row]) -> dict[str, Any]:
    """In progress with a claim of the live session that works on it, else open."""
    session = next((each["session"] for each in work_rows if each["agent"] == row["assigned_to"]), "")
    if not session:
        return {"status": "open", "deferred_reason": ""}
    return {
        "status": "in_progress",
        "deferred_reason": "",
        "claim_project": row["project"],
        "claim_session": session,
        "claimed_until": call.now + model.CLAIM_LIFETIME,
    }
