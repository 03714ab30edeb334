"""What a question looks like, before anything is searched: does it have names, is it in another language?

Vectors of names mean little, and so do those of languages that the bundled model was not trained on; `find.py` and
`engine.py` trust them less then.
"""

import re

from commonplace.search.text import STOP_WORDS

_WORD = re.compile(r"[^\s,;!?()\"'`]+")
_CODE_NAME = re.compile(r"\w[_=./:@#\\-]\w|[a-z][A-Z]|^[A-Z]{2,}$|^--?\w")
_PROPER_NAME = re.compile(r"[A-Z][a-z]+")
_LETTER = re.compile(r"[^\W\d_]")
_MAX_FOREIGN_LETTERS = 0.3
# Short words of German, Spanish, French, Italian, Portuguese and Dutch that English does not have.
_FOREIGN_WORDS = frozenset(
    [
        "der",
        "das",
        "und",
        "ist",
        "nicht",
        "ein",
        "eine",
        "einen",
        "einer",
        "wie",
        "wir",
        "wird",
        "wurde",
        "werden",
        "warum",
        "welche",
        "welcher",
        "wenn",
        "auf",
        "für",
        "mit",
        "bei",
        "nach",
        "von",
        "zu",
        "zum",
        "zur",
        "dem",
        "den",
        "des",
        "im",
        "es",
        "gibt",
        "el",
        "los",
        "las",
        "una",
        "que",
        "por",
        "para",
        "con",
        "cómo",
        "qué",
        "cuál",
        "dónde",
        "está",
        "son",
        "del",
        "se",
        "le",
        "les",
        "une",
        "des",
        "est",
        "pour",
        "dans",
        "avec",
        "comment",
        "pourquoi",
        "quel",
        "quelle",
        "sur",
        "il",
        "che",
        "di",
        "per",
        "come",
        "perché",
        "quale",
        "sono",
        "della",
        "os",
        "uma",
        "não",
        "como",
        "onde",
        "het",
        "een",
        "van",
        "voor",
        "niet",
        "waarom",
        "hoe",
        "wordt",
    ]
)
_MIN_FOREIGN_WORDS = 2


def measure_name_share(question: str) -> float:
    """The share of the question's words that are names of code, from 0 to 1."""
    words = [word for word in _WORD.findall(question) if word.lower() not in STOP_WORDS]
    return sum(bool(_CODE_NAME.search(word)) for word in words) / len(words) if words else 0.0


def list_proper_names(question: str) -> list[str]:
    """Words that are written with a capital inside the question: people, products."""
    return [word for word in _WORD.findall(question)[1:] if _PROPER_NAME.match(word)]


def is_foreign(question: str) -> bool:
    """Is the question in another language than English?"""
    letters = _LETTER.findall(question)
    if sum(not letter.isascii() for letter in letters) > _MAX_FOREIGN_LETTERS * len(letters):
        return True
    words = [word.lower() for word in _WORD.findall(question)]
    foreign = sum(word in _FOREIGN_WORDS for word in words)
    english = sum(word in STOP_WORDS for word in words)
    has_accents = any(not character.isascii() and character.isalpha() for character in question)
    return foreign > english and (foreign >= _MIN_FOREIGN_WORDS or has_accents)
