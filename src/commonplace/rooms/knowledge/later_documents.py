"""Which documents a later one contradicts or replaces. Written with the later document, read with every result.

A link counts while the later document is active. Writing a document anew makes it the latest: its own links go.
"""

from collections.abc import Sequence

from commonplace.store.database import Tx


async def record_contradicted_documents(
    tx: Tx, project: str, later: str, documents: Sequence[str], now: int
) -> None:
    await tx.queue("delete from document_link where project = $1 and document = $2", project, later)
    await tx.many(
        "insert into document_link (project, document, later, at) values ($1, $2, $3, $4)"
        " on conflict (project, document, later) do update set at = excluded.at",
        [(project, document, later, now) for document in documents],
    )


async def find_later_documents(tx: Tx, project: str, documents: Sequence[str]) -> dict[str, str]:
    """The id of the newest active document that contradicts each of these, or of the one that replaced it."""
    rows = await tx.all(
        "select link.document, link.later, link.at from document_link as link join document as successor"
        " on successor.project = $1 and successor.id = link.later and successor.status = 'active'"
        " where link.project = $1 and link.document = any($2)"
        " union all select id, superseded_by, updated_at from document"
        " where project = $1 and id = any($2) and status = 'superseded' and superseded_by <> ''"
        " order by 3, 2",
        project,
        list(documents),
    )
    return {row["document"]: row["later"] for row in rows}
