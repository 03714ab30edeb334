"""A search over every kind of entry, in which no kind crowds out the others."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from commonplace.call import Call
from commonplace.clock import age
from commonplace.rooms.knowledge import evidence, model, store
from commonplace.rooms.knowledge.excerpts import cut
from commonplace.rooms.knowledge.recall import PENALTY, doubted, quoted
from commonplace.search.find import Hit, Question, find
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row

_OF_ONE_WHOLE = 3
_PREVIEW = 240

_Broken = Mapping[tuple[str, str], Row]


async def everywhere(
    call: Call, question: Question, projects: Sequence[str], types: tuple[str, ...], limit: int
) -> list[model.Somewhere]:
    """The best of all, less where the evidence is gone."""
    hits = await _hits(call, question, projects, types, limit)
    near = sorted(hits, key=lambda hit: -hit.relevance)[: limit * 2 + 10]
    broken = await _broken(call, near)
    best = sorted(near, key=lambda hit: -_weight(hit, broken))[:limit]
    loaded = await _loaded(call, best)
    return [
        _shown(hit, row, broken, question.text, call.now)
        for hit in best
        if (row := loaded.get((hit.project, hit.kind, hit.id)))
    ]


async def _hits(
    call: Call, question: Question, projects: Sequence[str], types: tuple[str, ...], limit: int
) -> list[Hit]:
    """Whole things and parts of larger ones are looked for apart, since parts are many."""
    sources = call.search.sources.values()
    hits: list[Hit] = []
    for parts in (False, True):
        kinds = tuple(source.kind for source in sources if (source.whole is not None) is parts)
        if kinds:
            wanted = Wanted(call.now, kinds, types)
            found = await find(call.tx, call.search.vectors, question, projects, wanted, limit * 2)
            hits += _few_of_each(call, found)
    return [hit for hit in hits if hit.kind == store.KIND or call.caller.sees(hit.project)]


def _few_of_each(call: Call, hits: Sequence[Hit]) -> Iterator[Hit]:
    shown: Counter[object] = Counter()
    for hit in hits:
        whole = call.search.sources[hit.kind].whole
        name = (hit.project, hit.kind, whole(hit.id) if whole else hit.id)
        shown[name] += 1
        if shown[name] <= _OF_ONE_WHOLE:
            yield hit


async def _broken(call: Call, hits: Sequence[Hit]) -> _Broken:
    """The worst evidence of each document, by its project and id."""
    found: dict[tuple[str, str], Row] = {}
    for project in dict.fromkeys(hit.project for hit in hits if hit.kind == store.KIND):
        documents = [hit.id for hit in hits if (hit.project, hit.kind) == (project, store.KIND)]
        worst = await evidence.worst(call.tx, project, documents)
        found |= {(project, identity): row for identity, row in worst.items()}
    return found


def _weight(hit: Hit, broken: _Broken) -> float:
    doubt = broken.get((hit.project, hit.id))
    return hit.relevance * (1 - PENALTY[doubt["state"]]) if doubt else hit.relevance


async def _loaded(call: Call, hits: Sequence[Hit]) -> dict[tuple[str, str, str], Row]:
    loaded: dict[tuple[str, str, str], Row] = {}
    for project, kind in dict.fromkeys((hit.project, hit.kind) for hit in hits):
        theirs = [hit.id for hit in hits if (hit.project, hit.kind) == (project, kind)]
        rows = await call.search.sources[kind].load(call.tx, project, theirs)
        loaded |= {(project, kind, row["id"]): row for row in rows}
    return loaded


def _shown(hit: Hit, row: Row, broken: _Broken, question: str, now: int) -> model.Somewhere:
    doubts = (doubted(broken.get((hit.project, hit.id))), quoted(row)) if hit.kind == store.KIND else ()
    place = row.get("place", {})
    return model.Somewhere(
        kind=hit.kind,
        id=hit.id,
        project=hit.project,
        title=hit.row["title"],
        relevance=round(hit.relevance, 3),
        age=age(hit.row["changed_at"], now),
        content_preview=cut(row["text"], question, hit.part, _PREVIEW),
        type="" if place else hit.row["type"],
        warning=model.warning(hit.row["status"], hit.row["changed_at"], now, *doubts),
        **place,
    )
