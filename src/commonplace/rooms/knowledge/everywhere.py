"""A search over every kind of entry, in which no kind crowds out the others."""

from collections import Counter
from collections.abc import Iterator, Sequence

from commonplace.call import Call
from commonplace.search.find import Hit, Question, find
from commonplace.search.wanted import Wanted

_OF_ONE_WHOLE = 3


async def everywhere(
    call: Call, question: Question, projects: Sequence[str], types: tuple[str, ...], limit: int
) -> list[Hit]:
    """The best of all; whole things and parts of larger ones are looked for apart, since parts are many."""
    sources = call.search.sources.values()
    hits: list[Hit] = []
    for parts in (False, True):
        kinds = tuple(source.kind for source in sources if (source.whole is not None) is parts)
        if kinds:
            wanted = Wanted(call.now, kinds, types)
            found = await find(call.tx, call.search.vectors, question, projects, wanted, limit * 2)
            hits += _few_of_each(call, found)
    return sorted(hits, key=lambda hit: -hit.relevance)[:limit]


def _few_of_each(call: Call, hits: Sequence[Hit]) -> Iterator[Hit]:
    shown: Counter[object] = Counter()
    for hit in hits:
        whole = call.search.sources[hit.kind].whole
        name = (hit.project, hit.kind, whole(hit.id) if whole else hit.id)
        shown[name] += 1
        if shown[name] <= _OF_ONE_WHOLE:
            yield hit
