"""Start and end a session."""

import contextlib
from collections.abc import Sequence
from typing import Annotated

from commonplace import access, activity, errors
from commonplace.activity import SESSION_LIVE_MICROSECONDS
from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.operation import also, operation
from commonplace.rooms.admin import store as keys
from commonplace.rooms.agents.model import MAX_TASK_CHARACTERS, AgentName
from commonplace.rooms.knowledge import writing
from commonplace.rooms.locks import paths
from commonplace.rooms.locks import store as locks
from commonplace.rooms.sessions import arrival, boot, news, store
from commonplace.rooms.sessions.arrival import Arrival, Given
from commonplace.rooms.sessions.model import (
    LIVES_FOR,
    UNKNOWN,
    Budget,
    Ended,
    Files,
    LongText,
    PathText,
    ShortText,
    Started,
    Summary,
)
from commonplace.rooms.sessions.pack import packed
from commonplace.rooms.work import store as work
from commonplace.search.engine import asking

_TITLE_LENGTH = 120


@operation(
    "memory_start_session",
    role="readonly",
    writes=True,
    session=False,
    example={"project": "shop", "claude_instance": "alice", "task_description": "cart totals"},
    prepare=asking("task_description"),
    verbatim=("api_key",),
)
async def start_session(
    call: Call,
    project: str,
    claude_instance: Annotated[AgentName, also("agent", "agent_name")] = UNKNOWN,
    task_description: LongText = "",
    role_description: ShortText | None = None,
    working_directory: PathText | None = None,
    spawned_by: AgentName | None = None,
    tmux_target: ShortText | None = None,
    api_key: ShortText | None = None,
    token_budget: Budget = 2000,
) -> Started:
    """Call first: gives session_id and what you need to know, within token_budget."""
    if api_key is not None:
        call.caller = await _key_holder(call, api_key)
    given = Given(
        claude_instance,
        task_description,
        role_description or "",
        working_directory or "",
        spawned_by or "",
        tmux_target or "",
    )
    arrived = await _arrive(call, given)
    live = await store.live(call.tx, project, arrived.agent, call.now - SESSION_LIVE_MICROSECONDS)
    session_id = activity.mint(project, arrived.agent)
    start = await _open(call, session_id, given, arrived)
    await news.tell(call, arrived, live)
    parts = await boot.parts(call, start, given, arrived, live)
    return packed(Started(project=project, agent=arrived.agent, session_id=session_id), parts, token_budget)


async def _key_holder(call: Call, secret: str) -> access.Caller:
    holder = await keys.find_caller_by_secret(call.tx, secret, call.now)
    if holder is None:
        raise errors.Unauthenticated(hint="api_key is unknown, revoked or expired; ask an owner for another.")
    access.require_role(holder, "readonly", "memory_start_session")
    access.require_project(holder, call.project, writes=True)
    return holder


async def _arrive(call: Call, given: Given) -> Arrival:
    registered = await store.enter_project(call.tx, call.project, call.now)
    name = arrival.asked_name(call.caller, given.agent)
    workers = arrival.worker_names() if given.spawned_by else []
    roster = await store.agents_named(call.tx, call.project, [name, given.spawned_by, *workers])
    return arrival.arrive(name, given, call.caller, roster, workers, registered=registered)


async def _open(call: Call, session_id: str, given: Given, arrived: Arrival) -> StartingSession:
    """From here on the call acts as the session that it opened."""
    caller, place = call.caller, given.working_directory
    session = activity.Session(
        call.project, activity.digest(session_id), arrived.agent, caller.agent_type, caller.key, place
    )
    await store.add(call.tx, session, given, call.now)
    await store.count_session(call.tx, call.project, arrived, given.task[:MAX_TASK_CHARACTERS], call.now)
    call.session, call.subject = session, arrived.agent
    call.emit(
        "SessionStarted",
        f"agents://{call.project}",
        agent=arrived.agent,
        task=given.task[:MAX_TASK_CHARACTERS],
    )
    start = StartingSession(
        call.project, arrived.agent, session.id, given.task, place, arrived.previous_start
    )
    return await boot.with_last_work(call, start)


@operation(
    "memory_end_session",
    writes=True,
    example={"summary": "Cart totals done", "handoff_notes": "Next: tax", "files_modified": ["cart.py"]},
)
async def end_session(
    call: Call,
    summary: Summary,
    files_modified: Files | None = None,
    learnings: LongText | None = None,
    handoff_notes: LongText | None = None,
) -> Ended:
    """End your session: handoff and learning are kept, locks released."""
    session = call.own_session
    if not await store.end(call.tx, session, call.now):
        raise errors.SessionNotFound
    files = files_modified or []
    learning_id = await _keep_learning(call, (learnings or "").strip(), files)
    handoff_id = await _keep_handoff(call, summary, (handoff_notes or "").strip(), files)
    await work.record_touched_files(call.tx, session, _places(files, session.working_directory), call.now)
    await work.close_work_of_session(call.tx, call.project, session.id, call.now)
    released = await locks.release_leases_of_session(call.tx, call.project, session.id, await call.tx.clock())
    await store.rest_agent(call.tx, session, call.now - SESSION_LIVE_MICROSECONDS, call.now)
    call.subject = handoff_id
    call.emit("SessionEnded", f"agents://{call.project}", agent=call.agent, handoff_id=handoff_id)
    if released:
        call.emit("FilesReleased", f"locks://{call.project}", agent=call.agent, files=released)
    return Ended(status="ended", handoff_id=handoff_id, learning_id=learning_id, released_locks=released)


def _places(files: Sequence[str], working_directory: str) -> list[str]:
    """The files that name a place in the project; an odd one is no reason to keep a session from ending."""
    places = []
    for file in files:
        with contextlib.suppress(errors.Invalid):
            places.append(paths.canonicalize_path(file, working_directory))
    return places


async def _keep_handoff(call: Call, summary: str, notes: str, files: Sequence[str]) -> str:
    if not summary and not notes:
        return ""
    whole = "\n\n".join(filter(None, (summary, notes)))
    return await writing.keep_record(call, _draft(call, boot.HANDOFF, summary or notes, whole, files))


async def _keep_learning(call: Call, learned: str, files: Sequence[str]) -> str:
    """The id under which it is known: that of another document, if it is known already."""
    if not learned:
        return ""
    try:
        return (
            await writing.keep(call, _draft(call, "learning", learned, learned, files), False, "recorded")
        ).id
    except errors.Duplicate as known:
        return str(known.details["id"])


def _draft(call: Call, kind: str, titled: str, content: str, files: Sequence[str]) -> writing.Draft:
    """The files were worked on in the session, which makes them no evidence for what is said of it."""
    ends = call.now + LIVES_FOR[kind]
    return writing.Draft(kind, _title(titled), content, (), tuple(files), ends, cites=False)


def _title(text: str) -> str:
    first = text.partition("\n")[0].strip()
    return first if len(first) <= _TITLE_LENGTH else first[: _TITLE_LENGTH - 1].rstrip() + "…"
