"""Send mail, read it, and say what became of it."""

from collections.abc import Sequence
from typing import Annotated

from commonplace import errors, events
from commonplace.call import Call, Later
from commonplace.operation import also, operation
from commonplace.rooms.agents.model import AgentName
from commonplace.rooms.agents.store import is_project_admin
from commonplace.rooms.messages import model, recipients, store
from commonplace.rooms.messages.model import Changed, Claim, Draft, Inbox, Mail, Sent
from commonplace.store import ids
from commonplace.store.database import Row
from commonplace.store.ids import Id


@operation(
    "memory_send_message",
    writes=True,
    example={"to_instance": "backend", "message": "The cart API is ready."},
)
async def send_message(
    call: Call,
    to_instance: Annotated[model.Recipient, also("to_agent")],
    message: Annotated[model.Body, also("body")],
    subject: model.Subject | None = None,
    priority: model.Priority = "normal",
    category: model.Category = "info",
    to_project: str | None = None,
    reply_to: Id | None = None,
    in_response_to: Id | None = None,
    require_human: bool = False,
    idempotency_key: model.Key | None = None,
) -> Sent:
    """Mail an agent, `*` (all others) or `@admins`. Answers set reply_to."""
    project = call.scope(to_project)
    draft = Draft(
        project=project,
        sender=call.agent,
        sender_project=call.project,
        to=to_instance,
        body=message,
        subject=subject or "",
        priority=priority,
        category=category,
        require_human=require_human,
        idempotency_key=idempotency_key,
    )
    # Taken first: until commit nobody else sends in this project, so that the same message is found if it is there.
    n = await events.count(call.tx, project, "message")
    if idempotency_key and (first := await store.by_key(call.tx, draft)):
        return await _again(call, first)
    return await _send(call, await _in_thread(call, draft, in_response_to or reply_to), n)


async def _in_thread(call: Call, draft: Draft, answered: str | None) -> Draft:
    """The draft as part of the conversation that it goes on with."""
    if answered is None:
        return draft
    projects = list({call.project: None, draft.project: None})
    found = await ids.beginning(call.tx, "message", projects, answered)
    parent = await store.one(call.tx, *found[0]) if found else None
    if parent is None:
        raise errors.NotFound(
            f"There is no message '{answered}' to reply to.", hint="Leave reply_to out, or correct it."
        )
    return draft.in_reply_to(parent)


async def _send(call: Call, draft: Draft, n: int) -> Sent:
    to, agents = await recipients.resolve(call, draft.project, draft.to)
    draft = draft.addressed(to)
    if first := await store.same_since(call.tx, draft, call.now - model.SAME_WITHIN):
        return await _again(call, first)
    row = await store.add(call.tx, draft, agents, n, call.now)
    live = await store.live_sessions(call.tx, draft.project, agents, call.now - model.LIVE_WITHIN)
    if draft.pushed:
        await _push(call, draft, row, agents)
    call.subject = f"{row['id']} to {to}"
    return Sent.of(row, live=len(live))


async def _again(call: Call, first: Row) -> Sent:
    copies = await store.deliveries(call.tx, first["project"], first["id"])
    agents = [copy["agent"] for copy in copies]
    live = await store.live_sessions(call.tx, first["project"], agents, call.now - model.LIVE_WITHIN)
    call.subject = f"{first['id']} again"
    return Sent.of(first, live=len(live), duplicate=True)


async def _push(call: Call, draft: Draft, row: Row, agents: Sequence[str]) -> None:
    for agent in agents:
        call.emit(
            "MessageSent",
            inbox_uri(draft.project, agent),
            project=draft.project,
            audience=f"inbox:{agent}",
            id=row["id"],
            priority=draft.priority,
        )
    if draft.priority == "urgent":
        text = f"Urgent message {row['id']} from {draft.sender}: {model.title(row)}"
        await store.tell_agents(call.tx, draft.project, agents, text, call.now)


def inbox_uri(project: str, agent: str) -> str:
    return f"inbox://{project}/{agent}"


@operation("memory_get_messages", writes=True, example={})
async def get_messages(
    call: Call,
    include_delivered: bool = False,
    limit: model.Limit = 20,
    cursor: model.Cursor | None = None,
    message_id: Id | None = None,
    thread_id: Id | None = None,
    for_instance: AgentName | None = None,
    category: model.Category | None = None,
    headers_only: bool = False,
    wait_seconds: model.WaitSeconds = 0,
) -> Inbox:
    """Your unread mail, urgent first; showing a text marks it delivered."""
    agent = await _reader(call, for_instance)
    message = await ids.whole(call.tx, "message", call.project, message_id) if message_id else None
    rows = await store.inbox(
        call.tx,
        call.project,
        agent,
        limit=limit + 1,
        unread_only=not include_delivered and message is None,
        after=model.read_cursor(cursor) if cursor else None,
        message=message,
        thread=await _thread(call, agent, thread_id) if thread_id else None,
        category=category,
    )
    if message and not rows:
        raise errors.NotFound(
            f"{message} was not sent to {agent}.", hint="memory_get_by_id shows any message."
        )
    page = rows[:limit] if headers_only else model.one_page(rows[:limit])
    shown = page if headers_only or agent != call.agent else await _delivered(call, page)
    if wait_seconds and not shown:
        unread = await store.unread_count(call.tx, call.project, agent)
        raise Later(call, Inbox(count=0, unread=unread), wait_seconds)
    return Inbox(
        count=len(shown),
        unread=await store.unread_count(call.tx, call.project, agent),
        messages=[Mail.of(row, call.now, with_body=not headers_only) for row in shown],
        next_cursor=model.cursor_after(page[-1]) if len(page) < len(rows) else "",
    )


async def _reader(call: Call, for_instance: str | None) -> str:
    if for_instance is None or for_instance == call.agent:
        return call.agent
    if not await is_project_admin(call.tx, call.project, call.caller, call.agent):
        raise errors.Forbidden(
            "Only an admin of the project reads another agent's mail.", hint="Leave for_instance out."
        )
    return for_instance


async def _thread(call: Call, agent: str, given: str) -> str:
    """Threads cross projects, so the first message of one need not be here; its id is on every copy."""
    return ids.only(given, await store.threads(call.tx, call.project, agent, given)) or given


async def _delivered(call: Call, page: Sequence[Row]) -> list[dict[str, object]]:
    """Those that are shown here: mail that another session of the same agent took a moment ago is not."""
    unread = [row["id"] for row in page if model.is_unread(row)]
    marked = await store.deliver(call.tx, call.project, call.agent, unread, call.now) if unread else set()
    return [model.as_delivered(row) for row in page if row["id"] in marked or not model.is_unread(row)]


@operation("memory_acknowledge_message", writes=True, idempotent=True)
async def acknowledge_message(call: Call, message_id: Id) -> Changed:
    """Say that you received a message."""
    return await _advance(call, message_id, "received", "")


@operation("memory_update_message_status", writes=True, idempotent=True)
async def update_message_status(
    call: Call, message_id: Id, status: model.Status, note: model.Note | None = None
) -> Changed:
    """Say how far you are with a message."""
    return await _advance(call, message_id, status, note or "")


async def _advance(call: Call, given: str, status: model.Status, note: str) -> Changed:
    message = await ids.whole(call.tx, "message", call.project, given)
    copies = await store.deliveries(call.tx, call.project, message)
    mine = [copy for copy in copies if copy["agent"] == call.agent]
    if not mine and not await is_project_admin(call.tx, call.project, call.caller, call.agent):
        raise errors.Forbidden(
            f"{message} was not sent to {call.agent}.", hint="Its recipient or an admin may do this."
        )
    changing = mine or list(copies)
    state = model.STATUSES.index(status)
    agents = [copy["agent"] for copy in changing]
    moved = await store.advance(call.tx, call.project, message, agents, state, note, call.agent, call.now)
    if not moved:
        await _refuse_backward(call, message, agents, state)
    for agent in sorted(moved):
        uri = inbox_uri(call.project, agent)
        call.emit("MessageUpdated", uri, audience=f"inbox:{agent}", id=message, status=status)
    call.subject = f"{message} {status}"
    return Changed(status=status, message_id=message, note=note)


async def _refuse_backward(call: Call, message: str, agents: Sequence[str], state: int) -> None:
    """Nothing moved: fine if it is there already."""
    copies = await store.deliveries(call.tx, call.project, message)
    further = max((copy["state"] for copy in copies if copy["agent"] in agents), default=state)
    if further > state:
        current = model.STATUSES[further]
        raise errors.Conflict(
            f"{message} is {current} already.", hint="States go forward only.", current=current
        )


@operation("memory_claim_message", writes=True, idempotent=True)
async def claim_message(call: Call, message_id: Id) -> Claim:
    """Take on what was sent to several; the first wins."""
    message = await ids.whole(call.tx, "message", call.project, message_id)
    copies = await store.deliveries(call.tx, call.project, message)
    agents = [copy["agent"] for copy in copies]
    if call.agent not in agents:
        raise errors.Forbidden(
            f"{message} was not sent to {call.agent}.", hint="Only its recipients may claim it."
        )
    owner = await store.claim(call.tx, call.project, message, call.agent)
    if owner == call.agent:
        received = model.STATUSES.index("received")
        if await store.advance(call.tx, call.project, message, [owner], received, "", owner, call.now):
            for agent in agents:
                uri = inbox_uri(call.project, agent)
                call.emit("MessageClaimed", uri, audience=f"inbox:{agent}", id=message, owner=owner)
    call.subject = f"{message} by {owner}"
    return Claim(claimed=owner == call.agent, owner=owner)
