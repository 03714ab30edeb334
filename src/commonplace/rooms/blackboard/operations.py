"""Open a session, write on it, read it, search it, close it."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

from commonplace import errors
from commonplace.arguments import Moment
from commonplace.call import Call
from commonplace.clock import iso, iso_exact
from commonplace.operation import operation
from commonplace.rooms.archives import lookup
from commonplace.rooms.archives.model import Listing
from commonplace.rooms.blackboard import boards, context_search, digest, model, search, store
from commonplace.rooms.blackboard.reader import (
    EVERYTHING,
    AgentId,
    Reader,
    Visibility,
    default_project,
    identify,
    visibility_of,
    wanted,
)
from commonplace.rooms.blackboard.session import described, locate, uri, view_of
from commonplace.rooms.sessions.store import enter_project
from commonplace.rooms.workspaces.model import WorkspaceId
from commonplace.store.database import Row

_NEWEST = 20
_LISTED = 50
_SCOPES: dict[model.Scope, tuple[Visibility, ...]] = {
    "all": EVERYTHING,
    "public": ("public",),
    "private": ("private",),
}


@operation("create_session", writes=True, session=False, example={"purpose": "Design the cart API"})
async def create_session(
    call: Call,
    purpose: model.Purpose,
    metadata: dict[str, Any] | None = None,
    project: str | None = None,
    agent_id: AgentId | None = None,
) -> model.Created:
    """Open a blackboard; give its session_id to those who share the work."""
    reader = await identify(call, agent_id)
    call.project = project or default_project(call.caller)
    session_id = f"session_{secrets.token_hex(8)}"
    await enter_project(call.tx, call.project, call.now)
    await store.add_session(
        call.tx, call.project, session_id, purpose, model.packed(metadata), reader.name, call.now
    )
    call.subject = session_id
    call.emit("SessionCreated", uri(session_id), session_id=session_id)
    return model.Created(
        session_id=session_id,
        purpose=purpose,
        project=call.project,
        created_at=iso(call.now),
        created_by=reader.name,
    )


@operation("get_session", role="readonly", session=False)
async def get_session(
    call: Call, session_id: model.SessionId, agent_id: AgentId | None = None
) -> model.OneSession:
    """A blackboard and its newest messages."""
    reader = await identify(call, agent_id)
    row = await locate(call, session_id)
    shown = await described(call, row, reader)
    return model.OneSession(
        session=shown,
        message_count=shown.message_count,
        last_activity=iso(row["updated_at"]),
        participants=shown.participants,
        messages=[
            model.Message.of(each) for each in await store.newest(call.tx, view_of(row, reader), _NEWEST)
        ],
        hidden_count=max(0, row["last_sequence"] - shown.message_count) if reader.admin else None,
    )


@operation("list_sessions", role="any", session=False, example={})
async def list_sessions(
    call: Call,
    workspace_id: WorkspaceId | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    active_only: bool = True,
    project: str | None = None,
    limit: model.ShortLimit | None = None,
    offset: model.Offset = 0,
    agent_id: AgentId | None = None,
) -> model.Sessions | Listing:
    """A workspace's archived sessions; without workspace_id, blackboards."""
    if workspace_id is not None:
        return await lookup.listed(call, workspace_id, since, until, limit, offset)
    # Whoever only carries files up sees archives and no blackboards.
    if not call.caller.includes("readonly"):
        return model.Sessions(total=0)
    reader = await identify(call, agent_id)
    return await boards.listed(call, reader, project, active_only, limit or _LISTED, offset)


@operation("close_session", writes=True, session=False, idempotent=True)
async def close_session(
    call: Call,
    session_id: model.SessionId,
    status: model.Closed = "completed",
    summary: model.Summary | None = None,
    agent_id: AgentId | None = None,
) -> model.ClosedSession:
    """End a blackboard; it stays readable."""
    reader = await identify(call, agent_id)
    row = await locate(call, session_id)
    closed = await store.close(call.tx, row["project"], row["id"], status, summary, reader.name, call.now)
    if closed is None:
        raise errors.NotFound
    shown = await described(call, row, reader)
    call.subject = f"{row['id']} {status}"
    call.emit("SessionClosed", uri(row["id"]), session_id=row["id"], status=status)
    return model.ClosedSession(
        session_id=row["id"],
        status=closed["status"],
        closed_at=iso(closed["closed_at"]),
        message_count=shown.message_count,
    )


@operation("add_message", writes=True, session=False)
async def add_message(
    call: Call,
    session_id: model.SessionId,
    content: model.Content,
    sender: AgentId | None = None,
    metadata: dict[str, Any] | None = None,
    visibility: Visibility = "public",
    message_type: model.MessageType = "agent_response",
    parent_message_id: model.MessageId | None = None,
    idempotency_key: model.IdempotencyKey | None = None,
    agent_id: AgentId | None = None,
) -> model.Added:
    """Write on a blackboard. private: only you; agent_only: your type; admin_only: admins."""
    reader = await identify(call, agent_id, sender)
    row = await locate(call, session_id)
    parent = await _message(call, row, reader, parent_message_id) if parent_message_id else None
    draft = _draft(call, row, reader, content, metadata, visibility)
    return await _add(
        call,
        replace(
            draft,
            message_type=message_type,
            parent=parent["id"] if parent else "",
            idempotency_key=idempotency_key,
        ),
    )


@operation("add_private_note", writes=True, session=False)
async def add_private_note(
    call: Call,
    session_id: model.SessionId,
    content: model.Content,
    metadata: dict[str, Any] | None = None,
    agent_id: AgentId | None = None,
) -> model.Added:
    """A note on a blackboard for you alone."""
    reader = await identify(call, agent_id)
    row = await locate(call, session_id)
    return await _add(call, _draft(call, row, reader, content, metadata, "private"))


def _draft(
    call: Call,
    row: Row,
    reader: Reader,
    content: str,
    metadata: dict[str, Any] | None,
    visibility: Visibility,
) -> store.Draft:
    return store.Draft(
        project=row["project"],
        session=row["id"],
        id=f"msg_{secrets.token_hex(6)}",
        audience=reader.audience(visibility),
        sender=reader.name,
        owner=reader.owner,
        key_id=call.caller.key,
        message_type="agent_response",
        mark=model.mark(content, metadata),
        content=content,
        metadata=model.packed(metadata),
        at=call.now,
    )


async def _add(call: Call, draft: store.Draft) -> model.Added:
    if draft.idempotency_key:
        await store.hold(call.tx, draft.project, draft.session)
        if first := await store.sent_before(call.tx, draft):
            return model.Added(
                message_id=first["id"],
                sequence=first["sequence"],
                timestamp=iso_exact(first["at"]),
                duplicate=True,
            )
    idle_since = model.idle_since(call.now, call.settings)
    sequence = await store.next_sequence(call.tx, draft.project, draft.session, idle_since, call.now)
    if sequence is None:
        raise errors.Conflict(
            f"{draft.session} is closed.", hint="It stays readable; open another with create_session."
        )
    await store.add(call.tx, draft, sequence)
    await search.index_message(call.tx, draft)
    # An answer that not everyone sees must not show in what everyone gets.
    if draft.parent and not draft.audience:
        await store.count_reply(call.tx, draft)
    _tell(call, draft, sequence)
    return model.Added(message_id=draft.id, sequence=sequence, timestamp=iso_exact(draft.at))


def _tell(call: Call, draft: store.Draft, sequence: int) -> None:
    call.subject = f"{draft.session} {draft.id} {visibility_of(draft.audience)}"
    call.emit(
        "MessageAdded",
        uri(draft.session),
        audience=draft.audience,
        session_id=draft.session,
        message_id=draft.id,
        sequence=sequence,
        sender=draft.sender,
        message_type=draft.message_type,
    )


@operation("get_message", role="readonly", session=False)
async def get_message(
    call: Call, session_id: model.SessionId, message_id: model.MessageId, agent_id: AgentId | None = None
) -> model.OneMessage:
    """A message, its parent, its replies' ids."""
    reader = await identify(call, agent_id)
    row = await locate(call, session_id)
    message = await _message(call, row, reader, message_id)
    view = view_of(row, reader)
    parents = (
        await store.message(call.tx, view, message["parent"], message["parent"]) if message["parent"] else []
    )
    return model.OneMessage(
        message=model.Message.of(message),
        parent=model.Message.of(parents[0]) if parents else None,
        replies=await store.replies(call.tx, view, message["id"]),
    )


async def _message(call: Call, session: Row, reader: Reader, given: str) -> Row:
    first, last = model.between(given)
    near = await store.message(call.tx, view_of(session, reader), first, last)
    rows = [row for row in near if row["id"].startswith(given)]
    if not rows:
        raise errors.NotFound(
            f"There is no message '{given}' that you may see.", hint="get_context lists them."
        )
    if len(rows) > 1:
        raise errors.Conflict(
            f"'{given}' is the beginning of several messages.",
            hint="Give more of it.",
            candidates=[row["id"] for row in rows],
        )
    return rows[0]


async def read_context(
    call: Call,
    session_id: model.SessionId,
    limit: model.Limit = 50,
    offset: model.Offset = 0,
    after: model.After | None = None,
    include_private: bool = False,
    visibility_filter: Visibility | None = None,
    sender: AgentId | None = None,
    since: Moment | None = None,
    until: Moment | None = None,
    max_tokens: model.MaxTokens | None = None,
    agent_id: AgentId | None = None,
) -> model.Messages:
    """Messages in order; poll with after=next_after. max_tokens picks what matters."""
    reader = await identify(call, agent_id)
    row = await locate(call, session_id)
    view = store.View(
        row["project"],
        row["id"],
        reader.audiences(wanted(visibility_filter, include_private=include_private)),
        after=after or 0,
        since=0 if since is None else since,
        until=model.EVER if until is None else until,
        sender=sender,
    )
    total = await store.count(call.tx, view)
    if max_tokens is not None:
        return await _within(call, view, total, max_tokens)
    rows = await store.page(call.tx, view, limit + 1, offset)
    return model.Messages.page(rows[:limit], total, has_more=len(rows) > limit, after=view.after)


async def _within(call: Call, view: store.View, total: int, max_tokens: int) -> model.Messages:
    candidates = await store.candidates(call.tx, view)
    kept = digest.chosen(candidates, max_tokens)
    rows = await store.by_sequence(call.tx, view, sorted(kept))
    page = model.Messages.page(rows, total, has_more=len(rows) < total, after=view.after)
    out = [row for row in candidates if row["sequence"] not in kept]
    if page.has_more:
        page.left_out = model.LeftOut(
            messages=total - len(rows),
            decisions=sum(row["mark"] == "decision" for row in out),
            open_questions=sum(digest.is_open(row) for row in out),
            hint="search_context finds what is left out; get_context without max_tokens pages through all.",
        )
    return page


get_context = operation("get_context", role="readonly", session=False)(read_context)
get_messages = operation("get_messages", role="readonly", session=False)(read_context)


@operation("search_context", role="readonly", session=False)
async def search_context(
    call: Call,
    session_id: model.SessionId,
    query: model.Query,
    fuzzy_threshold: model.Threshold = 60,
    limit: model.ShortLimit = 10,
    search_metadata: bool = True,
    scope: model.Scope = "all",
    agent_id: AgentId | None = None,
) -> model.SearchResults:
    """Find a blackboard's messages by words, typos allowed."""
    started = perf_counter()
    reader = await identify(call, agent_id)
    row = await locate(call, session_id)
    asked = context_search.asked_words(query)
    if not asked:
        raise errors.Invalid("The query has no word in it.", hint="Use letters or digits.")
    view = view_of(row, reader, _SCOPES[scope])
    shelves = await context_search.shelves(call.tx, view, row["last_sequence"])
    fields = ("content", "metadata") if search_metadata else ("content",)
    matches = context_search.matches(shelves, asked, fuzzy_threshold, limit, fields)
    results = await _found(call, view, matches)
    return model.SearchResults(
        results=results,
        message_count=len(results),
        search_time_ms=round((perf_counter() - started) * 1000, 2),
    )


async def _found(call: Call, view: store.View, matches: Sequence[context_search.Match]) -> list[model.Found]:
    rows = await store.by_sequence(call.tx, view, [match.sequence for match in matches])
    texts = {row["sequence"]: row for row in rows}
    return [
        model.Found(
            message=model.Message.of(texts[match.sequence]),
            score=match.score,
            relevance=match.relevance,
            match_preview=context_search.preview(texts[match.sequence], match.hits),
            why=[hit.said() for hit in match.hits],
        )
        for match in matches
        if match.sequence in texts
    ]


@operation("get_session_audit", role="admin", session=False)
async def get_session_audit(
    call: Call, session_id: model.SessionId, after: model.After = -1, limit: model.Limit = 100
) -> model.Trail:
    """Who did what on a blackboard, never what was written."""
    row = await locate(call, session_id)
    added = await store.acts(call.tx, row["project"], row["id"], after, limit)
    acts = model.trail(row, added, after, whole=len(added) < limit)
    more = len(acts) > limit or len(added) == limit
    shown = acts[:limit]
    return model.Trail(
        session_id=row["id"], count=len(shown), acts=shown, next_after=shown[-1].n if more else None
    )
