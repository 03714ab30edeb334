"""Public messages as a source of the search index."""

from collections.abc import Sequence

from commonplace.rooms.blackboard import store
from commonplace.search import index
from commonplace.search.source import SearchSource
from commonplace.store.database import Row, Tx

_TITLE_CHARACTERS = 200


async def index_message(tx: Tx, draft: store.BlackboardDraft) -> None:
    """Index the message if everyone who sees the project may read it."""
    if draft.audience:
        return
    purpose = await store.load_purpose(tx, draft.project, draft.session)
    entry = index.IndexEntry(
        draft.project,
        index.BLACKBOARD_KIND,
        f"{draft.session}/{draft.id}",
        draft.message_type,
        purpose[:_TITLE_CHARACTERS],
        draft.content,
        draft.at,
    )
    await index.put_entries(tx, [entry])


async def load_indexed_messages(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    id_pairs = [identity.partition("/")[::2] for identity in ids]
    return await store.list_public_texts(
        tx, project, [pair[0] for pair in id_pairs], [pair[1] for pair in id_pairs]
    )


SEARCH_SOURCE = SearchSource(index.BLACKBOARD_KIND, load_indexed_messages)
