"""Search by words and vectors: each proposes candidates, and the scores of both are fused."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.search import postgres, sqlite
from commonplace.search.query import (
    EntryFilter,
    QueryTerms,
    list_distinct_tokens,
    load_project_totals,
    load_term_frequencies,
    split_question,
    weigh_terms,
)
from commonplace.store.database import Row, Tx

_MAX_CANDIDATES = 100
_VECTOR_WEIGHT = 0.7
_MAX_QUESTION_TERMS = 24
_MAX_TEXT_TERMS = 8
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}
# An entry without a vector yet is scored by its words, capped at a good match.
_MAX_UNKNOWN_SCORE = 2.0

VectorIndex = sqlite.SqliteVectors | postgres.PostgresVectors


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a question, with its vector and model if there is one."""

    text: str
    model: str = ""
    vector: Any = None
    floor: float = 0.0


@dataclass(slots=True)
class Hit:
    """`score` orders hits of one question; `relevance` is 0-1 and means the same for every question."""

    row: Row
    terms: QueryTerms
    word_score: float
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
    def matched_words(self) -> list[str]:
        """The tokens of the question that matched, the rarest first."""
        return self.terms.list_matched_terms(self.row["counts"])


async def find_entries(
    tx: Tx,
    vectors: VectorIndex,
    question: Question,
    projects: Sequence[str],
    entry_filter: EntryFilter,
    limit: int = _MAX_CANDIDATES,
) -> list[Hit]:
    """The entries of these projects that share a word or are near in meaning, the best first."""
    hits: list[Hit] = []
    for project in projects:
        hits += await _find_in_project(tx, vectors, question, project, entry_filter, limit)
    return [hit for hit in rank_hits(hits, question) if hit.word_score or _is_near(hit, question)]


async def find_entries_by_words(
    tx: Tx, question: str, project: str, entry_filter: EntryFilter, limit: int
) -> list[Hit]:
    """The same by the rarest words of a text, without vectors: a write does not wait for a model."""
    terms = await _load_terms(tx, project, question, _MAX_TEXT_TERMS)
    rows = await _find_with_words(tx, project, terms, entry_filter, limit)
    return rank_hits([_build_hit(row, terms, None, 0) for row in rows], Question(question))


async def _find_in_project(
    tx: Tx, vectors: VectorIndex, question: Question, project: str, entry_filter: EntryFilter, limit: int
) -> list[Hit]:
    terms = await _load_terms(tx, project, question.text)
    rows = {row["n"]: row for row in await _find_with_words(tx, project, terms, entry_filter, limit)}
    near: dict[int, tuple[float, int]] = {}
    if question.vector is not None:
        nearest = await vectors.find_nearest(
            tx, project, question.model, question.vector, entry_filter, limit
        )
        unmeasured = list(rows.keys() - {row["n"] for row, _ in nearest})
        rows |= {row["n"]: row for row, _ in nearest}
        measured = (
            await vectors.measure_entries(tx, project, question.model, question.vector, unmeasured)
            if unmeasured
            else []
        )
        near = _pick_best_parts([*nearest, *measured])
    return [_build_hit(row, terms, *near.get(n, (None, 0))) for n, row in rows.items()]


async def _find_with_words(
    tx: Tx, project: str, terms: QueryTerms, entry_filter: EntryFilter, limit: int
) -> Sequence[Row]:
    if not terms.searched:
        return []
    find_words = _DIALECTS[tx.kind].find_by_words
    rows = await find_words(tx, project, terms, entry_filter, limit)
    return rows or (
        await find_words(tx, project, terms.loosened_terms, entry_filter, limit) if terms.has_groups else []
    )


async def _load_terms(
    tx: Tx, project: str, question: str, max_terms: int = _MAX_QUESTION_TERMS
) -> QueryTerms:
    words = split_question(question)
    frequency = await load_term_frequencies(tx, project, list_distinct_tokens(words)) if words else {}
    return weigh_terms(words, frequency, *await load_project_totals(tx, project), max_terms)


def _pick_best_parts(measured: Iterable[tuple[Row, float]]) -> dict[int, tuple[float, int]]:
    best: dict[int, tuple[float, int]] = {}
    for row, similarity in measured:
        if row["n"] not in best or similarity > best[row["n"]][0]:
            best[row["n"]] = (similarity, row["part"])
    return best


def _build_hit(row: Row, terms: QueryTerms, similarity: float | None, part: int) -> Hit:
    return Hit(row, terms, terms.score_entry(row["counts"], row["length"]), similarity, part)


def _is_near(hit: Hit, question: Question) -> bool:
    return hit.similarity is not None and hit.similarity >= question.floor


def rank_hits(hits: list[Hit], question: Question) -> list[Hit]:
    """Normalise both scores over all candidates (z-score), then add them with their weights."""
    mean, deviation = _mean_and_deviation([hit.word_score for hit in hits])
    similarity_mean, similarity_deviation = _mean_and_deviation(
        [hit.similarity for hit in hits if hit.similarity is not None]
    )
    for hit in hits:
        by_words = (hit.word_score - mean) / deviation
        near = (
            min(by_words, _MAX_UNKNOWN_SCORE)
            if hit.similarity is None
            else (hit.similarity - similarity_mean) / similarity_deviation
        )
        hit.score = _VECTOR_WEIGHT * near + (1 - _VECTOR_WEIGHT) * by_words
        hit.relevance = _compute_relevance(hit, question.floor)
    return sorted(hits, key=lambda hit: (-hit.score, -hit.row["changed_at"], hit.row["id"]))


def _compute_relevance(hit: Hit, floor: float) -> float:
    covered = min(1.0, hit.word_score / (hit.terms.best or 1.0))
    if hit.similarity is None:
        return covered
    near = min(1.0, max(0.0, (hit.similarity - floor) / (1 - floor)))
    return _VECTOR_WEIGHT * near + (1 - _VECTOR_WEIGHT) * covered


def _mean_and_deviation(values: list[float]) -> tuple[float, float]:
    """Mean and standard deviation."""
    if not values:
        return 0.0, 1.0
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or 1.0
