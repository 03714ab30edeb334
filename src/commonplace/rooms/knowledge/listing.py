"""List documents as a person browses them, with counts for the filters, and those that need a look."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from pydantic import Field

from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.clock import DAY, iso
from commonplace.operation import Reply, operation
from commonplace.rooms.knowledge import model
from commonplace.store.database import Row, Tx

DocumentLimit = Annotated[int, Field(ge=1, le=200)]
DocumentCursor = Annotated[
    str,
    Field(
        max_length=100,
        pattern=r"^\d{1,17}-\w{1,64}$",
        description="Where to go on: `next_cursor` of the previous reply.",
    ),
]
FACET_DOCUMENTS = 5000
"""Filters count the newest documents up to this many, so that a page costs the same in a large project."""
_MAX_FACET_VALUES = 30
_LATEST = 2**62
_HAS_CHANGED_CODE = "citation.project = $1 and citation.state in ('drifted', 'gone')"
# Each part is found by a partial index that has the same condition. They are few, so they are read first: SQLite reads the
# left side of a cross join first, but would look for them among all documents if they were a condition.
_SUSPECTS = (
    "(select doubtful.project, doubtful.id as document from document as doubtful where doubtful.project = $1"
    "  and doubtful.status in ('conflicted', 'review_pending')"
    " union select flagged.project, flagged.id from document as flagged where flagged.project = $1"
    "  and flagged.flags <> '[]'"
    f" union select citation.project, citation.document from citation where {_HAS_CHANGED_CODE}) as suspect"
)
_IS_SUSPECT = " and document.project = suspect.project and document.id = suspect.document"


DocumentTrust = Literal["suspicious", "imported", "ordinary"]
CodeFreshness = Literal["changed", "cited", "uncited"]
DocumentUse = Literal["never", "used"]
DocumentAge = Literal["week", "month", "quarter", "older"]
IMPORTER = "importer"
_IS_CITING = "exists (select 1 from citation where citation.project = $1 and citation.document = document.id)"
_CITES_CHANGED_CODE = (
    f"exists (select 1 from citation where {_HAS_CHANGED_CODE} and citation.document = document.id)"
)
# How each document is classed, for the filters and for their counts.
_CLASSES = {
    "trust": f"case when flags <> '[]' then 'suspicious' when author = '{IMPORTER}' then 'imported' else 'ordinary' end",
    "freshness": f"case when {_CITES_CHANGED_CODE} then 'changed' when {_IS_CITING} then 'cited' else 'uncited' end",
    "use": "case when opened + recalled > 0 then 'used' else 'never' end",
}
_AGES_DAYS = {"week": (0, 7), "month": (7, 30), "quarter": (30, 90), "older": (90, 36_500)}
_AGE = "case when created_at > $3 then 'week' when created_at > $4 then 'month' when created_at > $5 then 'quarter' else 'older' end"


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
    status: Annotated[
        model.DocumentStatus | None,
        Field(description="The status that it gets, or only those with this status."),
    ] = None,
    tag: Annotated[model.Tag | None, Field(description="Only what has this tag.")] = None,
    author: AgentName | None = None,
    trust: Annotated[
        DocumentTrust | None,
        Field(
            description="suspicious: reads like instructions or has hidden characters; imported: from a file or another server."
        ),
    ] = None,
    freshness: Annotated[
        CodeFreshness | None, Field(description="Whether it cites code, and whether that has changed.")
    ] = None,
    use: Annotated[
        DocumentUse | None, Field(description="Whether anybody has opened or recalled it.")
    ] = None,
    age: Annotated[
        DocumentAge | None, Field(description="Since it was stored: up to 7, 30 or 90 days, or older.")
    ] = None,
    needs_look: Annotated[
        bool, Field(description="Only documents that are disputed, suspicious or cite code that changed.")
    ] = False,
    facets: Annotated[
        bool, Field(description="Whether to count the newest documents by each filter.")
    ] = True,
    limit: DocumentLimit = 50,
    cursor: DocumentCursor | None = None,
) -> DocumentPage:
    """List documents, newest first; `needs_look` only those that are disputed, suspicious or cite changed code."""
    del project
    before = _parse_cursor(cursor)
    filters = (memory_type, status, tag, author)
    classes = {"trust": trust, "freshness": freshness, "use": use}
    conditions = "".join(f" and {_CLASSES[name]} = '{chosen}'" for name, chosen in classes.items() if chosen)
    created = _list_bounds(age, call.now)
    rows = await find_documents(
        call.tx, call.project, before, filters, limit + 1, conditions, created, needs_look=needs_look
    )
    page = rows[:limit]
    return DocumentPage(
        count=len(page),
        documents=[_build_document(row) for row in page],
        facets=await _count_facets(call, needs_look=needs_look) if facets and cursor is None else {},
        next_cursor=f"{page[-1]['created_at']}-{page[-1]['id']}" if len(rows) > limit else "",
    )


def _parse_cursor(cursor: str | None) -> tuple[int, str]:
    if cursor is None:
        return _LATEST, ""
    at, _, document = cursor.partition("-")
    return int(at), document


def _list_bounds(age: str | None, now: int) -> tuple[int, int]:
    """After which time, and until when, documents of this age were created."""
    youngest, oldest = _AGES_DAYS[age] if age else (0, 36_500)
    return now - oldest * DAY, now - youngest * DAY if youngest else _LATEST


async def find_documents(
    tx: Tx,
    project: str,
    before: tuple[int, str],
    filters: tuple[str | None, str | None, str | None, str | None],
    limit: int,
    conditions: str = "",
    created: tuple[int, int] = (-1, _LATEST),
    *,
    needs_look: bool = False,
) -> Sequence[Row]:
    """`conditions` is SQL of this module, `created` the times between which they were created."""
    source, is_listed = _select_source(needs_look=needs_look)
    return await tx.all(
        "select document.project, id, title, type, status, author, created_at, changed_at, version, tags, flags, opened,"
        f" recalled, length(content) as characters, (select count(*) from citation where {_HAS_CHANGED_CODE}"
        f"  and citation.document = document.id) as drifted from {source}"
        f" where document.project = $1{is_listed} and (created_at, id) < ($2, $3)"
        " and (cast($4 as text) is null or type = $4) and (cast($5 as text) is null or status = $5)"
        " and (cast($6 as text) is null or exists (select 1 from document_tag where document_tag.project = $1"
        "  and document_tag.tag = $6 and document_tag.document = document.id))"
        f" and (cast($7 as text) is null or author = $7){conditions}"
        " and created_at > $9 and created_at <= $10 order by created_at desc, id desc limit $8",
        project,
        *before,
        *filters,
        limit,
        *created,
    )


def _select_source(*, needs_look: bool) -> tuple[str, str]:
    """What documents are selected from, and the condition that goes with it."""
    return (f"{_SUSPECTS} cross join document", _IS_SUSPECT) if needs_look else ("document", "")


async def _count_facets(call: Call, *, needs_look: bool) -> dict[str, dict[str, int]]:
    """Counted by the database: 5,000 rows cost more to read than to count. Equal lists of tags are read once."""
    source, is_listed = _select_source(needs_look=needs_look)
    classes = ", ".join(f"{expression} as {name}" for name, expression in _CLASSES.items())
    names = ("type", "status", "author", "age", "tags", *_CLASSES)
    counts = " union all ".join(
        f"select '{name}' as facet, {name} as value, count(*) as n from newest group by {name}"
        for name in names
    )
    rows = await call.tx.all(
        f"with newest as materialized (select type, status, author, tags, {_AGE} as age, {classes}"
        f" from {source} where document.project = $1{is_listed} order by created_at desc limit $2) {counts}",
        call.project,
        FACET_DOCUMENTS,
        *(call.now - _AGES_DAYS[name][1] * DAY for name in ("week", "month", "quarter")),
    )
    counters: dict[str, Counter[str]] = {"tag": Counter(), **{name: Counter() for name in names}}
    for row in rows:
        if row["value"]:
            counters[row["facet"]][row["value"]] = row["n"]
    for tags, count in counters.pop("tags").items():
        for tag in msgspec.json.decode(tags, type=list[str]):
            counters["tag"][tag] += count
    return {name: _list_most_common(counter) for name, counter in counters.items()}


def _list_most_common(counter: Counter[str]) -> dict[str, int]:
    ordered = sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))
    return dict(ordered[:_MAX_FACET_VALUES])


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
