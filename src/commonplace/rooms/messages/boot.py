"""The boot section `messages`: counts of unread mail, and the first headers."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.rooms.messages import model, store

MAX_BOOT_HEADERS = 5


async def summarize_unread_mail(call: Call, start: StartingSession) -> dict[str, Any]:
    unread = await store.count_unread_messages(call.tx, start.project, start.agent)
    if not unread:
        return {"unread": 0, "urgent": 0}
    rows = await store.list_inbox_messages(
        call.tx, start.project, start.agent, limit=start.scale_limit(MAX_BOOT_HEADERS)
    )
    return {
        "unread": unread,
        "urgent": await store.count_unread_messages(call.tx, start.project, start.agent, urgent_only=True),
        "top": [model.MessageHeader.from_row(row, call.now) for row in rows],
    }


MESSAGES_SECTION = BootSection("messages", 20, summarize_unread_mail)
