"""The stems of English words: Porter's algorithm, from the Snowball library.

Stored tokens are made of these stems, so another algorithm would need a new index of every store (decision 0008).
Tokens for the index are made in `text.py`.
"""

import re
import threading

import Stemmer

_SHORTEST_STEMMED = 3
_VOWEL_Y_SUFFIX = re.compile(r"[a-z]*[aeiou]y(?:e|al|er|ful|ment|over)s?")


class _ThreadStemmer(threading.local):
    """A Snowball stemmer keeps state while it works, so each thread has its own."""

    def __init__(self) -> None:
        self.stem_word = Stemmer.Stemmer("porter", 0).stemWord


_stemmer = _ThreadStemmer()


def stem(word: str) -> str:
    """The stem of a lower-case English word; one of two letters is a stem already."""
    if len(word) < _SHORTEST_STEMMED:
        return word
    stemmed: str = _stemmer.stem_word(word)
    return stemmed


def query_stems(word: str) -> tuple[str, ...]:
    """The stems to search for: entries written before PyStemmer have `deployment` where `deploy` is stored now."""
    stemmed = stem(word)
    former = word.removesuffix("s")
    return (stemmed, former) if _VOWEL_Y_SUFFIX.fullmatch(word) and former != stemmed else (stemmed,)
