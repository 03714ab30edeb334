"""SQL of documents whose time is over."""

from collections.abc import Sequence

from commonplace.rooms.knowledge import store
from commonplace.store.database import Tx

_EXPIRED = "status = 'active' and expires_at <= $2"


async def mark_expired_documents(tx: Tx, project: str, now: int, limit: int) -> int:
    """Set the status of documents past their time; queries leave them out already."""
    rows = await tx.all(
        f"select {store.DOCUMENT_COLUMNS} from document where project = $1 and {_EXPIRED} limit $3",
        project,
        now,
        limit,
    )
    await store.update_document_statuses(
        tx, rows, ["expired"] * len(rows), "commonplace", "its time is over", now
    )
    return len(rows)


async def list_some_projects_with_expired_documents(
    tx: Tx, projects: Sequence[str], now: int, limit: int
) -> set[str]:
    rows = await tx.all(
        f"select project from document where project = any($1) and {_EXPIRED} limit $3", projects, now, limit
    )
    return {row["project"] for row in rows}


async def count_expired_documents(tx: Tx, project: str, now: int) -> int:
    row = await tx.one(f"select count(*) as n from document where project = $1 and {_EXPIRED}", project, now)
    return int(row["n"]) if row else 0
