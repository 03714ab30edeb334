"""memory_search_global: a search over all projects and all kinds of entries."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.rooms.knowledge import evidence, model, store
from commonplace.rooms.knowledge.excerpts import cut_excerpt
from commonplace.rooms.knowledge.recall import (
    EVIDENCE_PENALTIES,
    warn_of_broken_evidence,
    warn_of_instructions,
)
from commonplace.search.find import Hit, Question, find_entries
from commonplace.search.query import EntryFilter
from commonplace.store.database import Row

_MAX_PARTS_OF_ONE = 3
_PREVIEW_BYTES = 240

_BrokenEvidence = Mapping[tuple[str, str], Row]


async def search_all_projects(
    call: Call, question: Question, projects: Sequence[str], types: tuple[str, ...], limit: int
) -> list[model.GlobalResult]:
    """The best results of all kinds, with a penalty for broken evidence."""
    hits = await _find_hits(call, question, projects, types, limit)
    near = sorted(hits, key=lambda hit: -hit.relevance)[: limit * 2 + 10]
    broken = await _find_broken_evidence(call, near)
    best = sorted(near, key=lambda hit: -_weigh_hit(hit, broken))[:limit]
    loaded = await _load_texts(call, best)
    return [
        _render_hit(hit, row, broken, question.text, call.now)
        for hit in best
        if (row := loaded.get((hit.project, hit.kind, hit.id)))
    ]


async def _find_hits(
    call: Call, question: Question, projects: Sequence[str], types: tuple[str, ...], limit: int
) -> list[Hit]:
    """Search whole items and parts of larger ones separately, so that the many parts do not crowd out the rest."""
    sources = call.search.sources.values()
    hits: list[Hit] = []
    for parts in (False, True):
        kinds = tuple(source.kind for source in sources if (source.whole is not None) is parts)
        if kinds:
            entry_filter = EntryFilter(call.now, kinds, types)
            kind_hits = await find_entries(
                call.tx, call.search.vectors, question, projects, entry_filter, limit * 2
            )
            hits += _limit_parts(call, kind_hits)
    return [hit for hit in hits if hit.kind == store.DOCUMENT_KIND or call.caller.sees_project(hit.project)]


def _limit_parts(call: Call, hits: Sequence[Hit]) -> Iterator[Hit]:
    counts: Counter[object] = Counter()
    for hit in hits:
        whole = call.search.sources[hit.kind].whole
        name = (hit.project, hit.kind, whole(hit.id) if whole else hit.id)
        counts[name] += 1
        if counts[name] <= _MAX_PARTS_OF_ONE:
            yield hit


async def _find_broken_evidence(call: Call, hits: Sequence[Hit]) -> _BrokenEvidence:
    """The worst broken citation of each document, by project and id."""
    broken: dict[tuple[str, str], Row] = {}
    for project in dict.fromkeys(hit.project for hit in hits if hit.kind == store.DOCUMENT_KIND):
        documents = [hit.id for hit in hits if (hit.project, hit.kind) == (project, store.DOCUMENT_KIND)]
        worst = await evidence.find_broken_citations(call.tx, project, documents)
        broken |= {(project, identity): row for identity, row in worst.items()}
    return broken


def _weigh_hit(hit: Hit, broken: _BrokenEvidence) -> float:
    doubt = broken.get((hit.project, hit.id))
    return hit.relevance * (1 - EVIDENCE_PENALTIES[doubt["state"]]) if doubt else hit.relevance


async def _load_texts(call: Call, hits: Sequence[Hit]) -> dict[tuple[str, str, str], Row]:
    loaded: dict[tuple[str, str, str], Row] = {}
    for project, kind in dict.fromkeys((hit.project, hit.kind) for hit in hits):
        entry_ids = [hit.id for hit in hits if (hit.project, hit.kind) == (project, kind)]
        rows = await call.search.sources[kind].load(call.tx, project, entry_ids)
        loaded |= {(project, kind, row["id"]): row for row in rows}
    return loaded


def _render_hit(hit: Hit, row: Row, broken: _BrokenEvidence, question: str, now: int) -> model.GlobalResult:
    doubts = (
        (warn_of_broken_evidence(broken.get((hit.project, hit.id))), warn_of_instructions(row))
        if hit.kind == store.DOCUMENT_KIND
        else ()
    )
    place = row.get("place", {})
    return model.GlobalResult(
        kind=hit.kind,
        id=hit.id,
        project=hit.project,
        title=hit.row["title"],
        relevance=round(hit.relevance, 3),
        age=format_age(hit.row["changed_at"], now),
        content_preview=cut_excerpt(row["text"], question, hit.part, _PREVIEW_BYTES),
        type="" if place else hit.row["type"],
        warning=model.format_warning(hit.row["status"], hit.row["changed_at"], now, *doubts),
        **place,
    )
