"""The titles that an answer without results names: what is nearest to the question, however far it is."""

from collections.abc import Sequence

from commonplace.access import SHARED
from commonplace.call import Call
from commonplace.rooms.knowledge import recent_documents, store
from commonplace.search.find import Question, find_entries
from commonplace.search.query import EntryFilter

_MAX_NEAREST_TITLES = 3
_MAX_COMPARED_TITLES = 200
_MAX_COMPARED_PROJECTS = 10


async def find_nearest_titles(
    call: Call, question: Question, projects: Sequence[str], wanted: EntryFilter
) -> list[str]:
    """The nearest active documents of the wanted types, among those projects that the caller may read."""
    readable = [each for each in projects if each == SHARED or call.caller.sees_project(each)]
    anything = Question(question.text, question.model, question.vector, -1.0)
    near = await find_entries(
        call.tx,
        call.search.vectors,
        anything,
        readable,
        EntryFilter(call.now, (store.DOCUMENT_KIND,), wanted.types, excluded_types=wanted.excluded_types),
        _MAX_NEAREST_TITLES,
    )
    titles = [f"{hit.row['title']} ({hit.row['id']})" for hit in near[:_MAX_NEAREST_TITLES]]
    if not titles and not (wanted.types or wanted.excluded_types):
        own_first = sorted(readable, key=lambda project: project != call.project)
        return await _list_similar_titles(call, question.text, own_first[:_MAX_COMPARED_PROJECTS])
    return titles


async def _list_similar_titles(call: Call, question: str, projects: Sequence[str]) -> list[str]:
    """The newest titles that are spelled most like the question."""
    titles = [
        title
        for each in projects
        for title in await recent_documents.list_newest_titles(call.tx, each, call.now, _MAX_COMPARED_TITLES)
    ]
    question_pairs = _split_letter_pairs(question)
    pairs = {title: _split_letter_pairs(title) for title in titles}
    return sorted(
        pairs,
        key=lambda title: -len(question_pairs & pairs[title]) / (len(question_pairs | pairs[title]) or 1),
    )[:_MAX_NEAREST_TITLES]


def _split_letter_pairs(text: str) -> set[str]:
    """Pairs of neighbouring letters; a typing error leaves most of them unchanged."""
    return {word[at : at + 2] for word in text.lower().split() for at in range(len(word) - 1)}
