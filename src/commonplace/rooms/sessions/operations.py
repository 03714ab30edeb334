"""Start and end a session. Who the agent is: `identity.py`; what the start returns: `boot_pack.py`."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from msgspec import structs
from pydantic import Field

from commonplace import access, errors
from commonplace.access import Caller
from commonplace.arguments import AgentName
from commonplace.boot import StartingSession
from commonplace.call import Call, Calls
from commonplace.identity import acting
from commonplace.identity import session as agent_session
from commonplace.identity.liveness import (
    NAME_BUSY_MICROSECONDS,
    SESSION_LIVE_MICROSECONDS,
    list_dormant_sessions,
)
from commonplace.masking.session_ids import hash_session_id
from commonplace.operation import alias, operation
from commonplace.rooms.admin import store as keys
from commonplace.rooms.agents.model import MAX_TASK_CHARACTERS
from commonplace.rooms.backlog.claims import release_claims_of_session
from commonplace.rooms.knowledge.contributes import prepare_topic
from commonplace.rooms.knowledge.drafts import (
    PreparedDraft,
    prepare_document,
    prepare_record,
)
from commonplace.rooms.knowledge.writing import write_document, write_record
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.granting import FencingTokens, require_current_tokens
from commonplace.rooms.messages.store import count_unread_messages
from commonplace.rooms.requests.store import list_open_questions
from commonplace.rooms.sessions import handoffs, store
from commonplace.rooms.sessions.boot_pack import fit_boot_pack, gather_boot_parts
from commonplace.rooms.sessions.contributes import SESSION_STARTED, list_reading_calls
from commonplace.rooms.sessions.ending import (
    continue_earlier_sessions,
    end_abandoned_sessions,
    end_subagents,
    notify_session_start,
    release_holdings,
)
from commonplace.rooms.sessions.identity import plan_windows, rename_agent, resolve_starting_agent, seat_id
from commonplace.rooms.sessions.model import (
    UNKNOWN_AGENT,
    BootPack,
    BoundWindows,
    EndedSession,
    HandoffIds,
    LongText,
    ModifiedFiles,
    PathText,
    ResolvedAgent,
    SessionRequest,
    SessionSummary,
    ShortText,
    TokenBudget,
    WindowIds,
)
from commonplace.rooms.work import store as work
from commonplace.shortening import shorten_text
from commonplace.store.database import Row, Statement

_MAX_TITLE_CHARACTERS = 120


@operation(
    "memory_start_session",
    role="readonly",
    writes=True,
    session="own",
    example={"project": "shop", "claude_instance": "alice", "task_description": "cart totals"},
    prepare=prepare_topic,
    verbatim=("api_key",),
    keywords="begin, join, introduce yourself, resume, continue yesterday's work, where the previous agent left off",
)
async def start_session(
    call: Call,
    project: str,
    claude_instance: Annotated[
        AgentName, alias("agent", "agent_name"), Field(description="Your agent name.")
    ] = UNKNOWN_AGENT,
    task_description: LongText = "",
    role_description: ShortText | None = None,
    working_directory: Annotated[PathText | None, Field(description="Root of your checkout.")] = None,
    spawned_by: Annotated[AgentName | None, Field(description="Your parent agent.")] = None,
    tmux_target: ShortText | None = None,
    api_key: Annotated[ShortText | None, Field(description="Where no bearer token is sent.")] = None,
    token_budget: TokenBudget = 2000,
) -> BootPack:
    """Start your session and get what you need to begin: handoff, mail, tasks, locks, rules, learnings.
    Call it first."""
    if api_key is not None:
        call.caller = await _require_key_caller(call, api_key)
    name = await _resolve_name(call, claude_instance)
    spawner, named_parent = await _resolve_spawner(call, spawned_by or "")
    plan = await plan_windows(call, project, spawner, name)
    parent = named_parent or plan.parent or await _find_parent_by_name(call, spawner)
    request = SessionRequest(
        name,
        task_description if call.caller.has_role("agent") else "",
        role_description or "",
        working_directory or "",
        spawner or (parent.agent if parent else ""),
        tmux_target or "",
        seat_id(call.caller, working_directory or ""),
        call.caller.branch,
        parent.id if parent else "",
    )
    agent = await resolve_starting_agent(call, request, plan.continued)
    session_id = agent_session.mint_session_id(project, agent.name)
    if plan.continued is None:
        start = await _open_session(call, session_id, request, agent)
    else:
        start = await _continue_session(call, session_id, request, agent, plan.continued)
    await acting.bind_windows(call.tx, call.caller, plan.windows, call.own_session, call.now)
    start = replace(start, token_budget=token_budget)
    is_new = plan.continued is None
    start, live_sessions = await _meet_live_sessions(call, start, request, agent, is_new=is_new)
    parts, outsiders = await gather_boot_parts(call, start, request, agent, live_sessions)
    pack = BootPack(project=project, agent=agent.name, session_id=session_id, already_started=not is_new)
    return fit_boot_pack(pack, parts, token_budget, outsiders)


async def _meet_live_sessions(
    call: Call, start: StartingSession, request: SessionRequest, agent: ResolvedAgent, *, is_new: bool
) -> tuple[StartingSession, Sequence[Row]]:
    """Continue dormant sessions of the agent and notify the others; return the live ones that are left."""
    since = call.now - SESSION_LIVE_MICROSECONDS
    rows = await store.list_live_sessions(call.tx, call.project, agent.name, since, start.session)
    if is_new:
        start = await continue_earlier_sessions(call, start)
        await notify_session_start(call, agent, rows)
    earlier = {each.session.id for each in start.earlier_sessions}
    return start, [row for row in rows if row["id"] not in earlier]


async def _resolve_name(call: Call, claude_instance: str) -> str:
    """The name that was given; a session_id in its place names the session to continue."""
    if not agent_session.is_session_id(claude_instance):
        return claude_instance
    call.session = await agent_session.load_session(call.tx, claude_instance, call.caller)
    return UNKNOWN_AGENT


async def _resolve_spawner(call: Call, spawned_by: str) -> tuple[str, agent_session.AgentSession | None]:
    """The name of the agent that started this one, and its session if the argument is a session_id."""
    if not spawned_by or not agent_session.is_session_id(spawned_by):
        return spawned_by, None
    parent = await agent_session.load_session(call.tx, spawned_by, call.caller)
    return parent.agent, parent


async def _find_parent_by_name(call: Call, agent: str) -> agent_session.AgentSession | None:
    """The session of that agent, of the same key, that called last."""
    if not agent:
        return None
    since = call.now - SESSION_LIVE_MICROSECONDS
    sessions = await store.list_sessions_of_agent(call.tx, call.project, agent, call.caller.key, since)
    return sessions[0] if sessions else None


async def _require_key_caller(call: Call, secret: str) -> access.Caller:
    key_caller = await keys.find_caller_by_secret(call.tx, secret, call.now)
    if key_caller is None:
        raise errors.Unauthenticated(
            "api_key is unknown, revoked or expired.", hint="Ask an owner of this server for a new key."
        )
    access.require_role(key_caller, "readonly", "memory_start_session")
    access.require_project(key_caller, call.project, writes=True)
    return replace(
        key_caller,
        windows=call.caller.windows,
        session=call.caller.session,
        seat=call.caller.seat,
        branch=call.caller.branch,
    )


async def _open_session(
    call: Call, session_id: str, request: SessionRequest, agent: ResolvedAgent
) -> StartingSession:
    """Insert the session; the rest of the call acts as this session."""
    caller, working_directory = call.caller, request.working_directory
    session = agent_session.AgentSession(
        call.project,
        hash_session_id(session_id),
        agent.name,
        caller.agent_type,
        caller.key,
        working_directory,
    )
    await store.insert_session(call.tx, session, request, call.now)
    call.session, call.subject = session, agent.name
    if caller.has_role("agent"):
        await _enter_roster(call, request, agent)
    call.emit(
        SESSION_STARTED,
        agent=agent.name,
        task=shorten_text(request.task, MAX_TASK_CHARACTERS),
    )
    if not request.gives_name and not request.spawned_by:
        await _take_over_seat(call, session, request.seat)
    start = StartingSession(
        call.project, agent.name, session.id, request.task, working_directory, agent.previous_start
    )
    return await handoffs.load_last_handoff_and_work(call, start)


async def _take_over_seat(call: Call, session: agent_session.AgentSession, seat: str) -> None:
    """End windows of the seat that were closed without an end."""
    abandoned = await store.list_abandoned_sessions(call.tx, session, seat, call.now - NAME_BUSY_MICROSECONDS)
    await end_abandoned_sessions(call, abandoned)


async def _enter_roster(call: Call, request: SessionRequest, agent: ResolvedAgent) -> None:
    if not agent.is_known:
        await store.end_reader_sessions(call.tx, call.project, agent.name, call.caller.key, call.now)
    await store.upsert_agent_of_session(
        call.tx,
        call.project,
        agent,
        call.caller.key,
        shorten_text(request.task, MAX_TASK_CHARACTERS),
        call.now,
    )
    if not request.gives_name and not request.spawned_by:
        await store.remember_seat_name(call.tx, call.project, request.seat, agent.name, call.now)


async def _continue_session(
    call: Call,
    session_id: str,
    request: SessionRequest,
    agent: ResolvedAgent,
    session: agent_session.AgentSession,
) -> StartingSession:
    """Give the session a further id and, if a free name was given, that name."""
    if agent.name != session.agent:
        await rename_agent(call, session, agent, request)
    await store.continue_session(call.tx, session, request, call.now)
    await store.insert_session_key(call.tx, session, hash_session_id(session_id), call.now)
    call.session = structs.replace(
        session,
        agent=agent.name,
        working_directory=session.working_directory or request.working_directory,
    )
    call.subject = agent.name
    start = StartingSession(
        call.project,
        agent.name,
        session.id,
        request.task,
        call.session.working_directory,
        agent.previous_start,
    )
    return await handoffs.load_last_handoff_and_work(call, start)


@operation("bind_windows", writes=True, idempotent=True, example={"windows": ["claude-call:toolu_1"]})
async def bind_windows(call: Call, windows: WindowIds) -> BoundWindows:
    """Bind windows, such as a tool call that is about to arrive, to this session."""
    session = call.own_session
    await acting.bind_windows(call.tx, call.caller, windows, session, call.now)
    return BoundWindows(agent=session.agent, project=session.project, bound=len(windows))


@dataclass(frozen=True, slots=True)
class _PreparedEnd:
    learning: PreparedDraft | None
    handoff: PreparedDraft | None

    @property
    def session_reads(self) -> Sequence[Statement]:
        return self.learning.session_reads if self.learning else ()


async def _prepare_end(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> _PreparedEnd:
    """The learning and the handoff, each None where there is nothing to store."""
    files, now = tuple(arguments["files_modified"] or ()), calls.clock()
    learning = (arguments["learnings"] or "").strip()
    notes = (arguments["handoff_notes"] or "").strip()
    handoff = "\n\n".join(filter(None, (arguments["summary"], notes)))
    prepared = _PreparedEnd(None, None)
    if learning:
        draft = handoffs.draft_document("learning", learning, files, now)
        prepared = replace(prepared, learning=await prepare_document(calls, arguments, caller, draft))
    if handoff:
        draft = handoffs.draft_document(handoffs.HANDOFF_TYPE, handoff, files, now)
        prepared = replace(prepared, handoff=await prepare_record(calls, draft))
    return prepared


@operation(
    "memory_end_session",
    writes=True,
    prepare=_prepare_end,
    example={"summary": "Cart totals done", "handoff_notes": "Next: tax", "files_modified": ["cart.py"]},
    keywords="finish, wrap up, sign off, goodbye, save progress, leave handoff, hand over unfinished work",
)
async def end_session(
    call: Call,
    summary: SessionSummary,
    files_modified: ModifiedFiles | None = None,
    learnings: LongText | None = None,
    handoff_notes: Annotated[LongText | None, Field(description="State, next step, traps.")] = None,
    takes_handoff: HandoffIds | None = None,
    token: Annotated[
        FencingTokens | None,
        Field(
            description="Fencing tokens from memory_lock_files of the locks that protect this; refused with `stale_token` if one is no longer yours."
        ),
    ] = None,
) -> EndedSession:
    """End your session with a summary and notes for the next agent; locks are released. Call it before you
    stop or your context runs out."""
    session = call.own_session
    if token is not None:
        await require_current_tokens(call, token)
    dormant = await list_dormant_sessions(call.tx, session, call.now)
    if not await store.mark_session_ended(call.tx, session, call.now):
        raise errors.SessionNotFound
    files = files_modified or []
    prepared: _PreparedEnd = call.prepared
    shown_handoff = await handoffs.find_shown_handoff(call, session)
    # Before the documents: whoever changes a backlog item locks it before the search index, too.
    returned = [item for each in (session, *dormant) for item in await release_claims_of_session(call, each)]
    ended_subagents = await end_subagents(call, session)
    learning_id = await _store_learning(call, prepared.learning) if prepared.learning else ""
    handoff_id = await write_record(call, prepared.handoff) if prepared.handoff else ""
    taken = await handoffs.take_handoffs(call, takes_handoff) if takes_handoff else []
    if handoff_id:
        await handoffs.record_handoff(call, session, handoff_id, handoff_notes or "", returned)
    await work.record_touched_files(
        call.tx, session, _canonical_files(files, session.working_directory), call.now
    )
    released = await release_holdings(call, session, handoff_id, dormant)
    call.subject = handoff_id
    return EndedSession(
        status="ended",
        handoff_id=handoff_id,
        learning_id=learning_id,
        released_locks=released,
        returned_to_backlog=returned,
        taken_handoffs=taken,
        open_handoffs=await handoffs.list_still_open(call, shown_handoff),
        unread=await count_unread_messages(call.tx, session.project, session.agent),
        unread_posts=await list_reading_calls(call.tx, session, call.now),
        open_questions=await list_open_questions(call.tx, session),
        ended_subagents=ended_subagents,
    )


def _canonical_files(files: Sequence[str], working_directory: str) -> list[str]:
    """Return the canonical paths; an invalid one is skipped, so that it cannot keep a session from ending."""
    canonical_paths = []
    for file in files:
        with contextlib.suppress(errors.Invalid):
            canonical_paths.append(paths.canonicalize_path(file, working_directory))
    return canonical_paths


async def _store_learning(call: Call, prepared: PreparedDraft) -> str:
    """Store the learning; return its id, or that of an identical document."""
    try:
        return (await write_document(call, prepared, force=False, status="recorded")).id
    except errors.Duplicate as duplicate:
        return str(duplicate.details["id"])
