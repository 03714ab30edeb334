"""The versions of documents in the store: every change of content or status is one."""

from collections.abc import Mapping, Sequence

from commonplace.store.database import Row, Tx, Value

MAX_LISTED_VERSIONS = 100


async def insert_document_version(
    tx: Tx, row: Mapping[str, Value], author: str, what: str, reason: str, content: str
) -> None:
    await tx.run(
        "insert into document_version (project, document, version, at, author, what, status, title, content, reason)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        row["project"],
        row["id"],
        row["version"],
        row["updated_at"],
        author,
        what,
        row["status"],
        row["title"],
        content,
        reason,
    )


async def list_document_versions(tx: Tx, project: str, identity: str, until: int) -> Sequence[Row]:
    """This one and those before it, newest first, without their texts."""
    return await tx.all(
        "select version, at, author, what, status, title, reason from document_version"
        " where project = $1 and document = $2 and version <= $3 order by version desc limit $4",
        project,
        identity,
        until,
        MAX_LISTED_VERSIONS,
    )


async def find_version_text(tx: Tx, project: str, identity: str, number: int) -> Row | None:
    """The title and the content that a version had: those of the last change of content until then."""
    return await tx.one(
        "select title, content from document_version where project = $1 and document = $2 and version <= $3"
        " and what <> 'status' order by version desc limit 1",
        project,
        identity,
        number,
    )
