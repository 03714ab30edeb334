"""What the sender of a message is told when a recipient says that it was seen, handled, or failed."""

from commonplace.activity import list_live_sessions_of_agents
from commonplace.call import Call
from commonplace.named_notices import replace_notices
from commonplace.rooms.messages import model, store
from commonplace.shortening import shorten_line

_MAX_TITLE_CHARACTERS = 60
_MAX_NOTE_CHARACTERS = 160
_NOTICE_PREFIX = "status_"
_TOLD_STATUSES: dict[str, str] = {"received": "has seen", "completed": "completed", "failed": "could not do"}


async def tell_sender(call: Call, message: str, status: model.MessageStatus, note: str) -> None:
    """Leave one notice for the sender; that of a later status takes its place. Nobody waits for the receipt of an info."""
    row = await store.load_parent_message(call.tx, call.project, message)
    if row is None or status not in _TOLD_STATUSES or row["sender"] == call.agent:
        return
    if status == "received" and row["category"] == "info" and row["priority"] != "urgent":
        return
    sessions = await list_live_sessions_of_agents(call.tx, row["sender_project"], [row["sender"]], call.now)
    title = shorten_line(model.message_title(row), _MAX_TITLE_CHARACTERS)
    reason = f": {shorten_line(note, _MAX_NOTE_CHARACTERS)}" if note else ""
    await replace_notices(
        call.tx,
        row["sender_project"],
        [session["id"] for session in sessions],
        f"{_NOTICE_PREFIX}{message}_{call.agent}",
        f'{call.agent} {_TOLD_STATUSES[status]} your message "{title}" ({message}){reason}',
        call.now,
    )
