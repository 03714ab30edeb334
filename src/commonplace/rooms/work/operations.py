"""Say what you work on, and see what others do."""

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
    Files,
    Item,
    Notes,
    Overlap,
    Sentence,
    Signal,
    SignalName,
    Signals,
    Status,
    Title,
    Updated,
    WorkItem,
    overlaps,
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
    title: Title,
    status: Status,
    files_touched: Files | None = None,
    notes: Notes | None = None,
    blocked_by: Sentence | None = None,
    blocked_reason: Sentence | None = None,
    waiting_for_signal: SignalName | None = None,
    signals: Signals | None = None,
    signal_details: Sentence = "",
) -> Updated:
    """Say what you do, what blocks you, what you touched. Signals unblock waiters."""
    session = call.own_session
    touched = _canonical(session, files_touched or [])
    item = Item(title, status, touched, notes, blocked_by, blocked_reason, waiting_for_signal)
    stored = item.after(await store.find(call.tx, session, title))
    work_id = await store.put(call.tx, session, stored, call.now)
    call.subject = f"{status}: {title}"
    call.emit("WorkUpdated", f"work://{call.project}", title=title, status=status, files=touched)
    sent = list(dict.fromkeys(signals or []))
    return Updated(
        status="updated",
        id=work_id,
        overlaps=await _touch(call, touched),
        signals_broadcast=sent,
        unblocked=await _broadcast(call, sent, signal_details),
        sent_before=await _sent_before(call, waiting_for_signal),
    )


@operation("memory_get_active_work", role="readonly")
async def get_active_work(
    call: Call,
    project: str | None = None,
    instance: AgentName | None = None,
    since_hours: Annotated[int, Field(ge=1, le=336)] = 24,
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> ActiveWork:
    """Who is active or blocked, by what; recent signals."""
    since = call.now - since_hours * HOUR
    active = await store.active_sessions(call.tx, call.project, since, limit, instance)
    works = await store.in_progress(call.tx, call.project, [row["id"] for row in active])
    blocked = await store.blocked(call.tx, call.project, limit, instance)
    signals = await store.signals(call.tx, call.project, since, limit, agent=instance)
    items = await store.items(call.tx, call.project, since, limit, instance)
    return ActiveWork(
        currently_active=_active(active, works),
        blocked_agents=[BlockedAgent.of(row) for row in blocked],
        recent_signals=[Signal.of(row) for row in signals],
        recent_work_items=[WorkItem.of(row, call.now) for row in items],
        overlap_window_hours=OVERLAP_HOURS,
    )


def _canonical(session: activity.Session, files: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(paths.canonicalize_path(path, session.working_directory) for path in files))


async def _touch(call: Call, touched: Sequence[str]) -> list[Overlap]:
    if not touched:
        return []
    session = call.own_session
    rows = await store.touched_near(call.tx, session, touched, call.now - OVERLAP_HOURS * HOUR)
    await store.touch(call.tx, session, touched, call.now)
    return overlaps(touched, rows, call.project, await project_ignores_case(call.tx, call.project))


async def _broadcast(call: Call, names: Sequence[str], details: str) -> list[str]:
    if not names:
        return []
    session = call.own_session
    await store.broadcast(call.tx, session, names, details, call.now)
    for name in names:
        call.emit("SignalSent", f"signals://{call.project}", name=name, details=details)
    waiting = await store.unblock(call.tx, session, names, call.now)
    for row in waiting:
        text = f"Signal {row['waiting_for']} from {call.agent}: '{row['title']}' is unblocked."
        await activity.tell(call.tx, call.project, [row["session"]], f"{text} {details}".strip(), call.now)
        call.emit(
            "WorkUnblocked", f"work://{call.project}", audience=f"inbox:{row['agent']}", title=row["title"]
        )
    return sorted({row["agent"] for row in waiting})


async def _sent_before(call: Call, name: str | None) -> list[Signal]:
    """A signal that came before anybody waited for it must not be waited for in vain."""
    if name is None:
        return []
    since = call.now - OVERLAP_HOURS * HOUR
    return [Signal.of(row) for row in await store.signals(call.tx, call.project, since, 1, name=name)]


def _active(sessions: Sequence[Row], works: Sequence[Row]) -> list[ActiveAgent]:
    by_session: dict[str, list[Row]] = defaultdict(list)
    for row in works:
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
