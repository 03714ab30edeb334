"""Post, read and search the messages of a blackboard. The blackboards themselves: `operations.py`."""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from functools import wraps
from time import perf_counter
from typing import Any

from commonplace import errors
from commonplace.arguments import TimeArgument
from commonplace.call import Call
from commonplace.clock import iso_exact
from commonplace.operation import operation
from commonplace.rooms.blackboard import context_search, model, readers, search, selection, store
from commonplace.rooms.blackboard.events import MESSAGE_ADDED
from commonplace.rooms.blackboard.reader import (
    ALL_VISIBILITIES,
    AgentId,
    BlackboardReader,
    Visibility,
    identify_reader,
    select_visibilities,
    visibility_of_audience,
)
from commonplace.rooms.blackboard.session import load_message, load_visible_session, reader_view
from commonplace.search.engine import prepare_words
from commonplace.store.database import Row

_VISIBILITIES_BY_SCOPE: dict[model.SearchScope, tuple[Visibility, ...]] = {
    "all": ALL_VISIBILITIES,
    "public": ("public",),
    "private": ("private",),
}


@operation("add_message", writes=True, session="own", prepare=prepare_words("content"))
async def add_message(
    call: Call,
    session_id: model.BlackboardId,
    content: model.MessageContent,
    sender: AgentId | None = None,
    metadata: dict[str, Any] | None = None,
    visibility: Visibility = "public",
    message_type: model.BlackboardMessageType = "agent_response",
    parent_message_id: model.BlackboardMessageId | None = None,
    idempotency_key: model.MessageIdempotencyKey | None = None,  # noqa: ARG001 - `idempotency.py` takes it
    agent_id: AgentId | None = None,
    after: model.AfterSequence | None = None,
) -> model.AddedMessage:
    """Post on a blackboard: add a message, comment in shared discussion. private: only you; agent_only: own
    type; admin_only: admins. after (last sequence read): refused if others posted since."""
    reader = await identify_reader(call, agent_id, sender)
    row = await load_visible_session(call, session_id)
    parent = await load_message(call, row, reader, parent_message_id) if parent_message_id else None
    draft = _draft_message(call, row, reader, content, metadata, visibility)
    return await _add_drafted_message(
        call,
        replace(draft, message_type=message_type, parent=parent["id"] if parent else ""),
        after,
    )


@operation("add_private_note", writes=True, session="own")
async def add_private_note(
    call: Call,
    session_id: model.BlackboardId,
    content: model.MessageContent,
    metadata: dict[str, Any] | None = None,
    agent_id: AgentId | None = None,
) -> model.AddedMessage:
    """Write private notes on a blackboard; visible only for yourself."""
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
        mark=model.classify_message(content, metadata),
        content=content,
        metadata=model.encode_metadata(metadata),
        at=call.now,
    )


async def _add_drafted_message(
    call: Call, draft: store.BlackboardDraft, after: int | None = None
) -> model.AddedMessage:
    idle_since = model.idle_cutoff(call.now, call.settings)
    sequence = await store.allocate_sequence(call.tx, draft.project, draft.session, idle_since, call.now)
    if sequence is None:
        raise errors.Conflict(
            f"{draft.session} is closed and takes no new messages.",
            hint="Create a new blackboard with create_session and post there.",
        )
    if after is not None:  # nobody else posts there until commit, because the sequence is taken
        await readers.require_all_read(call, draft, after)
    await store.insert_message(call.tx, draft, sequence)
    await search.index_message(call.tx, draft)
    # A reply that not everyone may see must not change a count that everyone sees.
    if draft.parent and not draft.audience:
        await store.increment_reply_count(call.tx, draft)
    _emit_message_added(call, draft, sequence)
    unread = await readers.announce_post(call, draft, sequence)
    return model.AddedMessage(
        message_id=draft.id,
        sequence=sequence,
        timestamp=iso_exact(draft.at),
        visible_to="you alone" if visibility_of_audience(draft.audience) == "private" else "",
        unread=unread,
        read_with=f'get_context(session_id="{draft.session}", after={unread[0].sequence - 1})'
        if not readers.shows_all(unread)
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


@operation("get_message", role="readonly", session="own")
async def get_message(
    call: Call,
    session_id: model.BlackboardId,
    message_id: model.BlackboardMessageId,
    agent_id: AgentId | None = None,
) -> model.MessageDetails:
    """Get one blackboard message, parent, answers' ids."""
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
    after: model.AfterSequence | None = None,
    include_private: bool = False,
    visibility_filter: Visibility | None = None,
    sender: AgentId | None = None,
    since: TimeArgument | None = None,
    until: TimeArgument | None = None,
    max_tokens: model.ContextTokens | None = None,
    agent_id: AgentId | None = None,
) -> model.MessagePage:
    """Read a blackboard (discussion): its latest messages, posts in order, posted since; poll new entries with
    after=next_after. max_tokens picks the best.
    """
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
    if not is_filtered and (page.left_out is None or max_tokens is None):
        sequences = [message.sequence for message in page.messages]
        before = sequences[0] - 1 if sequences and (offset or page.left_out) else view.after
        page.missing_numbers = model.explain_gaps(sequences, before, include_private=include_private)
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
    await readers.follow_blackboard(
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
    selected = selection.select_messages(candidates, max_tokens)
    rows = await store.list_messages_by_sequence(call.tx, view, sorted(selected))
    page = model.MessagePage.from_rows(rows, total, has_more=len(rows) < total, after=view.after)
    omitted = [row for row in candidates if row["sequence"] not in selected]
    if page.has_more:
        page.left_out = model.OmittedMessages(
            messages=total - len(rows),
            decisions=sum(row["mark"] == "decision" for row in omitted),
            open_questions=sum(selection.is_open_question(row) for row in omitted),
            hint="Find omitted messages with search_context, or read all with get_context(after=0).",
        )
    return page


@wraps(read_context)
async def _read_context_by_other_name(call: Call, **arguments: Any) -> model.MessagePage:
    return await read_context(call, **arguments)


_read_context_by_other_name.__doc__ = (
    """Other name of get_context (blackboard); for mail use memory_get_messages."""
)

get_context = operation("get_context", role="readonly", session="own")(read_context)
get_messages = operation("get_messages", role="readonly", session="own")(_read_context_by_other_name)


@operation("search_context", role="readonly", session="own")
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
    """Search a blackboard's messages (discussion): fuzzy, tolerates typos."""
    started = perf_counter()
    reader = await identify_reader(call, agent_id, needs_agent=scope == "private")
    row = await load_visible_session(call, session_id)
    query_words = context_search.parse_query_words(query)
    if not query_words:
        raise errors.Invalid("The query contains no word.", hint="Use at least one letter or digit in query.")
    view = reader_view(row, reader, _VISIBILITIES_BY_SCOPE[scope])
    indexes = await context_search.load_audience_indexes(call.tx, view, row["last_sequence"])
    fields = ("content", "metadata") if search_metadata else ("content",)
    matches = context_search.rank_messages(indexes, query_words, fuzzy_threshold, limit, fields)
    results = await _load_matches(call, view, matches)
    return model.ContextSearchResults(
        results=results,
        message_count=len(results),
        search_time_ms=round((perf_counter() - started) * 1000, 2),
    )


async def _load_matches(
    call: Call, view: store.MessageView, matches: Sequence[context_search.FuzzyMatch]
) -> list[model.MessageMatch]:
    rows = await store.list_messages_by_sequence(call.tx, view, [match.sequence for match in matches])
    row_by_sequence = {row["sequence"]: row for row in rows}
    return [
        model.MessageMatch(
            message=model.BlackboardMessage.from_row(row_by_sequence[match.sequence]),
            score=match.score,
            relevance=match.relevance,
            match_preview=context_search.render_preview(row_by_sequence[match.sequence], match.hits),
            why=[hit.describe_match() for hit in match.hits],
        )
        for match in matches
        if match.sequence in row_by_sequence
    ]
