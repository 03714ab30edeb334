"""List documents as a person browses them, with counts for the filters, and those that need a look."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

import msgspec
from pydantic import Field

from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import Reply, operation
from commonplace.rooms.knowledge import model
from commonplace.store.database import Row, Tx

DocumentLimit = Annotated[int, Field(ge=1, le=200)]
DocumentCursor = Annotated[str, Field(max_length=100, pattern=r"^\d{1,17}-\w{1,64}$")]
FACET_DOCUMENTS = 5000
"""Filters count the newest documents up to this many, so that a page costs the same in a large project."""
_MAX_FACET_VALUES = 30
_HAS_CHANGED_CODE = "citation.project = $1 and citation.state in ('drifted', 'gone')"
# Each part is found by a partial index that has the same condition.
_NEEDS_LOOK = (
    " and id in (select doubtful.id from document as doubtful where doubtful.project = $1"
    "  and doubtful.status in ('conflicted', 'review_pending')"
    " union select flagged.id from document as flagged where flagged.project = $1 and flagged.flags <> '[]'"
    f" union select citation.document from citation where {_HAS_CHANGED_CODE})"
)


class ListedDocument(Reply):
    id: str
    project: str
    title: str
    type: str
    status: str
    author: str
    created: str
    updated: str
    version: int
    tags: list[str] = []
    flags: list[str] = []
    opened: int = 0
    recalled: int = 0
    tokens: int = 0
    drifted: int = 0


class DocumentPage(Reply):
    count: int
    documents: list[ListedDocument]
    facets: dict[str, dict[str, int]] = {}
    next_cursor: str = ""


@operation("memory_list_documents", role="readonly", session="optional", example={"project": "shop"})
async def list_documents(
    call: Call,
    project: str,
    memory_type: model.RequestedType | None = None,
    status: model.DocumentStatus | None = None,
    tag: model.Tag | None = None,
    author: AgentName | None = None,
    needs_look: bool = False,
    limit: DocumentLimit = 50,
    cursor: DocumentCursor | None = None,
) -> DocumentPage:
    """List documents, newest first; `needs_look` only those that are disputed, suspicious or cite changed code."""
    del project
    before = _parse_cursor(cursor)
    filters = (memory_type, status, tag, author)
    rows = await find_documents(call.tx, call.project, before, filters, needs_look, limit + 1)
    page = rows[:limit]
    return DocumentPage(
        count=len(page),
        documents=[_build_document(row) for row in page],
        facets=await _count_facets(call.tx, call.project) if cursor is None else {},
        next_cursor=f"{page[-1]['created_at']}-{page[-1]['id']}" if len(rows) > limit else "",
    )


def _parse_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return 2**62, ""
    at, _, document = cursor.partition("-")
    return int(at), document


async def find_documents(
    tx: Tx,
    project: str,
    before: tuple[int, str],
    filters: tuple[str | None, str | None, str | None, str | None],
    needs_look: bool,
    limit: int,
) -> Sequence[Row]:
    return await tx.all(
        "select project, id, title, type, status, author, created_at, changed_at, version, tags, flags, opened, recalled,"
        f" length(content) as characters, (select count(*) from citation where {_HAS_CHANGED_CODE}"
        "  and citation.document = document.id) as drifted from document"
        " where project = $1 and (created_at, id) < ($2, $3)"
        " and (cast($4 as text) is null or type = $4) and (cast($5 as text) is null or status = $5)"
        " and (cast($6 as text) is null or exists (select 1 from document_tag where document_tag.project = $1"
        "  and document_tag.tag = $6 and document_tag.document = document.id))"
        f" and (cast($7 as text) is null or author = $7){_NEEDS_LOOK if needs_look else ''}"
        " order by created_at desc, id desc limit $8",
        project,
        *before,
        *filters,
        limit,
    )


async def _count_facets(tx: Tx, project: str) -> dict[str, dict[str, int]]:
    rows = await tx.all(
        "select type, status, author, tags from document where project = $1 order by created_at desc limit $2",
        project,
        FACET_DOCUMENTS,
    )
    counters = {
        name: Counter(row[name] for row in rows if row[name]) for name in ("type", "status", "author")
    }
    counters["tag"] = Counter(tag for row in rows for tag in msgspec.json.decode(row["tags"], type=list[str]))
    return {name: dict(counter.most_common(_MAX_FACET_VALUES)) for name, counter in counters.items()}


def _build_document(row: Row) -> ListedDocument:
    return ListedDocument(
        id=row["id"],
        project=row["project"],
        title=row["title"],
        type=row["type"],
        status=row["status"],
        author=row["author"],
        created=iso(row["created_at"]),
        updated=iso(row["changed_at"]),
        version=row["version"],
        tags=msgspec.json.decode(row["tags"], type=list[str]),
        flags=msgspec.json.decode(row["flags"], type=list[str]),
        opened=row["opened"],
        recalled=row["recalled"],
        tokens=-(-row["characters"] // 4),
        drifted=row["drifted"],
    )
