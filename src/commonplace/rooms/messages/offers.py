"""What this room gives to the others: mail for a starting session, messages by id, and what may be forgotten."""

from typing import Any

from commonplace.call import Call
from commonplace.config import Settings
from commonplace.rooms.messages import model, store
from commonplace.rooms.sessions.boot import Section, Start
from commonplace.store import ids
from commonplace.store.database import Tx

_TOP = 5


async def _waiting_mail(call: Call, start: Start) -> dict[str, Any]:
    unread = await store.unread_count(call.tx, start.project, start.agent)
    if not unread:
        return {"unread": 0, "urgent": 0}
    rows = await store.inbox(call.tx, start.project, start.agent, limit=_TOP)
    return {
        "unread": unread,
        "urgent": await store.unread_urgent(call.tx, start.project, start.agent),
        "top": [model.Header.of(row, call.now) for row in rows],
    }


async def _find(tx: Tx, project: str, given: str) -> dict[str, Any] | None:
    found = await ids.beginning(tx, "message", [project], given)
    row = await store.one(tx, *found[0]) if found else None
    return model.found(row, await store.deliveries(tx, project, row["id"])) if row else None


async def forget_finished(tx: Tx, now: int, settings: Settings) -> None:  # noqa: ARG001 - the shape of every sweep
    await store.sweep(tx, now - model.KEPT_FOR)


mail_section = Section("messages", 20, _waiting_mail)
finders = {"msg_": _find}
