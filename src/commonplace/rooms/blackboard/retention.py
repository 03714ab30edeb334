"""Close blackboards automatically when nobody has written to them for the configured time."""

from collections.abc import Sequence

from commonplace import access, events
from commonplace.retention import RetentionRule, Sweep
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.events import SESSION_CLOSED
from commonplace.store.database import Tx


async def _find_projects(tx: Tx, projects: Sequence[str], before: int, limit: int) -> set[str]:
    return await store.list_some_idle_projects(tx, projects, before, limit)


async def _close_sessions(tx: Tx, batch: Sweep) -> int:
    """Store the closing, audit it and emit its event; reads show idle sessions as closed already."""
    project, now = batch.project, batch.now
    closed = await store.close_idle_session_rows(tx, project, batch.before, now, batch.limit)
    for row in closed:
        await events.insert_audit_row(
            tx, project, now, "close_session", "ok", "idle", access.OPERATOR, row["id"]
        )
    if closed:
        await events.append_events(
            tx,
            [
                SESSION_CLOSED.create_event(
                    project,
                    now,
                    "idle",
                    {"session_id": row["id"], "status": "completed"},
                    {"session_id": row["id"]},
                )
                for row in closed
            ],
        )
    return len(closed)


async def _count_sessions(tx: Tx, batch: Sweep) -> int:
    return await store.count_idle_sessions(tx, batch.project, batch.before)


IDLE_SESSIONS = RetentionRule(
    kind="idle_blackboards",
    find_before=model.idle_cutoff,
    find_due=_find_projects,
    sweep=_close_sessions,
    count=_count_sessions,
)
