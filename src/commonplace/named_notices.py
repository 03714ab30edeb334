"""Notices that have an id, the name of what they tell of: more news of it is merged into them or takes their place, and
whoever reads the thing itself is not told of it any more. All other notices, and who is told: `activity.py`."""

from collections.abc import Collection, Mapping, Sequence

from commonplace.activity import AgentSession
from commonplace.notice import drop_entries, join_entries
from commonplace.store.database import Tx


async def merge_notices(
    tx: Tx, project: str, entry_by_session: Mapping[str, str], notice_id: str, now: int
) -> None:
    """Add its entry to the one notice of this id that each of these sessions has or gets."""
    if not entry_by_session:
        return
    rows = await tx.all(
        "select session, text from notice where project = $1 and session = any($2) and id = $3",
        project,
        list(entry_by_session),
        notice_id,
    )
    text_by_session = {row["session"]: row["text"] for row in rows}
    await tx.many(
        "update notice set text = $4 where project = $1 and session = $2 and id = $3",
        [
            (project, each, notice_id, join_entries(text, entry_by_session[each]))
            for each, text in text_by_session.items()
        ],
    )
    await tx.many(
        "insert into notice (project, session, at, id, text) values ($1, $2, $3, $4, $5)",
        [
            (project, each, now, notice_id, entry)
            for each, entry in entry_by_session.items()
            if each not in text_by_session
        ],
    )


async def replace_notices(
    tx: Tx, project: str, sessions: Sequence[str], notice_id: str, text: str, now: int
) -> None:
    """Store the one notice of this id for each of these sessions; it takes the place of one that was not read."""
    await tx.run(
        "delete from notice where project = $1 and session = any($2) and id = $3",
        project,
        list(sessions),
        notice_id,
    )
    await tx.many(
        "insert into notice (project, session, at, id, text) values ($1, $2, $3, $4, $5)",
        [(project, session, now, notice_id, text) for session in sessions],
    )


async def delete_notices_by_id(tx: Tx, session: AgentSession, notice_ids: Sequence[str]) -> None:
    """Drop the notices of these ids: their session reads what they tell of."""
    await tx.queue(
        "delete from notice where project = $1 and session = $2 and id = any($3)",
        session.project,
        session.id,
        list(notice_ids),
    )


async def delete_notices_by_prefix(tx: Tx, session: AgentSession, id_prefix: str) -> None:
    """Drop the notices whose ids begin like this: what they tell of is over."""
    await tx.queue(
        "delete from notice where project = $1 and session = $2 and substr(id, 1, $4) = $3",
        session.project,
        session.id,
        id_prefix,
        len(id_prefix),
    )


async def drop_notice_entries(tx: Tx, session: AgentSession, notice_id: str, names: Collection[str]) -> None:
    """Drop from the merged notice of this id what its session reads now."""
    row = await tx.one(
        "select text from notice where project = $1 and session = $2 and id = $3",
        *(session.project, session.id, notice_id),
    )
    if row is None or (text := drop_entries(row["text"], names)) == row["text"]:
        return
    if not text:
        await delete_notices_by_id(tx, session, [notice_id])
        return
    await tx.run(
        "update notice set text = $4 where project = $1 and session = $2 and id = $3",
        *(session.project, session.id, notice_id, text),
    )
