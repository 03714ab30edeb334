"""What documents cite, and what `commonplace verify` found of it in a checkout. The SQL is in `evidence.py`."""

from commonplace.call import Call
from commonplace.operation import operation
from commonplace.rooms.knowledge import evidence, model


@operation("memory_list_citations", role="readonly", session=False, example={"project": "shop"})
async def list_citations(
    call: Call,
    project: str,  # noqa: ARG001 - the path of every call reads it
    cursor: evidence.CitationCursor | None = None,
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
    findings: evidence.Findings,
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
