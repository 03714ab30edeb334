"""SQL that finds a message of any blackboard of a project by its id alone."""

from collections.abc import Sequence

from commonplace.rooms.blackboard.model import message_id_range
from commonplace.store.database import Row, Tx


async def find_messages_by_id(
    tx: Tx, project: str, id_prefix: str, audiences: Sequence[str]
) -> Sequence[Row]:
    """The messages for these audiences whose id begins so; two are enough to know that it is not unique."""
    first, last = message_id_range(id_prefix)
    rows = await tx.all(
        "select message.session, message.id, message.sequence, message.audience, message.sender,"
        " message.message_type, message.content, message.at, blackboard.purpose from context_message as message"
        " join context_session as blackboard on blackboard.project = message.project"
        "  and blackboard.id = message.session"
        " where message.project = $1 and message.id >= $2 and message.id <= $3 and message.audience = any($4)"
        " order by message.id limit 2",
        project,
        first,
        last,
        list(audiences),
    )
    return [row for row in rows if row["id"].startswith(id_prefix)]
