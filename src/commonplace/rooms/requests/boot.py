"""The boot section `asked_by_you`: questions of the agent to a person that have no answer yet.

An answer that the agent has not read is not here: `rooms/sessions` moves its notice to the session that starts.
"""

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.operation import Reply
from commonplace.rooms.requests import model, store
from commonplace.shortening import shorten_line

_MAX_QUESTIONS = 5


class OpenQuestion(Reply):
    request_id: str
    question: str
    age: str


async def list_open_questions(call: Call, start: StartingSession) -> list[OpenQuestion]:
    rows = await store.list_pending_questions(call.tx, start.project, start.agent)
    return [
        OpenQuestion(
            request_id=row["id"],
            question=shorten_line(
                model.decode_questions(row["questions"])[0].question, model.MAX_SHOWN_QUESTION_CHARACTERS
            ),
            age=format_age(row["created_at"], call.now),
        )
        for row in rows
        if row["state"] == "open"
    ][: start.scale_limit(_MAX_QUESTIONS)]


ASKED_SECTION = BootSection("asked_by_you", 28, list_open_questions)
