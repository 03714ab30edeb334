"""The boot sections `messages`, counts of unread mail and the first headers, and `awaiting_reply`, the agent's own
questions by mail that nobody has answered."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import DAY, format_age
from commonplace.operation import Reply
from commonplace.rooms.messages import model, store
from commonplace.shortening import shorten_line

MAX_BOOT_HEADERS = 5
_MAX_QUESTIONS = 5
_MAX_QUESTION_CHARACTERS = 120


class UnansweredQuestion(Reply):
    message_id: str
    to: str
    question: str
    age: str


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


async def list_unanswered_questions(call: Call, start: StartingSession) -> list[UnansweredQuestion]:
    """Questions of the last day: who has waited longer asks again."""
    limit = start.scale_limit(_MAX_QUESTIONS)
    rows = await store.list_unanswered_questions(call.tx, start.project, start.agent, call.now - DAY, limit)
    return [
        UnansweredQuestion(
            message_id=row["id"],
            to=row["addressed_to"],
            question=shorten_line(row["subject"] or row["body"], _MAX_QUESTION_CHARACTERS),
            age=format_age(row["created_at"], call.now),
        )
        for row in rows
    ]


MESSAGES_SECTION = BootSection("messages", 20, summarize_unread_mail)
AWAITING_REPLY_SECTION = BootSection("awaiting_reply", 28, list_unanswered_questions)
