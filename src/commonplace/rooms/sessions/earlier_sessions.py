"""What a session that starts takes over from earlier ones of its agent: from those that ended, what their agent has not
read; from one that is dormant (`dormant_sessions.py`), its notices, claims and waits for locks, too. Its locks are taken
on demand."""

from dataclasses import replace

from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.identity.liveness import list_superseded_sessions
from commonplace.notices import move_notices
from commonplace.rooms.backlog.store import move_claims
from commonplace.rooms.locks.waiters import move_waiters
from commonplace.rooms.sessions import store
from commonplace.rooms.sessions.followed_boards import continue_following
from commonplace.rooms.work.store import move_open_work


async def continue_earlier_sessions(call: Call, start: StartingSession) -> StartingSession:
    """Return the start with the dormant sessions that it continues; a sub-agent continues none."""
    session = call.own_session
    if start.previous_start is None or not call.caller.has_role("agent"):
        return start
    superseded = await list_superseded_sessions(call.tx, session, call.now)
    earlier = [each for each in superseded if each.is_dormant(call.now)]
    ids = [each.session.id for each in earlier]
    await continue_following(call.tx, session, call.now, ids)
    if ended := await store.list_ended_sessions(call.tx, session):
        await move_notices(call.tx, session, ended, only=["answer"])
    if ids:
        await move_notices(
            call.tx, session, ids, but=["mail", "post", "namesake"]
        )  # the boot pack shows these
        await move_claims(call.tx, session, ids)
        await move_open_work(call.tx, session, ids)
        await move_waiters(call.tx, session, ids)
    return replace(start, earlier_sessions=earlier)
