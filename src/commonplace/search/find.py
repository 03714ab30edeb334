"""Words and vectors together: each side proposes candidates, both sides judge all of them."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.search import postgres, sqlite
from commonplace.search.terms import Terms, asked, of_row, totals, weighed
from commonplace.search.wanted import Wanted
from commonplace.store.database import Row, Tx

_CANDIDATES = 100
_VECTOR_WEIGHT = 0.6
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

    project: str
    n: int
    kind: str
    id: str
    type: str
    title: str
    status: str
    changed_at: int
    expires_at: int
    words: list[str]
    by_words: float
    similarity: float | None
    part: int
    covered: float
    score: float = 0.0
    relevance: float = 0.0


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
    return ranked([hit for hit in hits if hit.words or _near(hit, question)], question)


async def by_words(tx: Tx, question: str, project: str, wanted: Wanted, most: int) -> list[Hit]:
    """The same by words alone: for a write, which waits for no model."""
    terms = await _terms(tx, project, question)
    rows = await _DIALECT[tx.kind].by_words(tx, project, terms, wanted, most) if terms.searched else []
    return ranked([_hit(row, terms, None, 0) for row in rows], Question(question))


async def _in_project(
    tx: Tx, vectors: Vectors, question: Question, project: str, wanted: Wanted, most: int
) -> list[Hit]:
    terms = await _terms(tx, project, question.text)
    rows: dict[int, Row] = {}
    if terms.searched:
        rows |= {row["n"]: row for row in await _DIALECT[tx.kind].by_words(tx, project, terms, wanted, most)}
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


async def _terms(tx: Tx, project: str, question: str) -> Terms:
    tokens = asked(question)
    frequency = await _DIALECT[tx.kind].frequencies(tx, project, tokens) if tokens else {}
    return weighed(tokens, frequency, *await totals(tx, project))


def _best_parts(measured: Iterable[tuple[Row, float]]) -> dict[int, tuple[float, int]]:
    best: dict[int, tuple[float, int]] = {}
    for row, similarity in measured:
        if row["n"] not in best or similarity > best[row["n"]][0]:
            best[row["n"]] = (similarity, row["part"])
    return best


def _hit(row: Row, terms: Terms, similarity: float | None, part: int) -> Hit:
    score = of_row(terms, row)
    return Hit(
        row["project"],
        row["n"],
        row["kind"],
        row["id"],
        row["type"],
        row["title"],
        row["status"],
        row["changed_at"],
        row["expires_at"],
        terms.matched(row["counts"]),
        score,
        similarity,
        part,
        min(1.0, score / (terms.best() or 1.0)),
    )


def _near(hit: Hit, question: Question) -> bool:
    return hit.similarity is not None and hit.similarity >= question.floor


def ranked(hits: list[Hit], question: Question) -> list[Hit]:
    """Scores of each side are put on one scale over all candidates, then added."""
    words = _standard([hit.by_words for hit in hits])
    known = [hit.similarity for hit in hits if hit.similarity is not None]
    scale = dict(zip(known, _standard(known), strict=True))
    for hit, by_words in zip(hits, words, strict=True):
        near = min(by_words, _UNKNOWN_AT_MOST) if hit.similarity is None else scale[hit.similarity]
        hit.score = _VECTOR_WEIGHT * near + (1 - _VECTOR_WEIGHT) * by_words
        hit.relevance = _relevance(hit, question.floor)
    return sorted(hits, key=lambda hit: (-hit.score, -hit.changed_at, hit.id))


def _relevance(hit: Hit, floor: float) -> float:
    if hit.similarity is None:
        return hit.covered
    near = min(1.0, max(0.0, (hit.similarity - floor) / (1 - floor)))
    return _VECTOR_WEIGHT * near + (1 - _VECTOR_WEIGHT) * hit.covered


def _standard(values: list[float]) -> list[float]:
    if not values:
        return []
    mean = statistics.fmean(values)
    spread = statistics.pstdev(values, mean) or 1.0
    return [(value - mean) / spread for value in values]
