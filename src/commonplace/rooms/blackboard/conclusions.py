"""How a blackboard ended, as an entry of the search index beside those of its messages (`search.py`)."""

from collections.abc import Sequence

from commonplace.search import index
from commonplace.search.source import SearchItem
from commonplace.shortening import shorten_text
from commonplace.store.database import Row, Tx

CONCLUSION = "conclusion"
CHAT_BONUS = -0.5
"""What was said in a discussion counts less than what was written down; its conclusion does not."""
_TITLE_CHARACTERS = 200


async def index_conclusion(tx: Tx, session: Row, summary: str, now: int) -> None:
    entry = index.IndexEntry(
        session["project"],
        index.BLACKBOARD_KIND,
        f"{session['id']}/{CONCLUSION}",
        CONCLUSION,
        shorten_text(session["purpose"], _TITLE_CHARACTERS),
        summary,
        now,
    )
    await index.put_entries(tx, [entry])


async def load_conclusions(tx: Tx, project: str, sessions: Sequence[str]) -> list[SearchItem]:
    if not sessions:
        return []
    rows = await tx.all(
        "select id, purpose, summary, closed_by, closed_at from context_session"
        " where project = $1 and id = any($2) and summary <> '' and closed_at is not null",
        project,
        list(sessions),
    )
    return [
        SearchItem(
            id=f"{row['id']}/{CONCLUSION}",
            title=shorten_text(row["purpose"], _TITLE_CHARACTERS),
            text=row["summary"],
            type=CONCLUSION,
            author=row["closed_by"],
            created_at=row["closed_at"],
            updated_at=row["closed_at"],
            changed_at=row["closed_at"],
            bonus=-CHAT_BONUS,
        )
        for row in rows
    ]
