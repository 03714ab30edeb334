"""Repair of misspelt words in a question: the nearest word that the project's index has.

Only words that no entry has are looked at, and only words of the index that start alike, so a question without typing
errors costs nothing more. Words that the embedding model's vocabulary has whole are spelt correctly.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from commonplace.search.words import sum_steps, terms_between_statement
from commonplace.store.database import Tx

_MIN_LETTERS = 5
_LETTERS_FOR_TWO_ERRORS = 8
_SHARED_START = 2
_MAX_REPAIRED_WORDS = 4
_MAX_COMPARED_TERMS = 2000
_LAST_CHARACTER = "\uffff"
# The index has stems. A misspelt word has no reliable stem, so its ending is tried away.
_ENDINGS = (
    "ations",
    "ation",
    "ions",
    "ion",
    "ments",
    "ment",
    "ings",
    "ing",
    "ers",
    "er",
    "ed",
    "es",
    "s",
    "e",
)


@dataclass(frozen=True, slots=True)
class _Candidate:
    distance: int
    rarity: int
    term: str


async def find_nearest_terms(
    tx: Tx, project: str, unknown: Sequence[str], correct: Collection[str]
) -> dict[str, str]:
    """The term of the index that is nearest to each of these unknown words, for those that have one; of the words that
    are spelt correctly only the same word with another ending."""
    words = [word for word in unknown if word.isalpha() and word.isascii() and len(word) >= _MIN_LETTERS]
    nearest = {
        word: await _find_nearest(tx, project, word, word in correct) for word in words[:_MAX_REPAIRED_WORDS]
    }
    return {word: term for word, term in nearest.items() if term}


async def _find_nearest(tx: Tx, project: str, word: str, is_correct: bool) -> str:
    start = word[:_SHARED_START]
    rows = await tx.all(
        *terms_between_statement(project, start, start + _LAST_CHARACTER, _MAX_COMPARED_TERMS)
    )
    limit = 0 if is_correct else 2 if len(word) >= _LETTERS_FOR_TWO_ERRORS else 1
    forms = [(form, limit if len(form) >= _MIN_LETTERS else 0) for form in _list_forms(word)]
    near = [
        _Candidate(distance, -count, term)
        for term, count in sum_steps(rows).items()
        if count > 0 and term.startswith(start)
        for form, errors in forms
        if (distance := measure_distance(form, term, errors)) <= errors and not _has_other_end(form, term)
    ]
    best = min(near, key=lambda each: (each.distance, each.rarity, each.term), default=None)
    return best.term if best else ""


def _list_forms(word: str) -> Iterator[str]:
    """The word, and the word without each ending that it has."""
    yield word
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _MIN_LETTERS - 1:
            yield word[: -len(ending)]


def _has_other_end(one: str, other: str) -> bool:
    """Is the last letter replaced, and not only swapped with the one before? Other words differ so (clean, clear), and
    so do stems (stai for stay); typing errors seldom do."""
    return len(one) == len(other) and one[-1] != other[-1] and one[-2:] != other[-1] + other[-2]


def measure_distance(one: str, other: str, limit: int) -> int:
    """The number of letters to insert, delete, replace or swap; more than `limit` if it is more than that."""
    # Two rejections that are cheap, because most words are rejected: one error changes at most two of the letters.
    if abs(len(one) - len(other)) > limit or len(set(one) ^ set(other)) > 2 * limit:
        return limit + 1
    before_last: list[int] = []
    last = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        current = [row]
        for column, target in enumerate(other, 1):
            cost = min(last[column] + 1, current[-1] + 1, last[column - 1] + (letter != target))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == target:
                cost = min(cost, before_last[column - 2] + 1)
            current.append(cost)
        if min(current) > limit:
            return limit + 1
        before_last, last = last, current
    return last[-1]
