"""What work contributes to other parts of the server: resources, events, who changed a file, what search and memory_get_by_id
show of a work item, retention, and the boot sections `your_work`, `signals`, `blocking_others` and `you_waited_for`.

Work items leave the search index with their retention. What a claim opened says nothing that its backlog item does not say,
until something is reported of it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY, HOUR, iso
from commonplace.events import EventType
from commonplace.file_changes import FileChange
from commonplace.identity.liveness import load_presence
from commonplace.operation import Reply, operation
from commonplace.resource import Resource
from commonplace.retention import Sweep, delete_from_table
from commonplace.rooms.locks.waiting import WaitingAgent, list_waiting_agents
from commonplace.rooms.work import model, store
from commonplace.rooms.work.model import (
    EDITS_TITLE,
    OPEN_STATUSES,
    OVERLAP_HOURS,
    ActiveWork,
    BlockedAgent,
    OwnWork,
    WaitLeft,
    WorkItem,
    WorkSignal,
    group_active_agents,
    show_status,
)
from commonplace.search.index import WORK_KIND, remove_entries
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store import ids
from commonplace.store.database import Row, Tx

_SINCE_HOURS = 24
_MAX_LISTED = 20


class SignalListing(Reply):
    signals: list[WorkSignal]


async def list_active_work(
    call: Call, projects: Sequence[str], since_hours: int, limit: int, agent: str | None = None
) -> ActiveWork:
    """List active and blocked agents, signals and work items; memory_get_active_work returns it too."""
    found = [await _list_work_of_project(call, project, since_hours, limit, agent) for project in projects]
    return ActiveWork(
        overlap_window_hours=OVERLAP_HOURS,
        currently_active=[agent for each in found for agent in each.currently_active][:limit],
        blocked_agents=[agent for each in found for agent in each.blocked_agents][:limit],
        recent_signals=[signal for each in found for signal in each.recent_signals][:limit],
        recent_work_items=[item for each in found for item in each.recent_work_items][:limit],
    )


async def _list_work_of_project(
    call: Call, project: str, since_hours: int, limit: int, agent: str | None
) -> ActiveWork:
    since = call.now - since_hours * HOUR
    active = await store.list_active_sessions(call.tx, project, since, limit, agent)
    work_rows = await store.list_work_in_progress(call.tx, project, [row["id"] for row in active])
    blocked = await store.list_blocked_work(call.tx, project, limit, agent)
    signals = await store.list_signals(call.tx, project, since, limit, agent=agent)
    items = await store.list_work_items(call.tx, project, since, limit, agent)
    waiting = await list_waiting_agents(call.tx, project)
    return ActiveWork(
        currently_active=group_active_agents(
            [_with_own_activity(call, row) for row in active], work_rows, call.now
        ),
        blocked_agents=[
            *(BlockedAgent.from_row(row) for row in blocked),
            *(
                BlockedAgent.from_lock_wait(wait)
                for wait in waiting
                if wait.holders and agent in (None, wait.agent) and not _is_reported(wait, blocked)
            ),
        ][:limit],
        recent_signals=[WorkSignal.from_row(row) for row in signals],
        recent_work_items=[WorkItem.from_row(row, call.now) for row in items],
        overlap_window_hours=OVERLAP_HOURS,
    )


def _is_reported(wait: WaitingAgent, blocked: Sequence[Row]) -> bool:
    """Did the agent say itself that it is blocked on this file?"""
    return any(row["agent"] == wait.agent and wait.path in row["blocked_reason"] for row in blocked)


def _with_own_activity(call: Call, row: Row) -> Row:
    """Count this call as activity of its session; the store learns of a read up to a second later."""
    is_own = call.session is not None and call.session.id == row["id"]
    return {**row, "active_at": call.now} if is_own else row


@operation("resource:work", role="readonly", session=False)
async def read_work(call: Call, project: str) -> ActiveWork:
    """Active and blocked agents, and their work items of the last day."""
    return await list_active_work(call, [project], _SINCE_HOURS, _MAX_LISTED)


@operation("resource:signals", role="readonly", session=False)
async def read_signals(call: Call, project: str) -> SignalListing:
    """Signals of the last day, newest first."""
    rows = await store.list_signals(call.tx, project, call.now - _SINCE_HOURS * HOUR, _MAX_LISTED)
    return SignalListing(signals=[WorkSignal.from_row(row) for row in rows])


WORK = Resource("work://{project}", "Active work of a project", read_work)
SIGNALS = Resource("signals://{project}", "Recent signals of a project", read_signals)


WORK_UPDATED = EventType("WorkUpdated", WORK)
WORK_UNBLOCKED = EventType("WorkUnblocked", WORK)
SIGNAL_SENT = EventType("SignalSent", SIGNALS)


async def list_file_changes(call: Call, paths: Sequence[str]) -> list[FileChange]:
    rows = await store.list_changes_by_others(call.tx, call.own_session, paths)
    newest_first = {row["path"]: FileChange(row["path"], row["agent"], row["at"]) for row in reversed(rows)}
    return [newest_first[path] for path in paths if path in newest_first]


async def find_work_by_id(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "work", [project], id_prefix)
    rows = await store.load_work_items(call.tx, project, [match[0][1]]) if match else []
    if not rows:
        return None
    row = rows[0]
    blocked = {name: row[name] for name in ("blocked_by", "blocked_reason", "waiting_for") if row[name]}
    return {
        "id": row["id"],
        "title": row["title"],
        "type": "work_item",
        "status": show_status(row["status"]),
        "project": project,
        "created": iso(row["created_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["agent"],
        "content": row["notes"],
        "links": {"files": msgspec.json.decode(row["files"]), **blocked},
    }


FINDERS = {"work_": find_work_by_id}


async def _remove_entries(tx: Tx, batch: Sweep, rows: Sequence[Row]) -> None:
    await remove_entries(tx, batch.project, WORK_KIND, [row["id"] for row in rows])


WORK_RULES = (
    delete_from_table("touched", kind="touched_files", key=("path", "session"), setting="work_days"),
    delete_from_table("signal", kind="signals", key=("at", "id"), setting="work_days"),
    delete_from_table("work", at="updated_at", setting="work_days", after=_remove_entries),
)


async def load_searched_work(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    return [_build_search_item(row) for row in await store.load_work_items(tx, project, ids)]


def _build_search_item(row: Row) -> SearchItem:
    files = msgspec.json.decode(row["files"], type=list[str])
    parts = (row["notes"], row["blocked_reason"], *files)
    text = "\n".join(part for part in parts if part)
    return SearchItem(
        id=row["id"],
        title=row["title"],
        text=text,
        type="work_item",
        status=show_status(row["status"]),
        is_active=bool(text or not row["item"]),
        author=row["agent"],
        files=tuple(files),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
        repeats=row["item"],
    )


SEARCH_SOURCE = SearchSource(kind=WORK_KIND, load=load_searched_work, table="work", bonus=-0.25)


_NEW_SIGNAL_AGE = HOUR
_WAIT_LIFETIME = 14 * DAY
_MAX_SIGNALS = 5
_MAX_WAITS_LEFT = 3
_MAX_BLOCKED_AGENTS = 10


async def list_own_work(call: Call, start: StartingSession) -> list[OwnWork]:
    """List the open work of the dormant sessions that this one continues: they left no handoff."""
    del call
    # Its own, if the work was moved before this is read.
    earlier = {each.session.id for each in start.earlier_sessions} | {start.session}
    return [
        OwnWork.from_row(row)
        for row in start.latest_work
        if row["session"] in earlier and row["status"] in OPEN_STATUSES and row["title"] != EDITS_TITLE
    ]


async def list_new_signals(call: Call, start: StartingSession) -> list[WorkSignal]:
    """List what others signalled since the agent's last session, or lately if it had none."""
    since = start.previous_start or call.now - _NEW_SIGNAL_AGE
    rows = await store.list_signals(call.tx, start.project, since, start.scale_limit(_MAX_SIGNALS))
    return [WorkSignal.from_row(row) for row in rows if row["agent"] != start.agent]


async def list_agents_blocked_by_own(call: Call, start: StartingSession) -> list[BlockedAgent]:
    rows = await store.list_work_blocked_by_agent(call.tx, start.project, start.agent, _MAX_BLOCKED_AGENTS)
    return [BlockedAgent.from_row(row) for row in rows]


async def _describe_awaited(call: Call, agent: str, wait: Row) -> str:
    """Tell how what was waited for stands now: items that are closed, versions of specs, agents that are there or away."""
    names = model.list_awaited_names(wait)
    targets = await store.find_awaited(call.tx, call.project, names, agent) if names else []
    texts = [f"{row['name']} is {row['state']}" for row in targets if row["kind"] in ("item", "spec")]
    awaited = sorted({row["name"] for row in targets if row["kind"] == "agent"})
    found = [await load_presence(call.tx, call.project, name, call.now) for name in awaited]
    return "; ".join([*texts, *(presence.describe(call.now) for presence in found)])


async def list_waits_left(call: Call, start: StartingSession) -> list[WaitLeft]:
    """List what earlier sessions of the agent waited for in vain, and how that stands."""
    if start.previous_start is None:
        return []
    rows = await store.list_waits_left(
        call.tx, start.project, start.agent, call.now - _WAIT_LIFETIME, _MAX_WAITS_LEFT
    )
    return [
        WaitLeft(
            title=row["title"],
            waiting_for=row["blocked_by"] or row["waiting_for"],
            reason=row["blocked_reason"],
            item=row["item"],
            since=iso(row["updated_at"]),
            now=await _describe_awaited(call, start.agent, row),
        )
        for row in rows
    ]


OWN_WORK_SECTION = BootSection("your_work", 1, list_own_work)
SIGNALS_SECTION = BootSection("signals", 50, list_new_signals)
WAITS_LEFT_SECTION = BootSection("you_waited_for", 29, list_waits_left)
BLOCKING_OTHERS_SECTION = BootSection("blocking_others", 30, list_agents_blocked_by_own)
