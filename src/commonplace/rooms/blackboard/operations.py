"""Create, list and close blackboards, and show their audit trail. Their messages: `messages.py`; visibility: `reader.py`."""

import secrets
from typing import Any

from commonplace.arguments import TimeArgument
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import operation
from commonplace.project import ensure_project
from commonplace.rooms.archives import store as archives
from commonplace.rooms.archives.model import ArchivedSessions
from commonplace.rooms.blackboard import model, readers, store
from commonplace.rooms.blackboard.conclusions import index_conclusion
from commonplace.rooms.blackboard.events import SESSION_CLOSED, SESSION_CREATED
from commonplace.rooms.blackboard.reader import AgentId, default_session_project, identify_reader
from commonplace.rooms.blackboard.session import (
    describe_session,
    list_blackboards,
    load_visible_session,
    reader_view,
    session_not_found,
)
from commonplace.rooms.workspaces.model import WorkspaceId

_NEWEST_MESSAGES = 20
_DEFAULT_LISTED_SESSIONS = 50


@operation("create_session", writes=True, session="own", example={"purpose": "Design the cart API"})
async def create_session(
    call: Call,
    purpose: model.Purpose,
    metadata: dict[str, Any] | None = None,
    project: str | None = None,
    agent_id: AgentId | None = None,
) -> model.CreatedBlackboard:
    """Create (start) a blackboard: shared place (room) for brainstorm, group chat, discussion or conversation of
    several agents on some piece of work. Share its session_id."""
    reader = await identify_reader(call, agent_id)
    call.project = project or default_session_project(call)
    session_id = f"session_{secrets.token_hex(8)}"
    await ensure_project(call.tx, call.project, call.now)
    await store.insert_session(
        call.tx, call.project, session_id, purpose, model.encode_metadata(metadata), reader.name, call.now
    )
    call.subject = session_id
    call.emit(SESSION_CREATED, {"session_id": session_id}, session_id=session_id)
    await readers.follow_blackboard(call, call.project, session_id, 0)
    return model.CreatedBlackboard(
        session_id=session_id,
        purpose=purpose,
        project=call.project,
        created_at=iso(call.now),
        created_by=reader.name,
    )


@operation("get_session", role="readonly", session="own")
async def get_session(
    call: Call, session_id: model.BlackboardId, agent_id: AgentId | None = None
) -> model.BlackboardDetails:
    """Get one blackboard, participants and newest messages."""
    reader = await identify_reader(call, agent_id)
    row = await load_visible_session(call, session_id)
    session = await describe_session(call, row, reader)
    messages = await store.list_newest_messages(call.tx, reader_view(row, reader), _NEWEST_MESSAGES)
    after = messages[0]["sequence"] - 1 if len(messages) == _NEWEST_MESSAGES else 0
    await readers.follow_blackboard(call, row["project"], row["id"], row["last_sequence"], after=after)
    return model.BlackboardDetails(
        session=session,
        message_count=session.message_count,
        last_activity=iso(row["updated_at"]),
        participants=session.participants,
        messages=[model.BlackboardMessage.from_row(message) for message in messages],
        hidden_count=max(0, row["last_sequence"] - session.message_count) if reader.is_admin else None,
    )


@operation("list_sessions", role="any", session="own", example={})
async def list_sessions(
    call: Call,
    workspace_id: WorkspaceId | None = None,
    since: TimeArgument | None = None,
    until: TimeArgument | None = None,
    active_only: bool = True,
    project: str | None = None,
    limit: model.ResultLimit | None = None,
    offset: model.PageOffset = 0,
    agent_id: AgentId | None = None,
) -> model.BlackboardListing | ArchivedSessions:
    """List open blackboards (discussions); with workspace_id, archived session transcripts of a machine."""
    if workspace_id is not None:
        return await archives.list_archives_of_workspace(call, workspace_id, since, until, limit, offset)
    # A key that may only upload sees archives but no blackboards.
    if not call.caller.has_role("readonly"):
        return model.BlackboardListing(total=0, sessions=[])
    reader = await identify_reader(call, agent_id)
    return await list_blackboards(
        call, reader, project, active_only, limit or _DEFAULT_LISTED_SESSIONS, offset
    )


@operation("close_session", writes=True, session="own", idempotent=True)
async def close_session(
    call: Call,
    session_id: model.BlackboardId,
    status: model.ClosedStatus = "completed",
    summary: model.ClosingSummary | None = None,
    agent_id: AgentId | None = None,
) -> model.ClosedBlackboard:
    """Close a blackboard (discussion), giving its conclusion; stays readable."""
    reader = await identify_reader(call, agent_id)
    row = await load_visible_session(call, session_id)
    closed = await store.close_session_row(
        call.tx, row["project"], row["id"], status, summary, reader.name, call.now
    )
    if closed is None:
        raise session_not_found(session_id)
    if row["closed_at"] is None:
        await readers.announce_closing(call, row["project"], row["id"], summary or "")
    if summary:
        await index_conclusion(call.tx, row, summary, call.now)
    session = await describe_session(call, row, reader)
    call.subject = f"{row['id']} {status}"
    call.emit(SESSION_CLOSED, {"session_id": row["id"]}, session_id=row["id"], status=status)
    return model.ClosedBlackboard(
        session_id=row["id"],
        status=closed["status"],
        closed_at=iso(closed["closed_at"]),
        message_count=session.message_count,
    )


@operation("get_session_audit", role="admin", session="own")
async def get_session_audit(
    call: Call,
    session_id: model.BlackboardId,
    after: model.AfterSequence = -1,
    limit: model.MessageLimit = 100,
) -> model.BlackboardAuditTrail:
    """Audit a blackboard: acts without contents."""
    row = await load_visible_session(call, session_id)
    messages = await store.list_message_acts(call.tx, row["project"], row["id"], after, limit)
    acts = model.build_audit_trail(row, messages, after, is_last_page=len(messages) < limit)
    has_more = len(acts) > limit or len(messages) == limit
    page = acts[:limit]
    return model.BlackboardAuditTrail(
        session_id=row["id"], count=len(page), acts=page, next_after=page[-1].n if has_more else None
    )
