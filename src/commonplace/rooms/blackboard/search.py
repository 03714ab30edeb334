"""Public messages as a source of the search index."""

from collections.abc import Sequence
from typing import get_args

from commonplace.rooms.blackboard import store
from commonplace.rooms.blackboard.conclusions import CHAT_BONUS, CONCLUSION, load_conclusions
from commonplace.rooms.blackboard.model import BlackboardMessageType
from commonplace.search import index
from commonplace.search.source import SearchItem, SearchSource
from commonplace.shortening import shorten_text
from commonplace.store.database import Tx

_TITLE_CHARACTERS = 200


async def index_message(tx: Tx, draft: store.BlackboardDraft) -> None:
    """Index a new message if everyone who sees the project may read it."""
    if draft.audience:
        return
    purpose = await store.load_purpose(tx, draft.project, draft.session)
    entry = index.IndexEntry(
        draft.project,
        index.BLACKBOARD_KIND,
        f"{draft.session}/{draft.id}",
        draft.message_type,
        shorten_text(purpose, _TITLE_CHARACTERS),
        draft.content,
        draft.at,
    )
    await index.put_new_entries(tx, [entry])


async def load_searched_messages(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    id_pairs = [identity.partition("/")[::2] for identity in ids]
    conclusions = await load_conclusions(
        tx, project, [session for session, message in id_pairs if message == CONCLUSION]
    )
    rows = await store.list_public_texts(
        tx, project, [pair[0] for pair in id_pairs], [pair[1] for pair in id_pairs]
    )
    return conclusions + [
        SearchItem(
            id=f"{row['session']}/{row['id']}",
            title=shorten_text(row["purpose"], _TITLE_CHARACTERS),
            text=row["content"],
            type=row["message_type"],
            author=row["sender"],
            created_at=row["at"],
            updated_at=row["at"],
            changed_at=row["at"],
        )
        for row in rows
    ]


SEARCH_SOURCE = SearchSource(
    kind=index.BLACKBOARD_KIND,
    load=load_searched_messages,
    types=(*get_args(BlackboardMessageType), CONCLUSION),
    bonus=CHAT_BONUS,
    goes_stale=True,
    is_shared_with_all=False,
)
