"""Public messages as a source of the search index."""

from collections.abc import Sequence

from commonplace.rooms.blackboard import store
from commonplace.search import index
from commonplace.search.source import Source
from commonplace.store.database import Row, Tx

_TITLE = 200


async def index_message(tx: Tx, draft: store.Draft) -> None:
    """Only what everyone who sees the project may read."""
    if draft.audience:
        return
    purpose = await store.purpose(tx, draft.project, draft.session)
    entry = index.Entry(
        draft.project,
        index.BY_WORDS,
        f"{draft.session}/{draft.id}",
        draft.message_type,
        purpose[:_TITLE],
        draft.content,
        draft.at,
    )
    await index.put(tx, [entry])


async def load_indexed_messages(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    places = [identity.partition("/")[::2] for identity in ids]
    return await store.public_texts(
        tx, project, [place[0] for place in places], [place[1] for place in places]
    )


SEARCH_SOURCE = Source(index.BY_WORDS, load_indexed_messages)
