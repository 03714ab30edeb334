"""memory_ask_person: an agent asks and waits; who does not wait long enough gets the answer as a notice.

The question is stored by an operation of its own before the wait starts, because a call that waits keeps nothing. The same
question of the same session is the same request, so an agent may call again to go on waiting.
"""

from collections.abc import Mapping
from typing import Any

from commonplace import activity, errors
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.operation import operation
from commonplace.rooms.requests import model, store
from commonplace.rooms.requests.operations import open_request, require_own_request
from commonplace.store.database import Row
from commonplace.waiting import WaitForEvents

_STILL_OPEN = (
    "Nobody has answered yet. Go on with what does not depend on it: the answer comes as a notice with a later reply."
    " To wait longer, ask the same question again."
)


@operation("requests:ask", writes=True)
async def open_question(
    call: Call, question: model.QuestionText, options: model.OptionTexts | None = None
) -> model.ReportedRequest:
    """Store a question for a person, unless this session asked it already and has not read the answer."""
    session = call.own_session
    asked = model.RequestQuestion(
        question=question, options=[model.RequestOption(label=label) for label in options or []]
    )
    tool, _, machine = call.caller.seat.partition("@")
    draft = model.RequestDraft(
        kind="question",
        source="agent",
        agent=session.agent,
        tool=tool,
        machine=machine,
        directory=session.working_directory,
        questions=[asked],
    )
    known = await store.find_same_question(call.tx, session, draft.shown)
    if known is not None:
        return model.ReportedRequest(status=known["state"], request_id=known["id"])
    if await store.count_open_of_session(call.tx, session, "agent") >= model.MAX_OPEN_PER_SESSION:
        raise errors.TooMany(
            f"{model.MAX_OPEN_PER_SESSION} of your questions are still open.",
            hint="Wait for answers: they come as notices with later replies.",
        )
    return model.ReportedRequest(status="open", request_id=await open_request(call, draft, is_awaited=False))


async def _open_question(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> str:
    given = {name: value for name, value in arguments.items() if name != "wait_seconds" and value is not None}
    reply: model.ReportedRequest = (await calls.run_operation(open_question, given, caller)).reply
    return reply.request_id


@operation(
    "memory_ask_person",
    writes=True,
    prepare=_open_question,
    example={"question": "Delete the old table?", "options": ["yes", "no"], "wait_seconds": 0},
)
async def ask_person(
    call: Call,
    question: model.QuestionText,
    options: model.OptionTexts | None = None,
    wait_seconds: model.AnswerWaitSeconds = 50,
) -> model.AskedPerson:
    """Ask a human (person, user, operator): decision, approval; wait; later answers come as notices."""
    del question, options
    row = await require_own_request(call, call.prepared)
    call.subject = row["id"]
    if row["state"] == "answered":
        await store.mark_delivered(call.tx, call.project, row["id"], call.now)
        await activity.delete_notices(call.tx, call.own_session, [model.format_notice(row)])
    reply = _build_reply(row)
    if row["state"] == "open" and wait_seconds:
        raise WaitForEvents(call, reply, wait_seconds, ends_with_notice=True)
    return reply


def _build_reply(row: Row) -> model.AskedPerson:
    if row["state"] != "answered":
        return model.AskedPerson(status="open", request_id=row["id"], message=_STILL_OPEN)
    return model.AskedPerson(
        status="answered",
        request_id=row["id"],
        answer=model.format_answer(row),
        answered_by=row["answered_by"],
    )
