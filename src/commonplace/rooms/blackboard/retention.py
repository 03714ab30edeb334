"""Close blackboards automatically when nobody has written to them for the configured time."""

from commonplace import access, events
from commonplace.config import Settings
from commonplace.project import list_all_project_names
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.events import SESSION_CLOSED
from commonplace.store.database import Tx


async def close_idle_sessions(tx: Tx, now: int, settings: Settings) -> None:
    """Store the closing, audit it and emit its event; reads show idle sessions as closed already."""
    projects = await list_all_project_names(tx)
    closed = await store.close_idle_session_rows(tx, projects, model.idle_cutoff(now, settings), now)
    for row in closed:
        await events.insert_audit_row(
            tx, row["project"], now, "close_session", "ok", "idle", access.OPERATOR, row["id"]
        )
    await events.append_events(
        tx,
        [
            SESSION_CLOSED.create_event(
                row["project"],
                now,
                "idle",
                {"session_id": row["id"], "status": "completed"},
                {"session_id": row["id"]},
            )
            for row in closed
        ],
    )
