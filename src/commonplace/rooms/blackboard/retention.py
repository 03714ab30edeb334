"""Close blackboards automatically when nobody has written to them for the configured time."""

from commonplace import access, audit, events
from commonplace.config import Settings
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.session import session_uri
from commonplace.rooms.projects.store import list_all_project_names
from commonplace.store.database import Tx


async def close_idle_sessions(tx: Tx, now: int, settings: Settings) -> None:
    """Store the closing, audit it and emit its event; reads show idle sessions as closed already."""
    projects = await list_all_project_names(tx)
    closed = await store.close_idle_session_rows(tx, projects, model.idle_cutoff(now, settings), now)
    for row in closed:
        await audit.record(tx, row["project"], now, "close_session", "ok", "idle", access.OPERATOR, row["id"])
    bodies = [{"session_id": row["id"], "status": "completed"} for row in closed]
    await events.append(
        tx,
        [
            events.Event(row["project"], "SessionClosed", session_uri(row["id"]), now, 0, "idle", "", body)
            for row, body in zip(closed, bodies, strict=True)
        ],
    )
