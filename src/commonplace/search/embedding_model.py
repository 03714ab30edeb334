"""The interface of an embedding model. The implementations are in `embed.py`, which is imported when first needed."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from commonplace import errors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    Vectors = npt.NDArray[np.float32]
else:
    Vector = Vectors = Any


@dataclass(frozen=True, slots=True)
class RelevanceScale:
    """A text is relevant if its cosine reaches a threshold, with a bonus for the words of the question that it has and
    another for those that any text of the project has: who asks about another field uses words that nobody wrote.

    The nearest of a thousand unrelated texts is nearer than that of a hundred, so the threshold grows with the project.
    """

    threshold: float
    """For a project of a hundred passages."""
    per_tenfold: float
    word_bonus: float
    known_bonus: float
    name_bonus: float
    """For a question with a proper name that the project knows; as much less if it knows nothing that is named."""
    meaning: float
    """The cosine from which a reply names it: below, texts of one field are all alike."""
    sure_meaning: float = 1.0
    """The cosine that hardly any two unrelated texts reach: below, a match without a common word is doubtful."""

    def choose_threshold(self, passages: float) -> float:
        return self.threshold + self.per_tenfold * (math.log10(min(passages, _MOST_PASSAGES)) - 2)

    def choose_meaning(self, passages: float) -> float:
        """The cosine that is enough without any common word: among few texts it is less than `meaning`."""
        return max(self.choose_threshold(passages), self.meaning - _MEANING_RANGE)


_MOST_PASSAGES = 1000
"""Larger projects were not measured."""
_MEANING_RANGE = 0.05


class EmbeddingModel(Protocol):
    floor: float
    """The cosine below which two texts are unrelated."""

    relevance: "RelevanceScale | None"
    """What tells a relevant text from others, if it was measured for this model."""

    patience: float | None
    """The seconds that a question waits for its vector; None for no limit."""

    def can_read(self, text: str) -> bool:
        """Does the model know enough words of the text for its vector to mean something?"""

    def list_known_words(self, text: str) -> frozenset[str]:
        """The words of the text, in lower case, that the model's vocabulary has whole: they are spelt correctly."""

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """One unit vector for each text."""

    def embed_question(self, question: str) -> "Vector":
        """The unit vector of a question that a caller waits for."""


class TextRejected(errors.Unavailable):
    """The model works, but rejects these texts."""


def embed_each(model: EmbeddingModel, texts: Sequence[str]) -> "list[Vector | None]":
    """The vector of each text, or None for a text that the model rejects while it accepts others."""
    try:
        return list(model.embed(texts))
    except TextRejected:
        if len(texts) == 1:
            model.embed(["A plain sentence."])
            return [None]
        half = len(texts) // 2
        return embed_each(model, texts[:half]) + embed_each(model, texts[half:])
