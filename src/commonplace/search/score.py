"""The one score of a hit: its words and its meaning, what it has of a rare name, and how sure it is about the question.

Figures behind every constant: docs/decisions/0008-search.md; `make bench-search` switches each part off.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.search import text
from commonplace.search.models import RelevanceScale
from commonplace.search.query import WORDS_PER_PASSAGE, QueryTerms
from commonplace.store.database import Row

MAX_VECTOR_WEIGHT = 0.8
_MIN_VECTOR_WEIGHT = 0.35
_WEIGHT_OF_ONE_PASSAGE = 0.85
_WEIGHT_LOST_PER_PASSAGE = 0.15
# An entry without a vector is scored by its words, capped at a good match.
_MAX_UNKNOWN_SCORE = 2.0
# Of values that are all equal, such as those of the only entry that a filter leaves: as a share of the ideal.
_USUAL_DEVIATION = 0.1
_EXACT_BONUS = 1.0
_LEAST_SHOWN_RELEVANCE = 0.01
# Without a vector the words alone decide.
_SURE_COVERAGE = 0.3
# Names of code: an option, `quoted`, with an underscore, a capital or a digit inside, a dotted name, a path.
_CODE_NAME = re.compile(
    r"(?<![\w-])--?[a-zA-Z][\w-]+|(?<=`)[^`\s]+(?=`)|\w+_\w+|\b[a-z]+[A-Z]\w*|\b(?=\w*\d)(?=\w*[A-Za-z])\w{3,}"
    r"|\b[A-Z]{2,}-\d+|(?:[\w-]+/)+[\w-]+\.\w+|\b[a-zA-Z]\w+\.[a-zA-Z]\w+(?=[\s()?,]|$)"
)


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a question, with its vector and model if there is one. The `known_words` are spelt correctly."""

    text: str
    model: str = ""
    vector: Any = None
    floor: float = 0.0
    relevance: RelevanceScale | None = None
    known_words: frozenset[str] = frozenset()


@dataclass(slots=True)
class Hit:
    """An entry of the index with its `score`: 0 is as good as unrelated, 1 has every word and the meaning of the
    question. `unit` is one standard deviation of it, in which rooms give a bonus."""

    row: Row
    terms: QueryTerms
    word_score: float
    similarity: float | None
    part: int
    score: float = 0.0
    unit: float = 0.0

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
    def coverage(self) -> float:
        """How much of the question's words the entry has: 1 is every word twice."""
        return self.word_score / (self.terms.best or 1.0)

    @property
    def exactness(self) -> float:
        """The share of the rare names of the question that the entry has."""
        names = self.terms.exact
        return sum(f" {name}:" in self.row["counts"] for name in names) / len(names) if names else 0.0

    @property
    def relevance(self) -> float:
        return show_relevance(self.score)

    @property
    def matched_words(self) -> list[str]:
        """The tokens of the question that matched, the rarest first."""
        return self.terms.list_matched_terms(self.row["counts"])


def show_relevance(score: float) -> float:
    """The score as a reply shows it. It is never 0: what is shown has a word or the meaning of the question."""
    return round(min(1.0, max(_LEAST_SHOWN_RELEVANCE, score)), 3)


def list_code_names(question: str) -> list[str]:
    """The tokens of what the question names of code, each as one."""
    return [
        tokens[-1]
        for name in _CODE_NAME.findall(question)
        if (tokens := text.tokenize(name.strip(".,;:?!()")))
    ]


def rank_hits(hits: list[Hit], question: Question, max_vector_weight: float = MAX_VECTOR_WEIGHT) -> list[Hit]:
    """Words and meaning, each as standard deviations from its mean over the candidates (z-score), together as one
    number; entries with a name that few have come first. Ties go to the newer one."""
    floor = question.floor
    similarities = [hit.similarity for hit in hits if hit.similarity is not None]
    ideal = max((hit.terms.best for hit in hits), default=0.0) or 1.0
    words = _Normal([hit.word_score for hit in hits], ideal)
    meaning = _Normal(similarities, 1 - floor)
    # Of texts of many passages one is near to almost anything.
    passages = sum(max(1.0, hit.row["length"] / WORDS_PER_PASSAGE) for hit in hits) / max(1, len(hits))
    weight = _WEIGHT_OF_ONE_PASSAGE - _WEIGHT_LOST_PER_PASSAGE * (passages - 1)
    weight = min(max_vector_weight, max(_MIN_VECTOR_WEIGHT, weight)) if similarities else 0.0

    def add(word_score: float, similarity: float | None) -> float:
        by_words = words.scale(word_score)
        near = (
            min(by_words, _MAX_UNKNOWN_SCORE) if similarity is None else meaning.scale(max(similarity, floor))
        )
        return weight * near + (1 - weight) * by_words

    unrelated = add(0.0, floor)
    unit = 1 / (add(ideal, 1.0) - unrelated)
    for hit in hits:
        hit.unit = unit
        hit.score = (add(hit.word_score, hit.similarity) - unrelated) * unit + _EXACT_BONUS * hit.exactness
    return sorted(hits, key=lambda hit: (-hit.score, -hit.row["changed_at"], hit.id))


class _Normal:
    """Mean and standard deviation of values; of values that are all equal, the usual deviation of many."""

    def __init__(self, values: Sequence[float], ideal: float) -> None:
        self._mean = sum(values) / max(1, len(values))
        variance = sum((value - self._mean) ** 2 for value in values) / max(1, len(values))
        self._deviation = math.sqrt(variance) or _USUAL_DEVIATION * ideal

    def scale(self, value: float) -> float:
        return (value - self._mean) / self._deviation


def measure_evidence(hit: Hit, question: Question) -> float:
    """How much speaks for the entry being about the question, on the scale of the question's model."""
    word_bonus = question.relevance.word_bonus if question.relevance else 0.0
    return (hit.similarity or 0.0) + word_bonus * hit.coverage


def is_sure(hit: Hit, question: Question) -> bool:
    """Is the entry about the question, and not only one of the least unrelated? Unknown without a scale."""
    if question.relevance is None or hit.exactness:
        return True
    if hit.similarity is None:
        return hit.coverage >= _SURE_COVERAGE
    return measure_evidence(hit, question) >= question.relevance.choose_sure(hit.terms.passages)


def is_near(hit: Hit, question: Question) -> bool:
    """Is the entry worth showing at all?"""
    if question.relevance is None or hit.similarity is None:
        return hit.word_score > 0 or (hit.similarity or 0.0) >= max(question.floor, _LEAST_SHOWN_RELEVANCE)
    return hit.exactness > 0 or measure_evidence(hit, question) >= question.relevance.near
