"""Report what waits for a person, ask, wait for the answer, and answer.

Hooks report and wait (`client/companion/waiting_requests.py`), agents ask with memory_ask_person, only people answer. The
question of an agent is stored by an operation of its own before the wait starts, because a call that waits keeps nothing.
The same question of the same agent is the same request until it has read the answer, so an agent may call again to go on
waiting, in its next session, too. As with a wait for a lock, only urgent mail ends the wait early."""

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field

from commonplace import errors
from commonplace.access import Caller
from commonplace.arguments import ProjectOrAll
from commonplace.call import Call, Calls
from commonplace.clock import iso
from commonplace.identity import liveness
from commonplace.notices import Notice, drop_notices, notify_sessions
from commonplace.operation import operation
from commonplace.project import list_visible_project_names
from commonplace.rooms.admin.browser_sessions import list_people
from commonplace.rooms.locks.waiting import find_interruption
from commonplace.rooms.requests import model, store
from commonplace.rooms.requests.contributes import (
    REQUEST_ANSWERED,
    REQUEST_CLOSED,
    REQUEST_KIND,
    REQUEST_OPENED,
)
from commonplace.rooms.webhooks import store as webhook_store
from commonplace.rooms.webhooks.store import has_webhook_for_requests
from commonplace.store.database import Row
from commonplace.waiting import WaitForEvents

_STATES = {"all": ("open", "answered", "closed")}
_PEOPLE_HINT = (
    "Answer on the page (`commonplace open`), with `commonplace answer` on the server's machine (`--data DIR` names its data"
    " folder), or with a key of a person (`key create --person`)."
)


@operation(
    "memory_report_request",
    writes=True,
    example={"kind": "permission", "title": "Bash", "text": "git push --force", "tool": "claude"},
    verbatim=("directory", "subagent"),
)
async def report_request(
    call: Call,
    kind: Annotated[
        model.RequestKind,
        Field(description="What the program waits for; `idle`: its agent has ended its turn."),
    ],
    title: model.RequestTitle = "",
    text: model.RequestText = "",
    questions: model.GivenQuestions | None = None,
    tool: model.ToolName = "",
    machine: model.MachineName = "",
    directory: model.FolderPath = "",
    subagent: model.SubagentName = "",
    is_awaited: Annotated[
        bool, Field(description="Whether a hook waits for the answer, so that one can be given elsewhere.")
    ] = False,
    is_hint: Annotated[
        bool, Field(description="Report it only if nothing of this session is open already.")
    ] = False,
) -> model.ReportedRequest:
    """Report that the agent's program waits for a person, so that people see it."""
    session = call.own_session
    if is_hint and await store.count_open_of_session(call.tx, session, "hook"):
        return model.ReportedRequest(status="known")
    if kind == "idle":
        await _close(call, None, None)
    elif await store.count_open_of_session(call.tx, session, "hook") >= model.MAX_OPEN_PER_SESSION:
        await _close(call, subagent, None)
    draft = model.RequestDraft(
        kind=kind,
        source="hook",
        agent=session.agent,
        tool=tool,
        machine=machine,
        directory=directory,
        title=title,
        body=text,
        questions=_build_questions(questions),
        subagent=subagent,
    )
    return model.ReportedRequest(
        status="open", request_id=await open_request(call, draft, is_awaited=is_awaited)
    )


def _build_questions(given: model.GivenQuestions | None) -> list[model.RequestQuestion]:
    return [
        model.RequestQuestion(
            question=item.question,
            options=[model.RequestOption(label=o.label, description=o.description) for o in item.options],
            multiple=item.multiple,
        )
        for item in given or []
    ]


async def open_request(call: Call, draft: model.RequestDraft, *, is_awaited: bool) -> str:
    request_id = f"req_{secrets.token_hex(6)}"
    await store.insert_request(call.tx, request_id, call.own_session, draft, call.now, is_awaited=is_awaited)
    if draft.kind != "idle":
        await webhook_store.queue_request(call.tx, call.project, request_id, call.now)
    if draft.source == "agent":
        call.reindex(REQUEST_KIND, request_id)
    call.subject = f"{request_id} {draft.kind} {draft.title}"
    call.emit(REQUEST_OPENED, id=request_id, request_kind=draft.kind, agent=draft.agent, title=draft.title)
    return request_id


@operation("memory_wait_for_answer")
async def wait_for_answer(
    call: Call,
    request_id: model.RequestId,
    wait_seconds: Annotated[
        model.AnswerWaitSeconds, Field(description="How long to wait for the answer.")
    ] = 0,
) -> model.RequestAnswer:
    """Wait for a person's answer to a request of this session; `closed` means that nobody need answer any more."""
    row = await require_own_request(call, request_id)
    project, now = call.project, call.now
    if row["state"] == "answered":
        call.deferred_writes.append(lambda tx: store.mark_delivered(tx, project, request_id, now))
    elif row["state"] == "open":
        mark_polled = partial(store.mark_polled, project=project, id=request_id, now=now)
        if wait_seconds:
            raise WaitForEvents(call, model.build_answer(row), wait_seconds, mark_polled)
        call.deferred_writes.append(mark_polled)
    return model.build_answer(row)


async def require_own_request(call: Call, request_id: str) -> Row:
    row = await store.load_request(call.tx, call.project, request_id)
    if row is None or row["session"] != call.own_session.id:
        raise _not_found(request_id)
    return row


async def require_own_question(call: Call, request_id: str) -> Row:
    """A question of the agent of the call, in whichever session it asked."""
    row = await store.load_request(call.tx, call.project, request_id)
    if row is None or (row["source"], row["agent"]) != ("agent", call.agent):
        raise _not_found(request_id)
    return row


def _not_found(request_id: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no request '{request_id}' here.", hint="List them with memory_list_requests."
    )


@operation("memory_close_requests", writes=True, idempotent=True, verbatim=("subagent",))
async def close_requests(
    call: Call,
    subagent: model.SubagentName | None = None,
    request_id: model.RequestId | None = None,
) -> model.ClosedRequests:
    """Close what this session's program waited for, because it went on: all of it, a sub-agent's, or one request."""
    return model.ClosedRequests(closed=await _close(call, subagent, [request_id] if request_id else None))


async def _close(call: Call, subagent: str | None, ids: list[str] | None) -> int:
    closed = await store.close_requests(call.tx, call.own_session, subagent, ids, call.now)
    if closed:
        call.subject = ", ".join(closed)
        call.emit(REQUEST_CLOSED, ids=closed, agent=call.agent)
    return len(closed)


@operation("memory_list_requests", role="readonly", session="optional", example={"project": "shop"})
async def list_requests(
    call: Call,
    project: Annotated[
        ProjectOrAll | None, Field(description="A project; left out or `*`, every project that you may see.")
    ] = None,
    status: Annotated[model.RequestStates, Field(description="Only requests in this state.")] = "open",
    limit: model.RequestLimit = 50,
) -> model.RequestListing:
    """What waits for a person, or was answered, in a project or in all that the caller may see; newest first."""
    projects = (
        [call.project] if isinstance(project, str) else await list_visible_project_names(call.tx, call.caller)
    )
    if status == "open":
        rows = (await store.list_waiting_requests(call.tx, projects, call.now))[:limit]
    else:
        rows = await store.list_requests(call.tx, projects, _STATES.get(status, (status,)), limit)
    return model.RequestListing(
        count=len(rows), requests=[model.build_request(row, call.now) for row in rows]
    )


@operation("memory_answer_request", writes=True, session=False)
async def answer_request(
    call: Call,
    project: str,
    request_id: model.RequestId,
    shown: model.ShownHash,
    decision: Annotated[
        model.RequestDecision,
        Field(description="allow or deny a permission or plan; answer or deny a question."),
    ],
    answers: model.AnswerTexts | None = None,
    note: model.AnswerNote = "",
) -> model.AnsweredRequest:
    """Answer a request as a person: allow or deny a permission or plan, answer or decline a question. Once."""
    del project
    row = await store.load_request(call.tx, call.project, request_id)
    if row is None:
        raise _not_found(request_id)
    _require_person(call, row)
    _require_answerable(call, row, shown)
    _require_fitting(row, decision, answers or [])
    await _record_answer(call, row, shown, decision, answers or [], note)
    call.subject = f"{row['id']} {decision}: {row['agent']} {row['kind']} {row['title'] or row['body']}"
    call.emit(REQUEST_ANSWERED, id=row["id"], decision=decision, agent=row["agent"])
    return model.AnsweredRequest(status="answered", request_id=row["id"], agent=row["agent"])


async def _record_answer(
    call: Call, row: Row, shown: str, decision: str, answers: list[str], note: str
) -> None:
    is_first = await store.mark_answered(
        call.tx,
        call.project,
        row["id"],
        shown,
        decision=decision,
        answers=answers,
        note=note,
        person=call.agent,
        now=call.now,
    )
    if not is_first:
        raise errors.Conflict(f"{row['id']} was answered meanwhile.", hint="Reload the list of requests.")
    if row["source"] == "agent":
        answered = await store.load_request(call.tx, call.project, row["id"])
        assert answered is not None  # noqa: S101 - it was updated just now
        await _tell_agent(call, answered)
        call.reindex(REQUEST_KIND, row["id"])


async def _tell_agent(call: Call, row: Row) -> None:
    """Tell the live sessions of the agent; if it has none, the answer waits for its next session."""
    sessions = await liveness.list_live_sessions(call.tx, call.project, call.now, agents=[row["agent"]])
    told = [session["id"] for session in sessions] or [row["session"]]
    notice = Notice("answer", {"text": model.format_notice(row)}, row["id"])
    await notify_sessions(call.tx, call.project, told, notice, call.now)


def _require_person(call: Call, request: Row) -> None:
    if not call.is_by_person or not call.caller.has_role("agent"):
        raise errors.Forbidden("Only people answer requests of agents.", hint=_PEOPLE_HINT)
    if call.caller.agent == request["agent"] and not call.caller.operator:
        raise errors.Forbidden(f"{request['agent']} cannot answer its own request.", hint=_PEOPLE_HINT)


def _require_answerable(call: Call, row: Row, shown: str) -> None:
    if row["state"] == "answered":
        raise errors.Conflict(
            f"{row['id']} was already answered by {row['answered_by']}.", hint="A request is answered once."
        )
    if row["state"] == "closed" or (row["ended_at"] is not None and row["source"] != "agent"):
        raise errors.Conflict(
            f"{row['agent']} no longer waits for this.", hint="Reload the list of requests."
        )
    if row["shown"] != shown:
        raise errors.Conflict(
            f"{row['id']} is not what was shown to you.",
            hint="Reload the list of requests and read it again.",
        )
    if not model.takes_answer(row, call.now):
        where = " ".join(part for part in (row["tool"], row["machine"], row["directory"]) if part)
        raise errors.Conflict(
            f"{row['agent']} cannot take an answer from here.", hint=f"Answer in its own window: {where}."
        )


def _require_fitting(row: Row, decision: str, answers: list[str]) -> None:
    if row["kind"] == "question":
        count = len(model.decode_questions(row["questions"]))
        if decision == "allow" or (decision == "answer" and len(answers) != count):
            raise errors.Invalid(
                f"{row['id']} asks {count} question{'s' * (count != 1)}.",
                hint="Set `decision` to answer with one text for each question in `answers`, or to deny.",
            )
    elif decision == "answer" or answers:
        raise errors.Invalid(
            f"{row['id']} asks for a permission.",
            hint="Set `decision` to allow or deny; `note` takes a text.",
        )


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
