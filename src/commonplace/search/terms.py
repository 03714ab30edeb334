"""The words of a question, what each is worth in a project, and how well an entry answers them (BM25)."""

import math
from dataclasses import dataclass, replace
from itertools import accumulate

from commonplace.search import text
from commonplace.store.database import Tx

_K1 = 1.5
_B = 0.9
_ASKED = 100
# A question made of common words would read half the index; its rare ones decide the order anyway.
_ROWS = 3000
_TOGETHER = 3


@dataclass(frozen=True, slots=True)
class Terms:
    """`worth` is each term's inverse frequency. Candidates have all the terms of any group of `searched`: each rare
    term is a group of its own, common ones stand together. `best` is what an entry of mean length that has every word
    twice would score. Words that are all `common` would take as long as the project is large to put in order, so the
    newest entries that have them are the candidates."""

    worth: dict[str, float]
    searched: tuple[tuple[str, ...], ...]
    mean_length: float
    best: float
    common: bool

    def score(self, counts: str, length: int) -> float:
        """Hundreds of entries are scored for a question, so this calls nothing."""
        norm = _K1 * (1 - _B + _B * length / self.mean_length)
        score = 0.0
        for term, worth in self.worth.items():
            at = counts.find(f" {term}:")
            if at >= 0:
                start = at + len(term) + 2
                times = int(counts[start : counts.index(" ", start)])
                score += worth * times * (_K1 + 1) / (times + norm)
        return score

    @property
    def loosened(self) -> "Terms":
        """Each searched term by itself: when no entry has the common ones together."""
        return replace(self, searched=tuple((term,) for group in self.searched for term in group))

    @property
    def strict(self) -> bool:
        return any(len(group) > 1 for group in self.searched)

    def matched(self, counts: str) -> list[str]:
        """Which words an entry has, the telling ones first."""
        return sorted(
            (term for term in self.worth if f" {term}:" in counts), key=lambda term: -self.worth[term]
        )


def asked(question: str) -> list[str]:
    """The distinct tokens of a question, in order."""
    return list(dict.fromkeys(text.tokens(question)))[:_ASKED]


def weighed(tokens: list[str], frequency: dict[str, int], entries: int, words: int, most: int) -> Terms:
    known = sorted((token for token in tokens if frequency.get(token)), key=lambda token: frequency[token])[
        :most
    ]
    total = max(entries, max(frequency.values(), default=0))
    worth = {
        token: math.log(1 + (total - frequency[token] + 0.5) / (frequency[token] + 0.5)) for token in known
    }
    sums = list(accumulate(frequency[token] for token in known))
    rare = sum(rows <= _ROWS for rows in sums)
    searched: list[tuple[str, ...]] = [(token,) for token in known[:rare]]
    common = bool(known) and not rare
    if common:
        searched.append(tuple(known[:_TOGETHER]))
    best = sum(worth.values()) * 2 * (_K1 + 1) / (2 + _K1)
    return Terms(worth, tuple(searched), max(1.0, words / max(1, entries)), best, common)


async def frequencies(tx: Tx, project: str, tokens: list[str]) -> dict[str, int]:
    """How many entries of the project have each token; none for a token that nobody has."""
    rows = await tx.all(
        "select term, n from term where project = $1 and term = any($2) and n > 0", project, tokens
    )
    return {row["term"]: row["n"] for row in rows}


async def totals(tx: Tx, project: str) -> tuple[int, int]:
    """How many entries the project has, and how many words they have together."""
    rows = await tx.all(
        "select name, n from counter where project = $1 and name in ('entries', 'entry_words')", project
    )
    by_name: dict[str, int] = {row["name"]: row["n"] for row in rows}
    return by_name.get("entries", 0), by_name.get("entry_words", 0)
