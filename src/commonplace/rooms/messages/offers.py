"""What this room gives to the others: mail for a starting session, messages by id, and what may be forgotten."""

from collections.abc import Sequence
from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.config import Settings
from commonplace.rooms.agents import store as agents
from commonplace.rooms.messages import model, store
from commonplace.store import ids
from commonplace.store.database import Row, Tx

_TOP = 5


async def _waiting_mail(call: Call, start: StartingSession) -> dict[str, Any]:
    unread = await store.count_unread_messages(call.tx, start.project, start.agent)
    if not unread:
        return {"unread": 0, "urgent": 0}
    rows = await store.list_inbox_messages(call.tx, start.project, start.agent, limit=_TOP)
    return {
        "unread": unread,
        "urgent": await store.count_unread_messages(call.tx, start.project, start.agent, urgent_only=True),
        "top": [model.MessageHeader.from_row(row, call.now) for row in rows],
    }


async def _find(call: Call, project: str, given: str) -> dict[str, Any] | None:
    found = await ids.beginning(call.tx, "message", [project], given)
    row = await store.load_message(call.tx, *found[0]) if found else None
    if row is None:
        return None
    deliveries = await store.list_deliveries(call.tx, project, row["id"])
    if not await _may_read(call, row, deliveries):
        return None
    return model.render_message_document(row, deliveries)


async def _may_read(call: Call, row: Row, deliveries: Sequence[Row]) -> bool:
    """Mail is between those who wrote and got it, and the project's admins."""
    if call.agent == row["sender"] or any(each["agent"] == call.agent for each in deliveries):
        return True
    return await agents.is_project_admin(call.tx, row["project"], call.caller, call.agent)


async def forget_finished(tx: Tx, now: int, settings: Settings) -> None:  # noqa: ARG001 - the shape of every sweep
    await store.delete_expired_messages(tx, now - model.FINISHED_MAIL_RETENTION)


mail_section = BootSection("messages", 20, _waiting_mail)
finders = {"msg_": _find}
