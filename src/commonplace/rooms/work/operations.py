"""Report work and signals, and list what others work on. Rules for overlaps are in `model.py`."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from commonplace import activity
from commonplace.call import Call
from commonplace.clock import HOUR, iso
from commonplace.operation import operation
from commonplace.rooms.agents.model import AgentName
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.store import project_ignores_case
from commonplace.rooms.work import store
from commonplace.rooms.work.model import (
    OVERLAP_HOURS,
    ActiveAgent,
    ActiveWork,
    BlockedAgent,
    FileOverlap,
    ShortNote,
    SignalName,
    SignalNames,
    TouchedFiles,
    WorkChange,
    WorkItem,
    WorkNotes,
    WorkSignal,
    WorkStatus,
    WorkTitle,
    WorkUpdate,
    find_overlaps,
)
from commonplace.store.database import Row


@operation(
    "memory_update_work",
    writes=True,
    example={
        "title": "cart",
        "status": "in_progress",
        "files_touched": ["src/cart.py"],
        "signals": ["cart_ready"],
    },
)
async def update_work(
    call: Call,
    title: WorkTitle,
    status: WorkStatus,
    files_touched: TouchedFiles | None = None,
    notes: WorkNotes | None = None,
    blocked_by: ShortNote | None = None,
    blocked_reason: ShortNote | None = None,
    waiting_for_signal: SignalName | None = None,
    signals: SignalNames | None = None,
    signal_details: ShortNote = "",
) -> WorkUpdate:
    """Report what you work on, touch and wait for. Signals unblock those who wait."""
    session = call.own_session
    touched = _canonical_paths(session, files_touched or [])
    change = WorkChange(title, status, touched, notes, blocked_by, blocked_reason, waiting_for_signal)
    columns = change.to_columns(await store.find_work_item(call.tx, session, title))
    work_id = await store.upsert_work_item(call.tx, session, columns, call.now)
    call.subject = f"{status}: {title}"
    call.emit("WorkUpdated", f"work://{call.project}", title=title, status=status, files=touched)
    signal_names = list(dict.fromkeys(signals or []))
    return WorkUpdate(
        status="updated",
        id=work_id,
        overlaps=await _record_touched_files(call, touched),
        signals_broadcast=signal_names,
        unblocked=await _send_signals(call, signal_names, signal_details),
        sent_before=await _list_earlier_signals(call, waiting_for_signal),
    )


@operation("memory_get_active_work", role="readonly")
async def get_active_work(
    call: Call,
    project: str | None = None,
    instance: AgentName | None = None,
    since_hours: Annotated[int, Field(ge=1, le=336)] = 24,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> ActiveWork:
    """List active and blocked agents, and recent signals."""
    since = call.now - since_hours * HOUR
    active = await store.list_active_sessions(call.tx, call.project, since, limit, instance)
    work_rows = await store.list_work_in_progress(call.tx, call.project, [row["id"] for row in active])
    blocked = await store.list_blocked_work(call.tx, call.project, limit, instance)
    signals = await store.list_signals(call.tx, call.project, since, limit, agent=instance)
    items = await store.list_work_items(call.tx, call.project, since, limit, instance)
    return ActiveWork(
        currently_active=_group_active_agents(active, work_rows),
        blocked_agents=[BlockedAgent.from_row(row) for row in blocked],
        recent_signals=[WorkSignal.from_row(row) for row in signals],
        recent_work_items=[WorkItem.from_row(row, call.now) for row in items],
        overlap_window_hours=OVERLAP_HOURS,
    )


def _canonical_paths(session: activity.Session, files: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(paths.canonicalize_path(path, session.working_directory) for path in files))


async def _record_touched_files(call: Call, touched: Sequence[str]) -> list[FileOverlap]:
    if not touched:
        return []
    session = call.own_session
    rows = await store.list_files_touched_nearby(call.tx, session, touched, call.now - OVERLAP_HOURS * HOUR)
    await store.record_touched_files(call.tx, session, touched, call.now)
    return find_overlaps(touched, rows, call.project, await project_ignores_case(call.tx, call.project))


async def _send_signals(call: Call, names: Sequence[str], details: str) -> list[str]:
    if not names:
        return []
    session = call.own_session
    await store.insert_signals(call.tx, session, names, details, call.now)
    for name in names:
        call.emit("SignalSent", f"signals://{call.project}", name=name, details=details)
    waiting = await store.unblock_waiting_work(call.tx, session, names, call.now)
    for row in waiting:
        text = f"Signal {row['waiting_for']} from {call.agent}: '{row['title']}' is unblocked."
        await activity.tell(call.tx, call.project, [row["session"]], f"{text} {details}".strip(), call.now)
        call.emit(
            "WorkUnblocked", f"work://{call.project}", audience=f"inbox:{row['agent']}", title=row["title"]
        )
    return sorted({row["agent"] for row in waiting})


async def _list_earlier_signals(call: Call, name: str | None) -> list[WorkSignal]:
    """Return a signal that was sent before the caller began to wait for it."""
    if name is None:
        return []
    since = call.now - OVERLAP_HOURS * HOUR
    return [
        WorkSignal.from_row(row)
        for row in await store.list_signals(call.tx, call.project, since, 1, name=name)
    ]


def _group_active_agents(sessions: Sequence[Row], work_rows: Sequence[Row]) -> list[ActiveAgent]:
    by_session: dict[str, list[Row]] = defaultdict(list)
    for row in work_rows:
        by_session[row["session"]].append(row)
    return [
        ActiveAgent(
            agent=row["agent"],
            last_active=iso(row["active_at"]),
            task=row["task"],
            working_on=[work["title"] for work in by_session[row["id"]]],
            files=[file for work in by_session[row["id"]] for file in msgspec.json.decode(work["files"])],
        )
        for row in sessions
    ]
