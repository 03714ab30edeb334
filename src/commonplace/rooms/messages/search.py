"""Messages as a source of the search index: a broadcast is found by everyone in the project, other mail by its sender and
its recipients alone. Admins can open the mail of others by id, but a search does not show it."""

from collections.abc import Sequence

from commonplace.rooms.messages import model, store
from commonplace.search.index import MESSAGE_KIND, IndexEntry
from commonplace.search.refresh import entry_from_item
from commonplace.search.source import SearchItem, SearchSource, reader_name
from commonplace.store.database import Row, Tx


async def load_searched_messages(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    rows = [row for row in await store.load_messages(tx, project, ids) if row["body"]]
    private = [row["id"] for row in rows if row["addressed_to"] != model.ALL_AGENTS]
    deliveries = await store.list_deliveries_of_messages(tx, project, private)
    return [
        _build_search_item(row, [delivery for delivery in deliveries if delivery["message"] == row["id"]])
        for row in rows
    ]


def _build_search_item(row: Row, deliveries: Sequence[Row]) -> SearchItem:
    is_public = row["addressed_to"] == model.ALL_AGENTS
    earliest = min((delivery["state"] for delivery in deliveries), default=0)
    return SearchItem(
        id=row["id"],
        title=model.message_title(row),
        text=row["body"],
        type="message",
        status="sent" if is_public else model.MESSAGE_STATUSES[earliest],
        author=row["sender"],
        tags=(row["category"], row["priority"]),
        created_at=row["created_at"],
        updated_at=row["created_at"],
        changed_at=row["created_at"],
        readers=() if is_public else list_readers(row, deliveries),
        details={"to": row["addressed_to"]},
    )


def build_new_entry(row: Row, agents: Sequence[str]) -> IndexEntry:
    """The index entry of a message that nobody has read yet."""
    deliveries = [{"message": row["id"], "agent": agent, "state": 0} for agent in agents]
    return entry_from_item(MESSAGE_KIND, row["project"], _build_search_item(row, deliveries))


def list_readers(row: Row, deliveries: Sequence[Row]) -> tuple[str, ...]:
    readers = [reader_name(row["sender_project"], row["sender"])]
    readers += [reader_name(row["project"], delivery["agent"]) for delivery in deliveries]
    return tuple(dict.fromkeys(readers))


SEARCH_SOURCE = SearchSource(
    kind=MESSAGE_KIND, load=load_searched_messages, table="message", names=("mail",), bonus=-0.75
)
