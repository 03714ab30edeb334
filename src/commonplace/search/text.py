"""Tokens of a text for the index, for prose and code, and passages that fit a model's window.

A name is kept whole and in parts, and whole without its separators, so that `getUserName`, `get_user_name` and
`get-user-name` are one token. A word with accents is kept with them and without. What is written without spaces
(Chinese, Japanese, Korean) is kept as pairs of signs, and names in other letters inside of it as names. Only letters
and digits are left in a token, so no store needs quoting rules. English words are stored as their stems (Porter's
algorithm, from the Snowball library); another algorithm would need a new index of every store (decision 0008).
"""

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

_RUN = re.compile(r"[^\W_](?:[\w./\\:#@$-]*\w)?")
_PIECE = re.compile(r"[^\W_]+")
_LATIN = "a-z\u00c0-\u02af"
_PART = re.compile(rf"[A-Z]+(?![{_LATIN}])|[A-Z]?[{_LATIN}]+|\d+|[^\W\d_A-Z{_LATIN}]+")
_SIGN = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\U00020000-\U0003ffff"
_SPAN = re.compile(rf"[{_SIGN}]+|[^{_SIGN}]+")
_SIGNS = re.compile(rf"[{_SIGN}]")
_KANA = re.compile(r"[\u3040-\u30ff]")
_ACCENTS = re.compile(r"(?<=[A-Za-z\u0370-\u03ff\u0415\u0435])[\u0300-\u036f]+")
_MAX_TOKEN_CHARACTERS = 64
_LETTERS = re.compile(r"[a-z]+")
_SHORTEST_STEMMED = 3
_VOWEL_Y_SUFFIX = re.compile(r"[a-z]*[aeiou]y(?:e|al|er|ful|ment|over)s?")

_words = str.split
# Letters that Unicode does not decompose.
_SPELT = str.maketrans(
    {pair[0]: pair[1:] for pair in _words("ßss æae ÆAE œoe ŒOE øo ØO łl ŁL đd ĐD \u0131i")}
)
STOP_WORDS = frozenset(
    _words(
        "a about above after again all also am an and any are as at be because been before being below between both"
        " but by can could did do does doing don down during each few for from further had has have having he her here"
        " hers him his how i if in into is it its itself just me more most my no nor not now of off on once only or"
        " other our out over own s same she should so some such t than that the their them then there these they this"
        " those through to too under until up very was we were what when where which while who whom why will with"
        " would you your ll ve re m d"
    )
)

REMEMBERED_CHARACTERS = range(200, 20_000)
"""Of texts whose counts are remembered: shorter ones are counted quickly, and longer ones would fill the memory."""

PASSAGE_CHARACTERS = 1000
WIDE_PASSAGE_CHARACTERS = 300
_WIDE_SHARE = 0.3
_WIDE_CHARACTER = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_OVERLAP_CHARACTERS = 150


def tokenize(text: str) -> list[str]:
    """The tokens of the text in order, without stop words."""
    return [token for run in _split_runs(text) for token in _expand_run(run)]


def tokenize_question(question: str) -> list[tuple[str, ...]]:
    """The words of a question, each as the tokens to search for, without stop words."""
    words = (_expand_run(run, asking=True) for run in _split_runs(question))
    return [word for word in words if word]


def count_tokens(text: str) -> Counter[str]:
    """Counts of a text of some length are remembered for a while: see `prepare_words`."""
    return _count_remembered(text).copy() if len(text) in REMEMBERED_CHARACTERS else Counter(tokenize(text))


@lru_cache(maxsize=64)
def _count_remembered(text: str) -> Counter[str]:
    return Counter(tokenize(text))


def add_counts(some: Counter[str], more: Counter[str]) -> Counter[str]:
    """The sum of both. `+` of counters looks at each word of both in Python, this only at those of `more`."""
    total = some.copy()
    total.update(more)
    return total


def measure_similarity(one: Counter[str], other: Counter[str]) -> float:
    """Weighted Jaccard of two texts: 1 for the same words as often."""
    together = (one | other).total()
    return (one & other).total() / together if together else 0.0


def _split_runs(text: str) -> list[str]:
    return _RUN.findall(unicodedata.normalize("NFKC", text))


@lru_cache(maxsize=100_000)
def _expand_run(run: str, asking: bool = False) -> tuple[str, ...]:
    made: list[str] = []
    for span in _SPAN.findall(run):
        made += _tokenize_signs(span, asking) if _SIGNS.match(span) else _tokenize_name(span, asking)
    return tuple(_bound_token(token) for token in made)


def _tokenize_signs(span: str, asking: bool) -> list[str]:
    """A single sign would match half of all texts, so a question uses it only if it stands alone."""
    pairs = [span[at : at + 2] for at in range(len(span) - 1)]
    return pairs if asking and pairs else pairs + [sign for sign in span if not _KANA.match(sign)]


def _tokenize_name(span: str, asking: bool) -> list[str]:
    pieces = _PIECE.findall(span)
    made = [token for piece in pieces for token in _tokenize_piece(piece, asking)]
    if len(pieces) > 1:
        made.append(_fold_accents("".join(pieces)).lower())
    return made


def _tokenize_piece(piece: str, asking: bool) -> list[str]:
    folded = _fold_accents(piece)
    parts = [part.lower() for part in _PART.findall(folded)]
    made = [token for part in parts if part not in STOP_WORDS for token in _stem_word(part, asking)]
    if len(parts) > 1:
        made.append(folded.lower())
    if folded != piece:
        made.append(piece.lower())
    return made


def _fold_accents(piece: str) -> str:
    """Without accents, as typed on a keyboard that has none."""
    if piece.isascii():
        return piece
    apart = unicodedata.normalize("NFKD", piece).translate(_SPELT)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", apart))


def _bound_token(token: str) -> str:
    """The token, or its digest if it is too long for the index."""
    return token if len(token) <= _MAX_TOKEN_CHARACTERS else hashlib.blake2s(token.encode()).hexdigest()


def _stem_word(part: str, asking: bool) -> tuple[str, ...]:
    """The stem of a word; other tokens stay as they are."""
    if len(part) > _MAX_TOKEN_CHARACTERS or not _LETTERS.fullmatch(part):
        return (part,)
    return query_stems(part) if asking else (stem(part),)


@lru_cache(maxsize=4096)
def token_prefix(project: str, reader: str = "") -> str:
    """The prefix of each token in the index: each project has its own postings, and so has each reader of its private
    entries. What others may read is then never looked at, however much it is."""
    scope = f"{project}\n{reader}" if reader else project
    return hashlib.blake2s(scope.encode(), digest_size=4).hexdigest()


def build_term_key(token: str, reader: str = "") -> str:
    """The token in the table of term counts, where tokens of private entries stand apart; no token has an `@`."""
    return f"@{token_prefix('', reader)}{token}" if reader else token


def split_passages(text: str, size: int = 0) -> list[str]:
    """The text in overlapping passages, cut at the end of a line or sentence if one is near.

    Without a size they fit the window of a model, for which a character of Chinese is about as long as a word.
    """
    return list(_cut_passages(text.strip(), size or _choose_passage_size(text))) or [""]


def _choose_passage_size(text: str) -> int:
    wide = len(_WIDE_CHARACTER.findall(text[:PASSAGE_CHARACTERS]))
    return (
        WIDE_PASSAGE_CHARACTERS if wide > len(text[:PASSAGE_CHARACTERS]) * _WIDE_SHARE else PASSAGE_CHARACTERS
    )


def _cut_passages(text: str, size: int) -> Iterator[str]:
    start = 0
    while len(text) - start > size:
        end = _find_boundary(text, start + size // 2, start + size)
        yield text[start:end].strip()
        start = max(end - min(_OVERLAP_CHARACTERS, size // 6), start + 1)
    if text[start:].strip():
        yield text[start:].strip()


def _find_boundary(text: str, least: int, most: int) -> int:
    for mark in ("\n\n", "\n", ". ", " "):
        at = text.rfind(mark, least, most)
        if at > 0:
            return at + len(mark)
    return most


def starts_with_title(body: str, title: str) -> bool:
    """Does the body start with the title?"""
    start = " ".join(body[: len(title) * 2 + 16].split())
    return start.startswith(" ".join(title.rstrip(".… ").split()))


def prepend_title(title: str, passage: str) -> str:
    """The passage under its title, unless it starts with it."""
    return passage if starts_with_title(passage, title) else f"{title}\n{passage}".strip()


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
