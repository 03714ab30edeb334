"""Find registered functions that are similar to one being registered, by name and purpose."""

from commonplace import access
from commonplace.call import Call
from commonplace.rooms.functions import model, store
from commonplace.search import text
from commonplace.search.find import find_entries_by_words
from commonplace.search.query import EntryFilter
from commonplace.store.database import Row

_MAX_CANDIDATES = 12
_MAX_SIMILAR = 3
_MIN_SIMILARITY = 0.34
_NAME_WEIGHT = 0.9


async def find_similar_functions(call: Call, row: Row) -> list[model.SimilarFunction]:
    """List the most similar functions of the project and of shared, most similar first."""
    wanted = EntryFilter(call.now, (store.FUNCTION_KIND,))
    query = f"{row['name']} {row['purpose']}"
    similar: list[model.SimilarFunction] = []
    for project in dict.fromkeys((call.project, access.SHARED)):
        hits = await find_entries_by_words(call.tx, query, project, wanted, _MAX_CANDIDATES)
        rows = await store.load_functions(call.tx, project, [hit.id for hit in hits if hit.id != row["id"]])
        similar += [
            _build_similar(candidate, score)
            for candidate in rows.values()
            if (score := _score_similarity(row, candidate)) >= _MIN_SIMILARITY
        ]
    return sorted(similar, key=lambda other: (-other.similarity, other.id))[:_MAX_SIMILAR]


def _build_similar(row: Row, similarity: float) -> model.SimilarFunction:
    return model.SimilarFunction(
        id=row["id"],
        name=row["name"],
        file_path=model.format_location(row),
        similarity=round(similarity, 2),
        purpose=model.describe_purpose(row),
    )


def _score_similarity(one: Row, other: Row) -> float:
    if other["state"] == "gone":
        return 0.0
    names = _jaccard_index(set(text.tokenize(one["short"])), set(text.tokenize(other["short"])))
    words = _jaccard_index(_description_words(one), _description_words(other))
    return max(_NAME_WEIGHT * names, words)


def _description_words(row: Row) -> set[str]:
    return set(text.tokenize(f"{row['short']} {model.describe_purpose(row)}"))


def _jaccard_index(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
