"""Which sessions follow a blackboard: who opened it, posted to it or read it is told of the next public posts, once.

A session is told of what comes after the last message that it has seen. `activity.merge_notices` keeps one notice for
each session and blackboard, however many posts there are.
"""

from collections.abc import Sequence

from commonplace import activity
from commonplace.activity import SESSION_LIVE_MICROSECONDS, AgentSession
from commonplace.call import Call
from commonplace.notice import POST_PREFIX, post_entry
from commonplace.retention import delete_from_table
from commonplace.rooms.blackboard.store import BlackboardDraft
from commonplace.store.database import Row, Tx

_MAX_FOLLOWERS = 200

OLD_READERS = delete_from_table(
    "context_reader",
    kind="blackboard_readers",
    key=("blackboard", "session_project", "session"),
    setting="session_days",
)


async def follow_blackboard(call: Call, project: str, blackboard: str, sequence: int) -> None:
    """Note that the session of the call has seen the messages up to this one, and need not be told of them."""
    session = call.session
    if session is None:
        return
    seen = await call.tx.one(
        "select sequence from context_reader where project = $1 and blackboard = $2 and session_project = $3"
        " and session = $4",
        *(project, blackboard, session.project, session.id),
    )
    if seen and seen["sequence"] >= sequence and not session.has_notice:
        return
    now = call.now

    async def note(tx: Tx) -> None:
        await _upsert_follower(tx, session, project, blackboard, sequence, now)
        await activity.delete_merged_notice(tx, session, f"{POST_PREFIX}{blackboard}")

    if call.writes:
        await note(call.tx)
    else:
        call.deferred_writes.append(note)


async def announce_post(call: Call, draft: BlackboardDraft, sequence: int) -> None:
    """Leave a notice for the live sessions that follow the blackboard; for nobody if not everyone may read the post."""
    await follow_blackboard(call, draft.project, draft.session, sequence)
    if draft.audience:
        return
    entry = post_entry(draft.sender, sequence)
    notice = f"{POST_PREFIX}{draft.session}"
    for project, sessions in (await _list_live_followers(call, draft.project, draft.session)).items():
        await activity.merge_notices(call.tx, project, sessions, notice, entry, call.now)


async def announce_closing(call: Call, project: str, blackboard: str, summary: str) -> None:
    conclusion = f": {summary[:200]}" if summary else "."
    text = f"{call.agent} closed blackboard {blackboard}{conclusion}"
    for of_project, sessions in (await _list_live_followers(call, project, blackboard)).items():
        await activity.notify_sessions(call.tx, of_project, sessions, text, call.now)


async def _list_live_followers(call: Call, project: str, blackboard: str) -> dict[str, list[str]]:
    """The live sessions that follow a blackboard, by their project, without that of the call."""
    rows = await call.tx.all(
        "select session_project, session from context_reader where project = $1 and blackboard = $2"
        " order by at desc, session limit $3",
        *(project, blackboard, _MAX_FOLLOWERS),
    )
    own = call.session.id if call.session else ""
    live: dict[str, list[str]] = {}
    for of_project in sorted({row["session_project"] for row in rows}):
        sessions = [row["session"] for row in rows if row["session_project"] == of_project]
        live[of_project] = await _keep_live(call, of_project, [each for each in sessions if each != own])
    return live


async def _keep_live(call: Call, project: str, sessions: Sequence[str]) -> list[str]:
    if not sessions:
        return []
    rows: Sequence[Row] = await call.tx.all(
        "select id from session where project = $1 and id = any($2) and ended_at is null and active_at > $3",
        project,
        list(sessions),
        call.now - SESSION_LIVE_MICROSECONDS,
    )
    return [row["id"] for row in rows]


async def _upsert_follower(
    tx: Tx, session: AgentSession, project: str, blackboard: str, sequence: int, now: int
) -> None:
    await tx.run(
        "insert into context_reader (project, blackboard, session_project, session, sequence, at)"
        " values ($1, $2, $3, $4, $5, $6) on conflict (project, blackboard, session_project, session)"
        " do update set sequence = case when context_reader.sequence > excluded.sequence"
        " then context_reader.sequence else excluded.sequence end, at = excluded.at",
        *(project, blackboard, session.project, session.id, sequence, now),
    )
