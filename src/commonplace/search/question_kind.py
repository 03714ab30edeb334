"""What a question looks like, before anything is searched: does it have names, is it in another language?

Vectors of names mean little, and so do those of languages that the bundled model was not trained on; `find.py` and
`engine.py` trust them less then.
"""

import re

from commonplace.search.text import STOP_WORDS

_WORD = re.compile(r"[^\s,;!?()\"'`]+")
_CODE_NAME = re.compile(r"\w[_=./:@#\\-]\w|[a-z][A-Z]|^[A-Z]{2,}$|^--?\w")
_PROPER_NAME = re.compile(r"[A-Z][a-z]+")
# A capital inside of a sentence, an abbreviation, or a name of code; not a path.
_NAME = re.compile(
    r"(?<=[a-z0-9,;'\"(] )['\"(]?([A-Z][a-z]+\w*)|(?<![\w./\\-])([A-Z]{2,}s?)(?![\w./\\-])"
    r"|(?<![\w./\\-])(\w*[a-z0-9]_[a-z]\w*|[A-Za-z]*[a-z][A-Z]\w*)(?![\w/\\-]|\.\w)"
)
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


def measure_name_share(question: str) -> float:
    """The share of the question's words that are names of code, from 0 to 1."""
    words = [word for word in _WORD.findall(question) if word.lower() not in STOP_WORDS]
    return sum(bool(_CODE_NAME.search(word)) for word in words) / len(words) if words else 0.0


def list_proper_names(question: str) -> list[str]:
    """Words that are written with a capital inside the question: people, products."""
    return [word for word in _WORD.findall(question)[1:] if _PROPER_NAME.match(word)]


def list_names(question: str) -> list[str]:
    """All that the question names: people, products, abbreviations, names of code."""
    names = (match[match.lastindex or 0] for match in _NAME.finditer(question))
    return [name for name in names if name.lower() not in STOP_WORDS]


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
