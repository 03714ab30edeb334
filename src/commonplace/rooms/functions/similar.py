"""Which functions that are known already a described one looks like."""

from commonplace import access
from commonplace.call import Call
from commonplace.rooms.functions import model, store
from commonplace.search import text
from commonplace.search.find import by_words
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row

_COMPARED = 12
_SHOWN = 3
_ALIKE = 0.34
_NAME_WEIGHT = 0.9


async def to(call: Call, row: Row) -> list[model.Similar]:
    """The nearest others of the project and of shared, nearest first."""
    wanted = Wanted(call.now, (store.KIND,))
    question = f"{row['name']} {row['purpose']}"
    found: list[model.Similar] = []
    for project in dict.fromkeys((call.project, access.SHARED)):
        hits = await by_words(call.tx, question, project, wanted, _COMPARED)
        rows = await store.by_ids(call.tx, project, [hit.id for hit in hits if hit.id != row["id"]])
        found += [
            _similar(other, alike) for other in rows.values() if (alike := _likeness(row, other)) >= _ALIKE
        ]
    return sorted(found, key=lambda each: (-each.similarity, each.id))[:_SHOWN]


def _similar(row: Row, likeness: float) -> model.Similar:
    return model.Similar(
        id=row["id"],
        name=row["name"],
        file_path=model.where(row),
        similarity=round(likeness, 2),
        purpose=model.purpose(row),
    )


def _likeness(one: Row, other: Row) -> float:
    if other["state"] == "gone":
        return 0.0
    names = _shared(set(text.tokens(one["short"])), set(text.tokens(other["short"])))
    words = _shared(_words(one), _words(other))
    return max(_NAME_WEIGHT * names, words)


def _words(row: Row) -> set[str]:
    return set(text.tokens(f"{row['short']} {model.purpose(row)}"))


def _shared(one: set[str], other: set[str]) -> float:
    return len(one & other) / len(one | other) if one and other else 0.0
