"""SQL of threads as a person reads them. Every statement reads a bounded number of messages."""

from collections.abc import Sequence

from commonplace.store.database import Row, Tx

WINDOW_MESSAGES = 500
"""One page of threads is grouped out of this many messages, so that its cost does not grow with the mail."""
_MAX_THREAD_MESSAGES = 500
_COLUMNS = (
    "message.project, message.id, message.thread, message.sender, message.addressed_to, message.subject, message.body,"
    " message.priority, message.category, message.require_human, message.reply_to, message.created_at"
)
_IS_VISIBLE = (
    " and ($3 = 1 or message.sender = $2 or exists (select 1 from delivery where delivery.project = $1"
    "  and delivery.message = message.id and delivery.agent = $2))"
)


async def list_latest_messages(
    tx: Tx, project: str, reader: str, reads_all: bool, agent: str | None, before: tuple[int, str]
) -> Sequence[Row]:
    """Messages before a position, newest first, with the state of the reader's own delivery."""
    return await tx.all(
        f"select {_COLUMNS}, (select delivery.state from delivery where delivery.project = $1"
        "  and delivery.message = message.id and delivery.agent = $2) as own_state from message"
        f" where message.project = $1 and (message.created_at, message.id) < ($5, $6){_IS_VISIBLE}"
        " and (cast($4 as text) is null or message.sender = $4 or exists (select 1 from delivery"
        "  where delivery.project = $1 and delivery.message = message.id and delivery.agent = $4))"
        " order by message.created_at desc, message.id desc limit $7",
        project,
        reader,
        int(reads_all),
        agent,
        *before,
        WINDOW_MESSAGES,
    )


async def list_messages_of_thread(
    tx: Tx, project: str, thread: str, reader: str, reads_all: bool
) -> Sequence[Row]:
    return await tx.all(
        f"select {_COLUMNS} from message where message.project = $1 and message.thread = $4{_IS_VISIBLE}"
        " order by message.created_at, message.id limit $5",
        project,
        reader,
        int(reads_all),
        thread,
        _MAX_THREAD_MESSAGES,
    )


async def list_receipts(tx: Tx, project: str, messages: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        "select message, agent, state, note, changed_at from delivery where project = $1 and message = any($2)"
        " order by message, agent",
        project,
        list(messages),
    )
