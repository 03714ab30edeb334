"""How the scores of words and vectors become one: each is normalised over the candidates of a question (z-score)."""

import math
from dataclasses import dataclass

FIRST_VECTOR_WEIGHT = 0.6
# An entry without a vector yet is scored by its words, capped at a good match.
_MAX_UNKNOWN_SCORE = 2.0
# Of values that are all equal, such as those of the only entry that a filter leaves: as a share of what an ideal entry has.
_USUAL_DEVIATION = 0.1


@dataclass(frozen=True, slots=True)
class ScoreScale:
    """Mean and deviation of the word scores and of the similarities, the word score of an ideal entry, and the similarity
    of an unrelated one: below it, texts are not less related, so an entry that has a word is never worth nothing."""

    word_mean: float
    word_deviation: float
    similarity_mean: float
    similarity_deviation: float
    best: float
    floor: float
    has_vectors: bool
    vector_weight: float = FIRST_VECTOR_WEIGHT

    def compute_score(self, word_score: float, similarity: float | None) -> float:
        by_words = (word_score - self.word_mean) / self.word_deviation
        near = min(by_words, _MAX_UNKNOWN_SCORE) if similarity is None else self._normalize(similarity)
        near = max(near, self._normalize(self.floor))
        return self.vector_weight * near + (1 - self.vector_weight) * by_words

    def _normalize(self, similarity: float) -> float:
        return (similarity - self.similarity_mean) / self.similarity_deviation

    def measure_unit(self, unrelated: float) -> float:
        """The closeness of one standard deviation: an unrelated entry has 0, an ideal one 1."""
        if not self.has_vectors:
            return self.word_deviation / self.best
        return 1 / (self.compute_score(self.best, 1.0) - unrelated)


def measure_mean_and_deviation(values: list[float], ideal: float) -> tuple[float, float]:
    """Mean and standard deviation; of values that are all equal, the usual one of many."""
    usual = _USUAL_DEVIATION * ideal
    if not values:
        return 0.0, usual
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)) or usual
