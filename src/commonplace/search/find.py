"""Words and vectors together: each side proposes candidates, both sides judge all of them."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.search import postgres, sqlite
from commonplace.search.terms import Terms, asked, distinct, frequencies, totals, weighed
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row, Tx

_CANDIDATES = 100
_VECTOR_WEIGHT = 0.7
_WORDS_OF_A_QUESTION = 24
_WORDS_OF_A_TEXT = 8
_DIALECT = {"sqlite": sqlite, "postgresql": postgres}
# An entry whose vector is not made yet is judged by its words, but never as better than a good match.
_UNKNOWN_AT_MOST = 2.0

Vectors = sqlite.Vectors | postgres.Vectors


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked; with its vector, and the model that made it, when there is one."""

    text: str
    model: str = ""
    vector: Any = None
    floor: float = 0.0


@dataclass(slots=True)
class Hit:
    """`score` orders hits of one question; `relevance` is 0-1 and means the same for every question."""

    row: Row
    terms: Terms
    by_words: float
    similarity: float | None
    part: int
    score: float = 0.0
    relevance: float = 0.0

    @property
    def project(self) -> str:
        return str(self.row["project"])

    @property
    def kind(self) -> str:
        return str(self.row["kind"])

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def words(self) -> list[str]:
        """The tokens of the question that it has, the telling ones first."""
        return self.terms.matched(self.row["counts"])


async def find(
    tx: Tx,
    vectors: Vectors,
    question: Question,
    projects: Sequence[str],
    wanted: Wanted,
    most: int = _CANDIDATES,
) -> list[Hit]:
    """The best first, of all these projects; nothing that shares neither a word nor a meaning."""
    hits: list[Hit] = []
    for project in projects:
        hits += await _in_project(tx, vectors, question, project, wanted, most)
    return [hit for hit in ranked(hits, question) if hit.by_words or _near(hit, question)]


async def by_words(tx: Tx, question: str, project: str, wanted: Wanted, most: int) -> list[Hit]:
    """The same by its rarest words alone: for a write, which waits for no model."""
    terms = await _terms(tx, project, question, _WORDS_OF_A_TEXT)
    rows = await _with_words(tx, project, terms, wanted, most)
    return ranked([_hit(row, terms, None, 0) for row in rows], Question(question))


async def _in_project(
    tx: Tx, vectors: Vectors, question: Question, project: str, wanted: Wanted, most: int
) -> list[Hit]:
    terms = await _terms(tx, project, question.text)
    rows = {row["n"]: row for row in await _with_words(tx, project, terms, wanted, most)}
    near: dict[int, tuple[float, int]] = {}
    if question.vector is not None:
        nearest = await vectors.near(tx, project, question.model, question.vector, wanted, most)
        unmeasured = list(rows.keys() - {row["n"] for row, _ in nearest})
        rows |= {row["n"]: row for row, _ in nearest}
        measured = (
            await vectors.of(tx, project, question.model, question.vector, unmeasured) if unmeasured else []
        )
        near = _best_parts([*nearest, *measured])
    return [_hit(row, terms, *near.get(n, (None, 0))) for n, row in rows.items()]


async def _with_words(tx: Tx, project: str, terms: Terms, wanted: Wanted, most: int) -> Sequence[Row]:
    if not terms.searched:
        return []
    find_words = _DIALECT[tx.kind].by_words
    rows = await find_words(tx, project, terms, wanted, most)
    return rows or (await find_words(tx, project, terms.loosened, wanted, most) if terms.strict else [])


async def _terms(tx: Tx, project: str, question: str, most: int = _WORDS_OF_A_QUESTION) -> Terms:
    words = asked(question)
    frequency = await frequencies(tx, project, distinct(words)) if words else {}
    return weighed(words, frequency, *await totals(tx, project), most)


def _best_parts(measured: Iterable[tuple[Row, float]]) -> dict[int, tuple[float, int]]:
    best: dict[int, tuple[float, int]] = {}
    for row, similarity in measured:
        if row["n"] not in best or similarity > best[row["n"]][0]:
            best[row["n"]] = (similarity, row["part"])
    return best


def _hit(row: Row, terms: Terms, similarity: float | None, part: int) -> Hit:
    return Hit(row, terms, terms.score(row["counts"], row["length"]), similarity, part)


def _near(hit: Hit, question: Question) -> bool:
    return hit.similarity is not None and hit.similarity >= question.floor


def ranked(hits: list[Hit], question: Question) -> list[Hit]:
    """Scores of each side are put on one scale over all candidates, then added."""
    mean, spread = _scale([hit.by_words for hit in hits])
    middle, width = _scale([hit.similarity for hit in hits if hit.similarity is not None])
    for hit in hits:
        by_words = (hit.by_words - mean) / spread
        near = (
            min(by_words, _UNKNOWN_AT_MOST) if hit.similarity is None else (hit.similarity - middle) / width
        )
        hit.score = _VECTOR_WEIGHT * near + (1 - _VECTOR_WEIGHT) * by_words
        hit.relevance = _relevance(hit, question.floor)
    return sorted(hits, key=lambda hit: (-hit.score, -hit.row["changed_at"], hit.row["id"]))


def _relevance(hit: Hit, floor: float) -> float:
    covered = min(1.0, hit.by_words / (hit.terms.best or 1.0))
    if hit.similarity is None:
        return covered
    near = min(1.0, max(0.0, (hit.similarity - floor) / (1 - floor)))
    return _VECTOR_WEIGHT * near + (1 - _VECTOR_WEIGHT) * covered


def _scale(values: list[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    if not values:
        return 0.0, 1.0
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0
