"""Operations of this room: record what hooks send, and tell what the last session of a place left."""

from typing import Annotated

from msgspec import structs
from pydantic import Field

from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import SECOND
from commonplace.identity.session import AgentSession
from commonplace.journal.hook_events import add_hook_event
from commonplace.journal.model import Journal
from commonplace.journal.record import JournalRecorder
from commonplace.journal.resume import MAX_RESUME_TOKENS
from commonplace.operation import operation
from commonplace.rooms.journals import store
from commonplace.rooms.journals.model import (
    BranchName,
    ConversationId,
    FolderPath,
    HookEvents,
    ItemId,
    ProgramName,
    RecordedEvents,
    ResumedWork,
    ResumeTokens,
)
from commonplace.rooms.journals.resumption import find_left_journal, tell_journal
from commonplace.rooms.journals.store import JournalHead
from commonplace.shortening import shorten_line

_TASK_CHARACTERS = 200
_NOTHING_LEFT = "No session of this place left anything open."


@operation(
    "memory_record_events",
    writes=True,
    example={
        "conversation": "6f1c2d3e",
        "tool": "claude",
        "events": [
            {"at": 1800000000, "event": {"hook_event_name": "UserPromptSubmit", "prompt": "Fix the cart"}}
        ],
    },
)
async def record_events(
    call: Call,
    conversation: ConversationId,
    tool: ProgramName,
    events: HookEvents,
    directory: FolderPath = "",
    branch: Annotated[
        BranchName, Field(description="The branch that is checked out; empty if none is.")
    ] = "",
) -> RecordedEvents:
    """Record the hook events of a session in its journal, for our own programs. Call it with the events that were not
    sent yet, in their order."""
    session = call.own_session
    found = await store.load_journal(call.tx, session.project, conversation, "hooks")
    head, journal = found or (await _begin_journal(call, session, conversation, directory), Journal())
    recorder = JournalRecorder(journal)
    for sent in events:
        at, event = sent.get("at"), sent.get("event")
        if isinstance(event, dict):
            add_hook_event(recorder, event, int(at * SECOND) if isinstance(at, int | float) else None)
    journal.cwd = directory or journal.cwd
    head = structs.replace(
        head, tool=tool, agent=session.agent, session=session.id, branch=branch or head.branch
    )
    await store.save_journal(call.tx, head, journal)
    if journal.task and not head.task:
        await store.show_task(call.tx, session, shorten_line(journal.task, _TASK_CHARACTERS))
    call.subject = conversation
    return RecordedEvents(recorded=len(events), state=store.describe_state(journal))


async def _begin_journal(call: Call, session: AgentSession, conversation: str, directory: str) -> JournalHead:
    """It remembers which journal its session was shown."""
    place = directory or session.working_directory
    left = await find_left_journal(call, session.project, session.agent, place, session.id)
    earlier = left.id if left and left.id != conversation else ""
    return JournalHead(
        session.project,
        conversation,
        "hooks",
        directory=place,
        earlier=earlier,
        started_at=call.now,
        updated_at=call.now,
    )


@operation("memory_resume", role="readonly", session="optional", example={"max_tokens": 600})
async def resume_work(
    call: Call,
    agent: Annotated[AgentName, Field(description="What this agent's last session left.")] | None = None,
    branch: BranchName | None = None,
    item: ItemId | None = None,
    max_tokens: ResumeTokens = MAX_RESUME_TOKENS,
) -> ResumedWork:
    """Resume interrupted work after compaction or crash: task, corrections, open errors of the previous session. Call
    it to continue where an agent left off."""
    head = await _choose_head(call, agent, branch, item)
    resume = await tell_journal(call, head, max_tokens) if head else {}
    return ResumedWork(resume=resume, message="" if resume else _NOTHING_LEFT)


async def _choose_head(
    call: Call, agent: str | None, branch: str | None, item: str | None
) -> JournalHead | None:
    """What was asked for by name is told also if it was finished."""
    if agent or branch or item:
        heads = await store.list_latest_heads(call.tx, call.project, 0, agent or "")
        sessions = await store.list_sessions_of_item(call.tx, call.project, item) if item else ()
        return next(
            (
                head
                for head in heads
                if (not branch or head.branch == branch) and (not item or head.session in sessions)
            ),
            None,
        )
    session = call.session
    if session is None:
        heads = await store.list_latest_heads(call.tx, call.project, call.now - store.RESUMABLE_MICROSECONDS)
        return next((head for head in heads if head.state != "finished"), None)
    own = [
        head for head in await store.list_heads_of_session(call.tx, session.project, session.id) if head.task
    ]
    if own:
        return own[0]
    return await find_left_journal(
        call, session.project, session.agent, session.working_directory, session.id
    )
