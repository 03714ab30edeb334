"""The table of document versions: every change of content or status is one."""

from collections.abc import Sequence

from commonplace.store.database import Row, Tx

MAX_LISTED_VERSIONS = 100


async def list_document_versions(tx: Tx, project: str, identity: str, until: int) -> Sequence[Row]:
    """The versions up to `until`, newest first, without their texts."""
    return await tx.all(
        "select version, at, author, what, status, title, reason from document_version"
        " where project = $1 and document = $2 and version <= $3 order by version desc limit $4",
        project,
        identity,
        until,
        MAX_LISTED_VERSIONS,
    )


async def find_version_text(tx: Tx, project: str, identity: str, number: int) -> Row | None:
    """The title and content at a version: those of the last change of content up to it."""
    return await tx.one(
        "select title, content from document_version where project = $1 and document = $2 and version <= $3"
        " and what <> 'status' order by version desc limit 1",
        project,
        identity,
        number,
    )
