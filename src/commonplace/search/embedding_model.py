"""What the engine expects of a model, whichever it is; loads none of them."""

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
    """The cosine below which two texts have nothing to do with each other."""

    patience: float | None
    """How many seconds a question waits for its vector; none where it takes as long as it takes."""

    def embed(self, texts: Sequence[str]) -> "Vectors":
        """One unit vector for each text."""

    def embed_question(self, question: str) -> "Vector":
        """The same for a question, which somebody waits for."""


class TextRejected(errors.Unavailable):
    """The model is there, and has no vectors for these texts."""


def embed_each(model: EmbeddingModel, texts: Sequence[str]) -> "list[Vector | None]":
    """The vector of each text; none for a text that the model does not even take alone, though it takes others."""
    try:
        return list(model.embed(texts))
    except TextRejected:
        if len(texts) == 1:
            model.embed(["A plain sentence."])
            return [None]
        half = len(texts) // 2
        return embed_each(model, texts[:half]) + embed_each(model, texts[half:])
