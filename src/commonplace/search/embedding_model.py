"""The interface of an embedding model. The implementations are in `embed.py`, which is imported when first needed."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from commonplace import errors

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    Vectors = npt.NDArray[np.float32]


class EmbeddingModel(Protocol):
    floor: float
    """The cosine below which two texts are unrelated."""

    patience: float | None
    """The seconds that a question waits for its vector; None for no limit."""

    def can_read(self, text: str) -> bool:
        """Does the model know enough words of the text for its vector to mean something?"""

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
