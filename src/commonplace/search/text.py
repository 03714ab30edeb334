"""Text as the index sees it: tokens that suit prose and code, and passages that fit a model's window.

A name is kept whole and in parts, and whole without its separators, so that `getUserName`, `get_user_name` and
`get-user-name` are one token. Only letters and digits are left in a token, so no store needs quoting rules.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from commonplace.search.stem import stem

_RUN = re.compile(r"[^\W_](?:[\w./\\:#@$-]*\w)?")
_PIECE = re.compile(r"[^\W_]+")
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LONGEST = 64
_WORDY = re.compile(r"[a-z]+")

_words = str.split
STOP = frozenset(
    _words(
        "a about above after again all also am an and any are as at be because been before being below between both"
        " but by can could did do does doing don down during each few for from further had has have having he her here"
        " hers him his how i if in into is it its itself just me more most my no nor not now of off on once only or"
        " other our out over own s same she should so some such t than that the their them then there these they this"
        " those through to too under until up very was we were what when where which while who whom why will with"
        " would you your ll ve re m d"
    )
)

PASSAGE = 1000
_OVERLAP = 150


def tokens(text: str) -> list[str]:
    """Every token of the text, stop words dropped, in order."""
    found: list[str] = []
    for run in _RUN.findall(unicodedata.normalize("NFKC", text)):
        found += _expanded(run)
    return found


def counted(text: str) -> Counter[str]:
    return Counter(tokens(text))


@lru_cache(maxsize=100_000)
def _expanded(run: str) -> tuple[str, ...]:
    pieces = _PIECE.findall(run)
    made = [token for piece in pieces for token in _of_piece(piece)]
    if len(pieces) > 1:
        made.append("".join(pieces).lower())
    return tuple(token for token in made if token and len(token) <= _LONGEST)


def _of_piece(piece: str) -> list[str]:
    if _CJK.search(piece):
        return [piece[at : at + 2] for at in range(max(1, len(piece) - 1))]
    parts = [part.lower() for part in _PART.findall(piece)]
    made = [_prose(part) for part in parts if part not in STOP]
    if len(parts) > 1:
        made.append(piece.lower())
    return made


def _prose(part: str) -> str:
    return stem(part) if _WORDY.fullmatch(part) else part


@lru_cache(maxsize=4096)
def scope(project: str) -> str:
    """What stands before each token in an index: one project's postings are physically its own."""
    return hashlib.blake2s(project.encode(), digest_size=4).hexdigest()


def passages(text: str, size: int = PASSAGE) -> list[str]:
    """The text in overlapping cuts, made at the end of a line or sentence where there is one near."""
    return list(_cuts(text.strip(), size)) or [""]


def _cuts(text: str, size: int) -> Iterator[str]:
    start = 0
    while len(text) - start > size:
        end = _boundary(text, start + size // 2, start + size)
        yield text[start:end].strip()
        start = max(end - min(_OVERLAP, size // 6), start + 1)
    if text[start:].strip():
        yield text[start:].strip()


def _boundary(text: str, least: int, most: int) -> int:
    for mark in ("\n\n", "\n", ". ", " "):
        at = text.rfind(mark, least, most)
        if at > 0:
            return at + len(mark)
    return most


def begins(body: str, title: str) -> bool:
    """The title is the body's own beginning."""
    start = " ".join(body[: len(title) * 2 + 16].split())
    return start.startswith(" ".join(title.rstrip(".… ").split()))


def titled(title: str, passage: str) -> str:
    """A passage as a model reads it: under its title, unless that is how it begins."""
    return passage if begins(passage, title) else f"{title}\n{passage}".strip()
