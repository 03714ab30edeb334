"""Which sessions follow a blackboard: who opened it, posted to it or read it is told of the next public posts, once.

Only reading moves the place up to which a session has read: neither a notice nor a post of its own does, so that posts
that cross are never lost. `notices.py` keeps one notice for each session and blackboard, however many posts
there are.
"""

from collections.abc import Sequence

from commonplace.call import Call
from commonplace.identity.liveness import list_live_sessions
from commonplace.identity.session import AgentSession
from commonplace.notices import Notice, drop_notices, merge_notices, notify_sessions
from commonplace.rooms.blackboard.model import UnreadPost
from commonplace.rooms.blackboard.store import BlackboardDraft
from commonplace.shortening import ELLIPSIS, shorten_line, shorten_text
from commonplace.store.database import Row, Tx

_MAX_FOLLOWERS = 200
_MAX_UNREAD = 3
_MAX_EXCERPT_CHARACTERS = 200
_MAX_SUMMARY_CHARACTERS = 200


async def follow_blackboard(
    call: Call, project: str, blackboard: str, sequence: int, *, after: int = 0, is_newest: bool = True
) -> None:
    """Note that the session of the call has read the messages after `after` up to this one.

    Who has not read what comes before `after` has not read up to this one, and is told of it with the next post.
    """
    session = call.session
    if session is None:
        return
    row = await call.tx.one(
        "select sequence from context_reader where project = $1 and blackboard = $2 and session_project = $3"
        " and session = $4",
        *(project, blackboard, session.project, session.id),
    )
    read = row["sequence"] if row else 0
    has_read_all = read >= after and is_newest
    if row and read >= sequence and not (has_read_all and session.has_notice):
        return
    now, reached = call.now, sequence if read >= after else read

    async def note(tx: Tx) -> None:
        await _upsert_follower(tx, session, project, blackboard, reached, now)
        if has_read_all:
            await drop_notices(tx, session.project, "post", sessions=[session.id], subjects=[blackboard])

    if call.writes:
        await note(call.tx)
    else:
        call.deferred_writes.append(note)


async def announce_post(call: Call, draft: BlackboardDraft, sequence: int) -> list[UnreadPost]:
    """Leave a notice for the live sessions that follow the blackboard; for nobody if not everyone may read the post.

    Return the first posts of others that the session of the call has not read.
    """
    unread = await _follow_by_post(call, draft, sequence)
    if draft.audience:
        return unread
    for project, followers in (await _list_live_followers(call, draft.project, draft.session)).items():
        post = {"blackboard": draft.session, "sender": draft.sender, "sequence": sequence}
        notices = {
            session: Notice("post", {**post, "read": read}, draft.session)
            for session, read in followers.items()
        }
        await merge_notices(call.tx, project, notices, call.now)
    return unread


async def _follow_by_post(call: Call, draft: BlackboardDraft, sequence: int) -> list[UnreadPost]:
    session = call.session
    if session is None:
        return []
    rows = await call.tx.all(
        "select sequence, sender, substr(content, 1, $7) as excerpt from context_message"
        " where project = $1 and session = $2 and audience = '' and sender <> $3 and sequence < $4"
        " and sequence > coalesce((select sequence from context_reader where project = $1 and blackboard = $2"
        "  and session_project = $5 and session = $6), 0) order by sequence limit $8",
        *(draft.project, draft.session, draft.sender, sequence, session.project, session.id),
        *(_MAX_EXCERPT_CHARACTERS + 1, _MAX_UNREAD),
    )
    unread = _shorten_posts(rows)
    reached = sequence if shows_all(unread) else 0
    await _upsert_follower(call.tx, session, draft.project, draft.session, reached, call.now)
    if rows and session.has_notice:
        await drop_notices(call.tx, session.project, "post", sessions=[session.id], subjects=[draft.session])
    return unread


def _shorten_posts(rows: Sequence[Row]) -> list[UnreadPost]:
    return [
        UnreadPost(row["sequence"], row["sender"], shorten_text(row["excerpt"], _MAX_EXCERPT_CHARACTERS))
        for row in rows
    ]


def shows_all(unread: Sequence[UnreadPost]) -> bool:
    """Are these all unread posts, each of them whole?"""
    return len(unread) < _MAX_UNREAD and not any(post.excerpt.endswith(ELLIPSIS) for post in unread)


async def announce_closing(call: Call, project: str, blackboard: str, summary: str) -> None:
    conclusion = f": {shorten_line(summary, _MAX_SUMMARY_CHARACTERS)}" if summary else "."
    text = f"{call.agent} closed blackboard {blackboard}{conclusion}"
    for of_project, followers in (await _list_live_followers(call, project, blackboard)).items():
        await notify_sessions(call.tx, of_project, list(followers), text, call.now)


async def _list_live_followers(call: Call, project: str, blackboard: str) -> dict[str, dict[str, int]]:
    """The live sessions that follow a blackboard and what each has read, by project, without that of the call."""
    rows = await call.tx.all(
        "select session_project, session, sequence from context_reader where project = $1 and blackboard = $2"
        " order by at desc, session limit $3",
        *(project, blackboard, _MAX_FOLLOWERS),
    )
    own = call.session.id if call.session else ""
    read = {row["session"]: row["sequence"] for row in rows}
    return {
        project: {
            each["id"]: read[each["id"]]
            for each in await list_live_sessions(call.tx, project, call.now, but=own)
            if each["id"] in read
        }
        for project in sorted({row["session_project"] for row in rows})
    }


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
