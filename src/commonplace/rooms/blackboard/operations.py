"""Create, list, read and close blackboards; post, read and search their messages. Who may see what: `reader.py`."""

import secrets
from dataclasses import replace
from functools import wraps
from time import perf_counter
from typing import Annotated, Any

from pydantic import Field

from commonplace import errors
from commonplace.arguments import TimeArgument
from commonplace.call import Call
from commonplace.clock import iso, iso_exact
from commonplace.operation import operation
from commonplace.project import ensure_project
from commonplace.rooms.archives import store as archives
from commonplace.rooms.archives.model import ArchivedSessions
from commonplace.rooms.blackboard import followers, model, ranking, store
from commonplace.rooms.blackboard.contributes import (
    MESSAGE_ADDED,
    SESSION_CLOSED,
    SESSION_CREATED,
    index_conclusion,
    index_message,
)
from commonplace.rooms.blackboard.model import ALL_VISIBILITIES, Visibility, visibility_of_audience
from commonplace.rooms.blackboard.reader import (
    AgentId,
    BlackboardReader,
    default_session_project,
    describe_session,
    identify_reader,
    list_blackboards,
    load_message,
    load_visible_session,
    reader_view,
    select_visibilities,
    session_not_found,
)
from commonplace.rooms.workspaces.model import WorkspaceId
from commonplace.search.engine import prepare_words
from commonplace.store.database import Row

_NEWEST_MESSAGES = 20
_SEARCHED_AT_ONCE = 1000
_DEFAULT_LISTED_SESSIONS = 50
_VISIBILITIES_BY_SCOPE: dict[model.SearchScope, tuple[Visibility, ...]] = {
    "all": ALL_VISIBILITIES,
    "public": ("public",),
    "private": ("private",),
}


@operation(
    "create_session",
    writes=True,
    session="own",
    example={"purpose": "Design the cart API"},
    keywords="start, brainstorm, group chat, discussion room, conversation, shared place, piece of work",
)
async def create_session(
    call: Call,
    purpose: model.Purpose,
    metadata: dict[str, Any] | None = None,
    project: str | None = None,
    agent_id: AgentId | None = None,
) -> model.CreatedBlackboard:
    """Create a blackboard, where several agents discuss one thing; share its session_id."""
    reader = await identify_reader(call, agent_id)
    call.project = project or default_session_project(call)
    session_id = f"session_{secrets.token_hex(8)}"
    await ensure_project(call.tx, call.project, call.now)
    await store.insert_session(
        call.tx, call.project, session_id, purpose, model.encode_metadata(metadata), reader.name, call.now
    )
    call.subject = session_id
    call.emit(SESSION_CREATED, {"session_id": session_id}, session_id=session_id)
    await followers.follow_blackboard(call, call.project, session_id, 0)
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
    """Show a blackboard with its participants and newest messages."""
    reader = await identify_reader(call, agent_id)
    row = await load_visible_session(call, session_id)
    session = await describe_session(call, row, reader)
    messages = await store.list_newest_messages(call.tx, reader_view(row, reader), _NEWEST_MESSAGES)
    after = messages[0]["sequence"] - 1 if len(messages) == _NEWEST_MESSAGES else 0
    await followers.follow_blackboard(call, row["project"], row["id"], row["last_sequence"], after=after)
    return model.BlackboardDetails(
        session=session,
        message_count=session.message_count,
        last_activity=iso(row["updated_at"]),
        participants=session.participants,
        messages=[model.BlackboardMessage.from_row(message) for message in messages],
        hidden_count=max(0, row["last_sequence"] - session.message_count) if reader.is_admin else None,
    )


@operation(
    "list_sessions", role="any", session="own", example={}, keywords="open discussions, session transcripts"
)
async def list_sessions(
    call: Call,
    workspace_id: Annotated[WorkspaceId | None, Field(description="Its transcripts.")] = None,
    since: TimeArgument | None = None,
    until: TimeArgument | None = None,
    active_only: bool = True,
    project: str | None = None,
    limit: model.ResultLimit | None = None,
    offset: model.PageOffset = 0,
    agent_id: AgentId | None = None,
) -> model.BlackboardListing | ArchivedSessions:
    """List blackboards, or with workspace_id the archived transcripts of a machine."""
    if workspace_id is not None:
        return await archives.list_archives_of_workspace(call, workspace_id, since, until, limit, offset)
    # A key that may only upload sees archives but no blackboards.
    if not call.caller.has_role("readonly"):
        return model.BlackboardListing(total=0, sessions=[])
    reader = await identify_reader(call, agent_id)
    return await list_blackboards(
        call, reader, project, active_only, limit or _DEFAULT_LISTED_SESSIONS, offset
    )


@operation("close_session", writes=True, session="own", idempotent=True, keywords="end discussion")
async def close_session(
    call: Call,
    session_id: model.BlackboardId,
    status: model.ClosedStatus = "completed",
    summary: model.ClosingSummary | None = None,
    agent_id: AgentId | None = None,
) -> model.ClosedBlackboard:
    """Close a blackboard with its conclusion; it stays readable."""
    reader = await identify_reader(call, agent_id)
    row = await load_visible_session(call, session_id)
    closed = await store.close_session_row(
        call.tx, row["project"], row["id"], status, summary, reader.name, call.now
    )
    if closed is None:
        raise session_not_found(session_id)
    if row["closed_at"] is None:
        await followers.announce_closing(call, row["project"], row["id"], summary or "")
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


@operation("get_session_audit", role="admin", session="own", keywords="audit")
async def get_session_audit(
    call: Call,
    session_id: model.BlackboardId,
    after: model.AfterSequence = -1,
    limit: model.MessageLimit = 100,
) -> model.BlackboardAuditTrail:
    """List what was done on a blackboard, without contents."""
    row = await load_visible_session(call, session_id)
    messages = await store.list_message_acts(call.tx, row["project"], row["id"], after, limit)
    acts = model.build_audit_trail(row, messages, after, is_last_page=len(messages) < limit)
    has_more = len(acts) > limit or len(messages) == limit
    page = acts[:limit]
    return model.BlackboardAuditTrail(
        session_id=row["id"], count=len(page), acts=page, next_after=page[-1].n if has_more else None
    )


@operation(
    "add_message",
    writes=True,
    session="own",
    prepare=prepare_words("content"),
    keywords="comment, shared discussion, add message, private, agent_only",
)
async def add_message(
    call: Call,
    session_id: model.BlackboardId,
    content: model.MessageContent,
    sender: Annotated[AgentId | None, Field(description="Your name, without a session.")] = None,
    metadata: dict[str, Any] | None = None,
    visibility: Visibility = "public",
    message_type: model.BlackboardMessageType = "agent_response",
    parent_message_id: model.BlackboardMessageId | None = None,
    idempotency_key: model.MessageIdempotencyKey | None = None,
    agent_id: AgentId | None = None,
) -> model.AddedMessage:
    """Post on a blackboard."""
    reader = await identify_reader(call, agent_id, sender)
    row = await load_visible_session(call, session_id)
    parent = await load_message(call, row, reader, parent_message_id) if parent_message_id else None
    draft = _draft_message(call, row, reader, content, metadata, visibility)
    return await _add_drafted_message(
        call, replace(draft, message_type=message_type, parent=parent["id"] if parent else "")
    )


@operation("add_private_note", writes=True, session="own", keywords="private notes, yourself")
async def add_private_note(
    call: Call,
    session_id: model.BlackboardId,
    content: model.MessageContent,
    metadata: dict[str, Any] | None = None,
    agent_id: AgentId | None = None,
) -> model.AddedMessage:
    """Write a note on a blackboard that only you see."""
    reader = await identify_reader(call, agent_id)
    row = await load_visible_session(call, session_id)
    return await _add_drafted_message(call, _draft_message(call, row, reader, content, metadata, "private"))


def _draft_message(
    call: Call,
    row: Row,
    reader: BlackboardReader,
    content: str,
    metadata: dict[str, Any] | None,
    visibility: Visibility,
) -> store.BlackboardDraft:
    return store.BlackboardDraft(
        project=row["project"],
        session=row["id"],
        id=f"msg_{secrets.token_hex(6)}",
        audience=reader.audience_for(visibility),
        sender=reader.name,
        owner=reader.owner,
        key_id=call.caller.key,
        message_type="agent_response",
        mark=model.classify_message(metadata),
        content=content,
        metadata=model.encode_metadata(metadata),
        at=call.now,
    )


async def _add_drafted_message(call: Call, draft: store.BlackboardDraft) -> model.AddedMessage:
    idle_since = model.idle_cutoff(call.now, call.settings)
    sequence = await store.allocate_sequence(call.tx, draft.project, draft.session, idle_since, call.now)
    if sequence is None:
        raise errors.Conflict(
            f"{draft.session} is closed and takes no new messages.",
            hint="Create a new blackboard with create_session and post there.",
        )
    await store.insert_message(call.tx, draft, sequence)
    await index_message(call.tx, draft)
    # A reply that not everyone may see must not change a count that everyone sees.
    if draft.parent and not draft.audience:
        await store.increment_reply_count(call.tx, draft)
    _emit_message_added(call, draft, sequence)
    unread = await followers.announce_post(call, draft, sequence)
    return model.AddedMessage(
        message_id=draft.id,
        sequence=sequence,
        timestamp=iso_exact(draft.at),
        unread=unread,
        read_with=f'get_context(session_id="{draft.session}", after={unread[0].sequence - 1})'
        if not followers.shows_all(unread)
        else "",
    )


def _emit_message_added(call: Call, draft: store.BlackboardDraft, sequence: int) -> None:
    call.subject = f"{draft.session} {draft.id} {visibility_of_audience(draft.audience)}"
    call.emit(
        MESSAGE_ADDED,
        {"session_id": draft.session},
        audience=draft.audience,
        session_id=draft.session,
        message_id=draft.id,
        sequence=sequence,
        sender=draft.sender,
        message_type=draft.message_type,
    )


@operation("get_message", role="readonly", session="own", keywords="parent")
async def get_message(
    call: Call,
    session_id: model.BlackboardId,
    message_id: model.BlackboardMessageId,
    agent_id: AgentId | None = None,
) -> model.MessageDetails:
    """Show one message of a blackboard with the ids of its answers."""
    reader = await identify_reader(call, agent_id)
    row = await load_visible_session(call, session_id)
    message = await load_message(call, row, reader, message_id)
    view = reader_view(row, reader)
    parents = (
        await store.list_messages_in_id_range(call.tx, view, message["parent"], message["parent"])
        if message["parent"]
        else []
    )
    return model.MessageDetails(
        message=model.BlackboardMessage.from_row(message),
        parent=model.BlackboardMessage.from_row(parents[0]) if parents else None,
        replies=await store.list_reply_ids(call.tx, view, message["id"]),
    )


async def read_context(
    call: Call,
    session_id: model.BlackboardId,
    limit: model.MessageLimit = 50,
    offset: model.PageOffset | None = None,
    after: Annotated[model.AfterSequence | None, Field(description="Sequence read so far.")] = None,
    include_private: bool = False,
    visibility_filter: Visibility | None = None,
    sender: Annotated[AgentId | None, Field(description="Your name, without a session.")] = None,
    since: Annotated[TimeArgument | None, Field(description="ISO time.")] = None,
    until: TimeArgument | None = None,
    max_tokens: model.ContextTokens | None = None,
    agent_id: AgentId | None = None,
) -> model.MessagePage:
    """Read a blackboard's messages; poll with after=next_after."""
    asks_private = include_private or visibility_filter == "private"
    reader = await identify_reader(call, agent_id, needs_agent=asks_private)
    row = await load_visible_session(call, session_id)
    view = store.MessageView(
        row["project"],
        row["id"],
        reader.list_audiences(select_visibilities(visibility_filter, include_private=include_private)),
        after=after or 0,
        since=0 if since is None else since,
        until=model.MAX_INTEGER if until is None else until,
        sender=sender,
    )
    total = await store.count_messages_in_view(call.tx, view)
    if max_tokens is not None:
        page = await _select_within_tokens(call, view, total, max_tokens)
    elif offset is None and after is None and since is None and until is None:
        page = await _read_newest(call, view, total, limit)
    else:
        rows = await store.list_messages(call.tx, view, limit + 1, offset or 0)
        page = model.MessagePage.from_rows(rows[:limit], total, has_more=len(rows) > limit, after=view.after)
    is_filtered = visibility_filter is not None or sender is not None or view.has_time_bounds
    await _note_read(call, row, page, is_filtered=is_filtered, is_selection=max_tokens is not None)
    return page


async def _read_newest(call: Call, view: store.MessageView, total: int, limit: int) -> model.MessagePage:
    rows = await store.list_newest_messages(call.tx, view, limit)
    page = model.MessagePage.from_rows(rows, total, has_more=len(rows) < total, after=view.after)
    if page.has_more:
        page.left_out = model.OmittedMessages(
            messages=total - len(rows), hint="These are the newest; after=0 reads from the beginning."
        )
    return page


async def _note_read(
    call: Call, row: Row, page: model.MessagePage, *, is_filtered: bool, is_selection: bool
) -> None:
    """Note up to where the caller has read. A choice among the messages leaves others unread."""
    is_newest = page.left_out is not None or not page.has_more
    reached = row["last_sequence"] if is_newest else page.next_after
    skips_older = page.left_out is not None and not is_selection
    await followers.follow_blackboard(
        call,
        row["project"],
        row["id"],
        0 if is_filtered else reached,
        after=page.messages[0].sequence - 1 if skips_older and page.messages else 0,
        is_newest=is_newest and not is_filtered,
    )


async def _select_within_tokens(
    call: Call, view: store.MessageView, total: int, max_tokens: int
) -> model.MessagePage:
    candidates = await store.list_selection_candidates(call.tx, view)
    selected = ranking.select_messages(candidates, max_tokens)
    rows = await store.list_messages_by_sequence(call.tx, view, sorted(selected))
    page = model.MessagePage.from_rows(rows, total, has_more=len(rows) < total, after=view.after)
    omitted = [row for row in candidates if row["sequence"] not in selected]
    if page.has_more:
        page.left_out = model.OmittedMessages(
            messages=total - len(rows),
            decisions=sum(row["mark"] == "decision" for row in omitted),
            open_questions=sum(ranking.is_open_question(row) for row in omitted),
            hint="Find omitted messages with search_context, or read all with get_context(after=0).",
        )
    return page


@wraps(read_context)
async def _read_context_by_other_name(call: Call, **arguments: Any) -> model.MessagePage:
    return await read_context(call, **arguments)


_read_context_by_other_name.__doc__ = (
    """Other name of get_context (blackboard); for mail use memory_get_messages."""
)

get_context = operation(
    "get_context",
    role="readonly",
    session="own",
    keywords="discussion, latest posts in order, new entries, posted since",
)(read_context)
get_messages = operation("get_messages", role="readonly", session="own")(_read_context_by_other_name)


@operation("search_context", role="readonly", session="own", keywords="discussion, fuzzy")
async def search_context(
    call: Call,
    session_id: model.BlackboardId,
    query: model.ContextQuery,
    fuzzy_threshold: model.FuzzyThreshold = 60,
    limit: model.ResultLimit = 10,
    search_metadata: bool = True,
    scope: model.SearchScope = "all",
    agent_id: AgentId | None = None,
) -> model.ContextSearchResults:
    """Search a blackboard's messages, also with typos."""
    started = perf_counter()
    reader = await identify_reader(call, agent_id, needs_agent=scope == "private")
    row = await load_visible_session(call, session_id)
    query_words = ranking.parse_query_words(query)
    if not query_words:
        raise errors.Invalid("The query contains no word.", hint="Use at least one letter or digit in query.")
    view = reader_view(row, reader, _VISIBILITIES_BY_SCOPE[scope])
    matches: list[ranking.FuzzyMatch] = []
    while page := await store.list_messages(call.tx, view, _SEARCHED_AT_ONCE, 0):
        matches += ranking.rank_messages(page, query_words, fuzzy_threshold, with_metadata=search_metadata)
        matches.sort(key=lambda match: (match.score, match.row["sequence"]), reverse=True)
        del matches[limit:]
        view = replace(view, after=page[-1]["sequence"])
    return model.ContextSearchResults(
        results=[_show_match(match) for match in matches],
        message_count=len(matches),
        search_time_ms=round((perf_counter() - started) * 1000, 2),
    )


def _show_match(match: ranking.FuzzyMatch) -> model.MessageMatch:
    return model.MessageMatch(
        message=model.BlackboardMessage.from_row(match.row),
        score=match.score,
        relevance=match.relevance,
        match_preview=ranking.render_preview(match.row, match.hits),
        why=[hit.describe_match() for hit in match.hits],
    )
