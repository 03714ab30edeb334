"""memory_ask_person: an agent asks and waits; who does not wait long enough gets the answer as a notice.

The question is stored by an operation of its own before the wait starts, because a call that waits keeps nothing. The same
question of the same agent is the same request until it has read the answer, so an agent may call again to go on waiting,
in its next session, too. As with a wait for a lock, only urgent mail ends the wait early; other news rides on the reply.
"""

from collections.abc import Mapping
from typing import Any

from commonplace import errors
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.clock import iso
from commonplace.notices import drop_notices
from commonplace.operation import operation
from commonplace.rooms.admin.browser_store import list_people
from commonplace.rooms.locks.waiters import find_interruption
from commonplace.rooms.requests import model, store
from commonplace.rooms.requests.operations import open_request, require_own_question
from commonplace.rooms.webhooks.store import has_webhook_for_requests
from commonplace.store.database import Row
from commonplace.waiting import WaitForEvents

_STILL_OPEN = (
    "The question stays open. Go on with what does not depend on it: the answer comes as a notice with any later reply,"
    " and memory_get_messages(wait_seconds=50) ends when it comes."
)


@operation("requests:ask", writes=True, leaves_notices=True)
async def open_question(
    call: Call, question: model.QuestionText, options: model.OptionTexts | None = None
) -> model.OpenQuestion:
    """Store a question for a person, unless this agent asked it already and has not read the answer."""
    session, reach = call.own_session, await _describe_reach(call)
    pending = await store.list_pending_questions(call.tx, session.project, session.agent)
    known = model.find_same_question(pending, question, options)
    if known is not None:
        return model.OpenQuestion(status="asked_before", request_id=known["id"], reach=reach)
    if await store.count_open_of_session(call.tx, session, "agent") >= model.MAX_OPEN_PER_SESSION:
        raise errors.TooMany(
            f"{model.MAX_OPEN_PER_SESSION} of your questions are still open.",
            hint="Wait for answers: they come as notices with later replies.",
        )
    tool, _, machine = call.caller.seat.partition("@")
    draft = model.RequestDraft(
        kind="question",
        source="agent",
        agent=session.agent,
        tool=tool,
        machine=machine,
        directory=session.working_directory,
        questions=[model.build_question(question, options)],
    )
    request_id = await open_request(call, draft, is_awaited=False)
    return model.OpenQuestion(status="open", request_id=request_id, reach=reach)


async def _describe_reach(call: Call) -> str:
    people = sorted(await list_people(call.tx, call.project, call.now))
    return model.describe_reach(people, has_webhook=await has_webhook_for_requests(call.tx, call.project))


async def _open_question(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> model.OpenQuestion:
    given = {name: value for name, value in arguments.items() if name != "wait_seconds" and value is not None}
    reply: model.OpenQuestion = (await calls.run_operation(open_question, given, caller)).reply
    return reply


@operation(
    "memory_ask_person",
    writes=True,
    prepare=_open_question,
    example={"question": "Delete the old table?", "options": ["yes", "no"], "wait_seconds": 0},
    keywords="human, user, operator, decision, approval",
)
async def ask_person(
    call: Call,
    question: model.QuestionText,
    options: model.OptionTexts | None = None,
    wait_seconds: model.AnswerWaitSeconds = 50,
) -> model.AskedPerson:
    """Ask a person and wait for the answer; a later one comes as a notice."""
    del question, options
    asked: model.OpenQuestion = call.prepared
    row = await require_own_question(call, asked.request_id)
    call.subject = row["id"]
    if row["state"] == "answered":
        await store.mark_delivered(call.tx, call.project, row["id"], call.now)
        own = call.own_session
        await drop_notices(call.tx, own.project, "answer", sessions=[own.id], subjects=[row["id"]])
    is_again, still_open = asked.status == "asked_before", f"{_STILL_OPEN} {asked.reach}"
    if row["state"] == "open" and wait_seconds:
        interruption = await _find_interruption(call)
        ended = (
            f"The wait ended early, without the answer: {interruption} (see _notice)."
            if interruption
            else f"No answer in {wait_seconds} s."
        )
        reply = _build_reply(row, f"{ended} {still_open}", is_again=is_again)
        raise WaitForEvents(call, reply, wait_seconds, ends_with_notice=bool(interruption))
    return _build_reply(row, still_open, is_again=is_again)


async def _find_interruption(call: Call) -> str:
    session = call.own_session
    return await find_interruption(call.tx, session, ()) if session.has_notice else ""


def _build_reply(row: Row, still_open: str, *, is_again: bool) -> model.AskedPerson:
    if row["state"] != "answered":
        since = f"You asked this at {iso(row['created_at'])}; it is the same request. " if is_again else ""
        return model.AskedPerson(status="open", request_id=row["id"], message=f"{since}{still_open}")
    return model.AskedPerson(
        status="answered",
        request_id=row["id"],
        answer=model.format_answer(row),
        answered_by=row["answered_by"],
    )
