"""Send and read messages, and update their status. Who receives one is decided in `recipients.py`."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.arguments import AgentName, ProjectSpelling
from commonplace.call import Call
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.notices import drop_notices, leave_notices
from commonplace.operation import alias, operation
from commonplace.project import is_project_admin
from commonplace.rooms.messages import model, recipients, sending, store
from commonplace.rooms.messages.contributes import (
    MESSAGE_CLAIMED,
    MESSAGE_SENT,
    MESSAGE_UPDATED,
    build_new_entry,
    show_messages,
)
from commonplace.rooms.messages.model import (
    InboxPage,
    MessageClaim,
    MessageDraft,
    MessageStatusChange,
    SentMessage,
)
from commonplace.rooms.work.waits import end_waits_for_message
from commonplace.search.engine import prepare_words
from commonplace.store import ids
from commonplace.store.database import Row
from commonplace.store.ids import Id
from commonplace.waiting import WaitForEvents, WaitSeconds, describe_wait


@operation(
    "memory_send_message",
    writes=True,
    prepare=prepare_words("message"),
    example={"to_instance": "backend", "message": "The cart API is ready."},
    keywords="message, tell, let know, notify, inform, ping teammate, request review",
)
async def send_message(
    call: Call,
    to_instance: Annotated[model.RecipientName, alias("to_agent")],
    message: Annotated[model.MessageBody, alias("body", "content")],
    subject: model.MessageSubject | None = None,
    priority: model.MessagePriority = "normal",
    category: model.MessageCategory = "info",
    to_project: Annotated[ProjectSpelling | None, alias("project")] = None,
    reply_to: Annotated[Id | None, Field(description="Message id.")] = None,
    in_response_to: Annotated[
        Id | None, Field(description="The message that this one answers; the same as reply_to.")
    ] = None,
    require_human: bool = False,
    idempotency_key: model.IdempotencyKey | None = None,
) -> SentMessage:
    """Send mail to an agent or to all. Use it to ask, warn, reply or hand something over."""
    project = call.resolve_project(to_project)
    draft = MessageDraft(
        project=project,
        sender=call.agent,
        sender_project=call.project,
        to=to_instance,
        body=message,
        subject=subject or "",
        priority=priority,
        category=category,
        require_human=require_human,
    )
    return await _send_draft(call, await _join_thread(call, draft, in_response_to or reply_to))


async def _join_thread(call: Call, draft: MessageDraft, parent_id: str | None) -> MessageDraft:
    """Attach the draft to the thread of the message that it replies to."""
    if parent_id is None:
        return draft
    projects = list({call.project: None, draft.project: None})
    matches = await ids.find_ids_by_prefix(call.tx, "message", projects, parent_id)
    parent = await store.load_parent_message(call.tx, *matches[0]) if matches else None
    if parent is None:
        raise errors.NotFound(
            f"No message '{parent_id}' to reply to.", hint="Correct reply_to, or omit it to start a thread."
        )
    return draft.with_parent(parent)


async def _send_draft(call: Call, draft: MessageDraft) -> SentMessage:
    since = call.now - model.DUPLICATE_WINDOW
    facts = await sending.load_address_facts(call.tx, draft, [draft.to], since, call.now)
    to = recipients.Recipients(draft.to, [draft.to])
    if not facts.is_known:
        to = await recipients.resolve_recipients(call, draft.project, draft.to)
        draft = draft.with_recipient(to.address)
        facts = await sending.load_address_facts(call.tx, draft, to.names, since, call.now)
    if facts.duplicate:
        return _answer_duplicate(call, facts.duplicate)
    await sending.expect_no_duplicate(call.tx, draft, since)
    row = await sending.insert_message(call.tx, draft, to.names, call.now)
    if row["body"]:
        call.index_new(build_new_entry(row, to.names))
    if draft.is_pushed:
        await _push_message(call, draft, row, to.names, facts.sessions)
    call.subject = f"{row['id']} to {to.address}"
    offline = to.list_offline({session["agent"] for session in facts.sessions})
    return SentMessage.from_row(
        row,
        call.project,
        live_sessions=store.count_recently_active(facts.sessions, call.now),
        offline=offline,
        not_addressed=to.not_addressed,
        is_stranger=to.is_stranger,
        lives_in=to.lives_in,
    )


def _answer_duplicate(call: Call, first: Row) -> SentMessage:
    call.subject = f"{first['id']} again"
    return SentMessage.from_row(first, call.project, duplicate=True)


async def _push_message(
    call: Call, draft: MessageDraft, row: Row, agents: Sequence[str], sessions: Sequence[Row]
) -> None:
    for agent in agents:
        call.emit(
            MESSAGE_SENT,
            {"agent": agent},
            project=draft.project,
            audience=f"inbox:{agent}",
            id=row["id"],
            priority=draft.priority,
        )
    notices = {each["id"]: draft.make_notice(each["agent"], row["id"]) for each in sessions}
    await leave_notices(call.tx, row["project"], notices, call.now)
    if any(session["is_blocked"] for session in sessions):
        await end_waits_for_message(call, draft.project, agents, draft.reply_to)


@operation(
    "memory_get_messages",
    writes=True,
    example={},
    keywords="inbox, check new unread messages, did anyone answer, listen until reply, thread, conversation",
)
async def get_messages(
    call: Call,
    include_delivered: bool = False,
    limit: model.InboxLimit = 20,
    cursor: model.InboxCursor | None = None,
    message_id: Id | None = None,
    thread_id: Id | None = None,
    for_instance: Annotated[AgentName | None, Field(description="Admins: another agent's inbox.")] = None,
    category: model.MessageCategory | None = None,
    headers_only: Annotated[bool, Field(description="No bodies; nothing is marked read.")] = False,
    wait_seconds: WaitSeconds = 0,
) -> InboxPage:
    """Read your mail, urgent first, or wait for it. Use it when a notice says that there is some."""
    agent = await _require_mailbox(call, for_instance)
    if thread_id:
        thread = await _resolve_thread(call, agent, thread_id)
        return await _read_thread(call, agent, thread, limit, cursor, category, headers_only, wait_seconds)
    message = await ids.resolve_id(call.tx, "message", call.project, message_id) if message_id else None
    rows = await store.list_inbox_messages(
        call.tx,
        call.project,
        agent,
        limit=limit + 1,
        unread_only=not include_delivered and message is None,
        after=model.parse_inbox_cursor(cursor) if cursor else None,
        message=message,
        category=category,
    )
    if message and not rows:
        raise errors.NotFound(
            f"{message} was not sent to {agent}.",
            hint="Call memory_get_by_id to read a message that you sent.",
        )
    page = rows[:limit] if headers_only else model.truncate_page(rows[:limit])
    shown_rows = await _show_page(call, agent, page, headers_only=headers_only)
    if wait_seconds and not shown_rows:
        unread = await store.count_unread_messages(call.tx, call.project, agent)
        reply = InboxPage(
            count=0, unread=unread, messages=[], message=_describe_mail_wait(call, wait_seconds)
        )
        raise WaitForEvents(call, reply, wait_seconds, ends_with_notice=True)
    return InboxPage(
        count=len(shown_rows),
        unread=await store.count_unread_messages(call.tx, call.project, agent),
        messages=await show_messages(call, shown_rows, with_body=not headers_only),
        next_cursor=model.format_inbox_cursor(page[-1]) if len(page) < len(rows) else "",
    )


async def _read_thread(
    call: Call,
    agent: str,
    thread: str,
    limit: int,
    cursor: str | None,
    category: str | None,
    headers_only: bool,
    wait_seconds: int,
) -> InboxPage:
    """Both sides of a thread, read or not, oldest first; waits for something that the agent has not read."""
    after = model.parse_thread_cursor(cursor) if cursor else None
    rows = await store.list_thread_messages(
        call.tx, call.project, agent, thread, limit=limit + 1, after=after, category=category
    )
    page = rows[:limit] if headers_only else model.truncate_page(rows[:limit])
    has_news = any(model.is_unread_message(row) for row in page)
    shown_rows = await _show_page(call, agent, page, headers_only=headers_only)
    reply = InboxPage(
        count=len(shown_rows),
        unread=await store.count_unread_messages(call.tx, call.project, agent),
        messages=await show_messages(call, shown_rows, with_body=not headers_only),
        next_cursor=model.format_thread_cursor(page[-1]) if len(page) < len(rows) else "",
    )
    if wait_seconds and not has_news:
        reply.message = _describe_mail_wait(call, wait_seconds)
        raise WaitForEvents(call, reply, wait_seconds, ends_with_notice=True)
    return reply


def _describe_mail_wait(call: Call, seconds: int) -> str:
    ended = describe_wait(call, seconds)
    has_news = call.session is not None and call.session.has_notice
    return f"No new mail. {ended} Call again to go on waiting." if has_news else ended


async def _show_page(call: Call, agent: str, page: Sequence[Row], *, headers_only: bool) -> Sequence[Row]:
    """Mark what the agent itself reads as delivered, and forget the notices of it."""
    if agent != call.agent:
        return page
    shown_rows = page if headers_only else await _mark_page_delivered(call, page)
    if call.session and call.session.has_notice:
        await drop_notices(call.tx, call.project, "mail", sessions=[call.session.id])
    await _delete_mail_notices(call, [str(row["id"]) for row in shown_rows])
    return shown_rows


async def _require_mailbox(call: Call, for_instance: str | None) -> str:
    if for_instance is None or for_instance == call.agent:
        return call.agent
    if not await is_project_admin(call.tx, call.project, call.caller, call.agent):
        raise errors.Forbidden(
            "Only a project admin may read another agent's mail.",
            hint="Omit for_instance to read your own mail. An admin has the tier `admin` in memory_project.",
        )
    return for_instance


async def _resolve_thread(call: Call, agent: str, prefix: str) -> str:
    """Complete a thread id. Threads cross projects, so the ids come from deliveries, not from messages."""
    return (
        ids.pick_id_by_prefix(prefix, await store.list_thread_ids(call.tx, call.project, agent, prefix))
        or prefix
    )


async def _mark_page_delivered(call: Call, page: Sequence[Row]) -> Sequence[Row]:
    """Mark the page delivered; leave out what another session of the same agent has just been given."""
    unread_ids = [row["id"] for row in page if model.is_unread_message(row)]
    marked_ids = (
        await store.mark_messages_delivered(call.tx, call.project, call.agent, unread_ids, call.now)
        if unread_ids
        else set()
    )
    return [
        model.with_delivered_state(row)
        for row in page
        if row["id"] in marked_ids or not model.is_unread_message(row)
    ]


async def _delete_mail_notices(call: Call, messages: Sequence[str]) -> None:
    """Delete the notices of mail that the caller evidently knows, for every session of its agent."""
    if messages:
        sessions = await store.list_live_session_ids(
            call.tx, call.project, [call.agent], call.now - SESSION_LIVE_MICROSECONDS
        )
        await drop_notices(call.tx, call.project, "mail", sessions=sessions, subjects=messages)


@operation(
    "memory_acknowledge_message",
    writes=True,
    idempotent=True,
    keywords="ack, confirm receipt, received request, mark mail as read",
)
async def acknowledge_message(call: Call, message_id: Id) -> MessageStatusChange:
    """Tell the sender that you have seen a message."""
    return await _change_status(call, message_id, "received", "")


@operation(
    "memory_update_message_status",
    writes=True,
    idempotent=True,
    keywords="handled message, done, close request",
)
async def update_message_status(
    call: Call, message_id: Id, status: model.MessageStatus, note: model.MessageNote | None = None
) -> MessageStatusChange:
    """Mark a request that was sent to you as completed or failed."""
    return await _change_status(call, message_id, status, note or "")


async def _change_status(
    call: Call, message_id: str, status: model.MessageStatus, note: str
) -> MessageStatusChange:
    message = await ids.resolve_id(call.tx, "message", call.project, message_id)
    deliveries = await store.list_deliveries(call.tx, call.project, message)
    own_deliveries = [delivery for delivery in deliveries if delivery["agent"] == call.agent]
    if not own_deliveries and not await is_project_admin(call.tx, call.project, call.caller, call.agent):
        raise errors.Forbidden(
            f"{message} was not sent to {call.agent}.",
            hint="Only a recipient or a project admin may do this.",
        )
    changed_deliveries = own_deliveries or list(deliveries)
    state = model.MESSAGE_STATUSES.index(status)
    agents = [delivery["agent"] for delivery in changed_deliveries]
    moved_agents = await store.advance_deliveries(
        call.tx, call.project, message, agents, state, note, call.agent, call.now
    )
    if not moved_agents:
        await _require_forward_status(call, message, agents, state)
    await _delete_mail_notices(call, [message])
    for agent in sorted(moved_agents):
        call.emit(MESSAGE_UPDATED, {"agent": agent}, audience=f"inbox:{agent}", id=message, status=status)
    call.subject = f"{message} {status}"
    return MessageStatusChange(status=status, message_id=message)


async def _require_forward_status(call: Call, message: str, agents: Sequence[str], state: int) -> None:
    """No delivery moved: refuse unless the status is already set."""
    deliveries = await store.list_deliveries(call.tx, call.project, message)
    furthest_state = max(
        (delivery["state"] for delivery in deliveries if delivery["agent"] in agents), default=state
    )
    if furthest_state > state:
        current = model.MESSAGE_STATUSES[furthest_state]
        raise errors.Conflict(
            f"{message} is already {current}.",
            hint=f"Statuses only move forward: {', '.join(model.MESSAGE_STATUSES)}.",
            current=current,
        )


@operation("memory_claim_message", writes=True, idempotent=True, keywords="claim broadcast, handle")
async def claim_message(call: Call, message_id: Id) -> MessageClaim:
    """Take a request that was sent to several agents; the first one gets it."""
    message = await ids.resolve_id(call.tx, "message", call.project, message_id)
    deliveries = await store.list_deliveries(call.tx, call.project, message)
    agents = [delivery["agent"] for delivery in deliveries]
    if call.agent not in agents:
        raise errors.Forbidden(
            f"{message} was not sent to {call.agent}.", hint="Only its recipients may claim it."
        )
    await _delete_mail_notices(call, [message])
    owner = await store.claim_message_owner(call.tx, call.project, message, call.agent)
    if owner == call.agent:
        received = model.MESSAGE_STATUSES.index("received")
        if await store.advance_deliveries(
            call.tx, call.project, message, [owner], received, "", owner, call.now
        ):
            for agent in agents:
                call.emit(
                    MESSAGE_CLAIMED, {"agent": agent}, audience=f"inbox:{agent}", id=message, owner=owner
                )
    call.subject = f"{message} by {owner}"
    return MessageClaim(claimed=owner == call.agent, owner=owner)
