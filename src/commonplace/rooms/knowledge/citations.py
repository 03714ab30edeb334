"""What documents cite, and what `commonplace verify` found of it in a checkout. The SQL is in `evidence.py`."""

from typing import Annotated

from pydantic import Field

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.operation import operation
from commonplace.rooms.knowledge import evidence, model, store
from commonplace.store import ids


@operation("memory_list_citations", role="readonly", session=False, example={"project": "shop"})
async def list_citations(
    call: Call,
    project: str,  # noqa: ARG001 - the path of every call reads it
    cursor: Annotated[
        evidence.CitationCursor | None,
        Field(description="Where to go on: `next_cursor` of the previous reply."),
    ] = None,
    limit: evidence.CitationLimit = 200,
) -> model.CitationPage:
    """List what documents cite; `commonplace verify` compares it with a checkout."""
    document, _, place = (cursor or "").partition("|")
    rows = await evidence.list_citations_after(call.tx, call.project, (document, place), limit, call.now)
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
    findings: Annotated[evidence.Findings, Field(description="What was found at each cited place.")],
) -> model.CitationReport:
    """Report the state of cited places in a checkout: fresh, drifted, gone, or unchecked."""
    await evidence.update_citation_states(call.tx, call.project, findings, call.now)
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
    rows = await evidence.list_evidence_of_document(call.tx, call.project, identity)
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
