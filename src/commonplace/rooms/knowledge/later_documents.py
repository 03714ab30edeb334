"""Which documents a later one contradicts or replaces. Written with the later document, read with every result.

A link counts while the later document is active. Writing a document anew makes it the latest: its own links go,
except to documents that say that they refine it and to those that it names without saying that it refines them.
"""

from collections.abc import Mapping, Sequence

from commonplace.rooms.knowledge.refining_words import says_refines
from commonplace.store.database import Row, Tx

_MAX_CHAIN = 10


def list_refined_documents(draft_type: str, content: str, mentioned: Sequence[Row]) -> list[str]:
    """Those of the mentioned documents of the same type that the text says it continues, changes or replaces."""
    return [row["id"] for row in mentioned if row["type"] == draft_type and says_refines(content, row["id"])]


async def list_kept_later_documents(tx: Tx, project: str, document: str, content: str) -> list[str]:
    """The documents that stay later than this one when it is written anew with this text."""
    linked = await tx.all(
        "select link.later as id, successor.content from document_link as link join document as successor"
        " on successor.project = $1 and successor.id = link.later"
        " where link.project = $1 and link.document = $2 order by link.later",
        project,
        document,
    )
    return [
        row["id"]
        for row in linked
        if says_refines(row["content"], document)
        or (row["id"] in content and not says_refines(content, row["id"]))
    ]


async def list_all_later_documents(tx: Tx, project: str, documents: Sequence[str]) -> set[str]:
    """These and all that are later than one of them: to make one of them the earlier one would be a circle."""
    found, further = set(documents), set(documents)
    while further:
        rows = await tx.all(
            "select later from document_link where project = $1 and document = any($2)",
            project,
            sorted(further),
        )
        further = {row["later"] for row in rows} - found
        found |= further
    return found


async def delete_earlier_links(tx: Tx, project: str, document: str, kept: Sequence[str]) -> None:
    """Forget what is later than a document that was changed, but for those that are `kept`."""
    await tx.queue(
        "delete from document_link where project = $1 and document = $2 and not (later = any($3))",
        project,
        document,
        list(kept),
    )


async def record_contradicted_documents(
    tx: Tx, project: str, later: str, documents: Sequence[str], now: int
) -> None:
    """Make `later` the later one of the documents."""
    await tx.many(
        "insert into document_link (project, document, later, at) values ($1, $2, $3, $4)"
        " on conflict (project, document, later) do update set at = excluded.at",
        [(project, document, later, now) for document in documents],
    )


async def find_later_documents(tx: Tx, project: str, documents: Sequence[str]) -> dict[str, str]:
    """The id of the document that holds now instead of each of these: the end of what contradicts or replaced it."""
    later = await _find_next_documents(tx, project, documents)
    asked = set(documents)
    for _ in range(_MAX_CHAIN):
        further = set(later.values()) - asked
        if not further:
            break
        later |= await _find_next_documents(tx, project, list(further))
        asked |= further
    return {document: _follow_chain(later, document) for document in documents if document in later}


def _follow_chain(later: Mapping[str, str], document: str) -> str:
    """The last document of the chain; in a circle the next one."""
    passed = [document]
    while (following := later.get(passed[-1])) is not None:
        if following in passed:
            return later[document]
        passed.append(following)
    return passed[-1]


async def _find_next_documents(tx: Tx, project: str, documents: Sequence[str]) -> dict[str, str]:
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
