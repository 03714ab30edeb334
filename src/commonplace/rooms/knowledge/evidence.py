"""Citations of documents: a path, line or symbol at a commit, and what `commonplace verify` found of it in a checkout."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import operation
from commonplace.rooms.knowledge import model, store
from commonplace.store import ids
from commonplace.store.database import Row, Tx

CitationLimit = Annotated[int, Field(ge=1, le=500)]
CitationCursor = Annotated[str, Field(max_length=600)]
CitationState = Literal["unchecked", "fresh", "drifted", "gone"]
CitedText = Annotated[str, Field(max_length=8_000)]
_CITED_PLACE = re.compile(
    r"(?P<path>[^#@\s][^#@]*?)(?::(?P<line>\d{1,7}))?(?:#(?P<symbol>[^@\s]{1,200}))?(?:@(?P<commit>[0-9a-fA-F]{7,40}))?"
)


@dataclass(frozen=True, slots=True)
class Citation:
    place: str
    path: str
    line: int
    symbol: str
    commit: str


class Finding(BaseModel):
    """The state of a cited place in somebody's checkout; its text only if that one chose to send it.

    `text_before` is the text at the cited commit, for a place that was never checked before.
    """

    model_config = ConfigDict(extra="forbid")

    document: Annotated[str, Field(min_length=8, max_length=64)]
    place: Annotated[str, Field(min_length=1, max_length=500)]
    state: CitationState
    fingerprint: Annotated[str, Field(max_length=64)] = ""
    text: CitedText = ""
    text_before: CitedText = ""


Findings = Annotated[list[Finding], Field(max_length=500)]


def parse_citation(place: str) -> Citation | None:
    """Parse `path`, `path:line` or `path#symbol`, each with an optional `@commit`; None if it is not a path."""
    match = _CITED_PLACE.fullmatch(place.strip().replace("\\", "/"))
    if match is None:
        return None
    line = int(match["line"] or 0)
    return Citation(
        place.strip(), match["path"], line, match["symbol"] or "", (match["commit"] or "").lower()
    )


def extract_file_stem(place: str) -> str:
    """The file's name without folder and extension."""
    citation = parse_citation(place)
    path = citation.path if citation else place
    return path.rstrip("/").rpartition("/")[2].lstrip(".").partition(".")[0]


async def replace_citations(tx: Tx, project: str, document: str, places: Sequence[str]) -> None:
    """Replace the citations of a document; each one is unchecked again."""
    citations = {citation.place: citation for place in places if (citation := parse_citation(place))}
    await tx.queue("delete from citation where project = $1 and document = $2", project, document)
    await tx.many(
        "insert into citation (project, document, place, path, line, symbol, committed, fingerprint, state, checked_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, '', 'unchecked', null)",
        [
            (project, document, each.place, each.path, each.line, each.symbol, each.commit)
            for each in citations.values()
        ],
    )


async def list_citations_after(
    tx: Tx, project: str, after: tuple[str, str], limit: int, now: int
) -> Sequence[Row]:
    return await tx.all(
        "select c.document, c.place, c.path, c.line, c.symbol, c.committed, c.fingerprint, c.state from citation c"
        " join document d on d.project = c.project and d.id = c.document and d.status = 'active'"
        " and (d.expires_at is null or d.expires_at > $5)"
        " where c.project = $1 and (c.document, c.place) > ($2, $3) order by c.document, c.place limit $4",
        project,
        *after,
        limit,
        now,
    )


async def update_citation_states(tx: Tx, project: str, findings: Sequence[Finding], now: int) -> None:
    """Record the states; what a fresh place looks like is what later checks compare with."""
    await tx.many(
        "update citation set state = $4, checked_at = $5,"
        " fingerprint = case when $4 = 'fresh' then CAST($6 as text) else fingerprint end,"
        " text_before = case when $4 = 'fresh' and $7 <> '' then CAST($7 as text)"
        "  when text_before = '' then CAST($8 as text) else text_before end,"
        " text_now = case when $4 = 'drifted' then CAST($7 as text) else '' end"
        " where project = $1 and document = $2 and place = $3",
        [
            (
                project,
                each.document,
                each.place,
                each.state,
                now,
                each.fingerprint,
                each.text,
                each.text_before,
            )
            for each in findings
        ],
    )


async def find_broken_citations(tx: Tx, project: str, documents: Sequence[str]) -> Mapping[str, Row]:
    """The worst broken citation of each document that has one."""
    rows = await tx.all(
        "select document, place, state from citation where project = $1 and document = any($2)"
        " and state in ('drifted', 'gone') order by document, state, place",
        project,
        list(documents),
    )
    return {row["document"]: row for row in rows}


async def list_citations_of_document(tx: Tx, project: str, document: str) -> Sequence[Row]:
    return await tx.all(
        "select place, state from citation where project = $1 and document = $2 order by place limit 100",
        project,
        document,
    )


async def list_evidence_of_document(tx: Tx, project: str, document: str) -> Sequence[Row]:
    return await tx.all(
        "select place, state, checked_at, text_before, text_now from citation where project = $1 and document = $2"
        " order by place limit 100",
        project,
        document,
    )


@operation("memory_list_citations", role="readonly", session=False, example={"project": "shop"})
async def list_citations(
    call: Call,
    project: str,  # noqa: ARG001 - the path of every call reads it
    cursor: Annotated[
        CitationCursor | None,
        Field(description="Where to go on: `next_cursor` of the previous reply."),
    ] = None,
    limit: CitationLimit = 200,
) -> model.CitationPage:
    """List what documents cite; `commonplace verify` compares it with a checkout."""
    document, _, place = (cursor or "").partition("|")
    rows = await list_citations_after(call.tx, call.project, (document, place), limit, call.now)
    following = f"{rows[-1]['document']}|{rows[-1]['place']}" if len(rows) == limit else None
    return model.CitationPage(count=len(rows), citations=[dict(row) for row in rows], next_cursor=following)


@operation(
    "memory_report_citations",
    writes=True,
    session=False,
    idempotent=True,
    example={"project": "shop", "findings": []},
)
async def report_citations(
    call: Call,
    project: str,  # noqa: ARG001 - the same
    findings: Annotated[Findings, Field(description="What was found at each cited place.")],
) -> model.CitationReport:
    """Report the state of cited places in a checkout: fresh, drifted, gone, or unchecked."""
    await update_citation_states(call.tx, call.project, findings, call.now)
    states = [finding.state for finding in findings]
    call.subject = f"{len(findings)} citations"
    return model.CitationReport(
        status="recorded",
        fresh=states.count("fresh"),
        drifted=states.count("drifted"),
        gone=states.count("gone"),
        unchecked=states.count("unchecked"),
    )


@operation(
    "memory_list_evidence",
    role="readonly",
    session="optional",
    example={"project": "shop", "doc_id": "doc_000000000000"},
)
async def list_evidence(
    call: Call,
    project: str,  # noqa: ARG001 - the same
    doc_id: Annotated[
        model.DocumentId, Field(description="An id of any kind, whole or its first 8 or more characters.")
    ],
) -> model.EvidencePage:
    """List the places that a document cites: whether each has changed, and its lines where they were sent."""
    identity = await ids.resolve_id(call.tx, "document", call.project, doc_id)
    if await store.load_document(call.tx, call.project, identity) is None:
        raise errors.NotFound(f"There is no document '{doc_id}'.")
    rows = await list_evidence_of_document(call.tx, call.project, identity)
    return model.EvidencePage(
        count=len(rows),
        evidence=[
            model.Evidence(
                place=row["place"],
                state=row["state"],
                checked=iso(row["checked_at"]) if row["checked_at"] else "",
                before=row["text_before"],
                now=row["text_now"],
            )
            for row in rows
        ],
    )
