"""Retention of blackboards: a session that has been idle for too long is closed."""

from commonplace import access, audit, events
from commonplace.config import Settings
from commonplace.rooms.blackboard import model, store
from commonplace.rooms.blackboard.session import uri
from commonplace.store.database import Tx


async def close_idle_sessions(tx: Tx, now: int, settings: Settings) -> None:
    """Reads already show them as closed; this writes it down and says so."""
    projects = await store.every_project(tx)
    closed = await store.close_idle(tx, projects, model.idle_since(now, settings), now)
    for row in closed:
        await audit.record(tx, row["project"], now, "close_session", "ok", "idle", access.OPERATOR, row["id"])
    body = [{"session_id": row["id"], "status": "completed"} for row in closed]
    await events.append(
        tx,
        [
            events.Event(row["project"], "SessionClosed", uri(row["id"]), now, 0, "idle", "", said)
            for row, said in zip(closed, body, strict=True)
        ],
    )
