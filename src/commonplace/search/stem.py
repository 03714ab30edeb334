"""Porter's stemmer: what prose words have in common when their endings are taken off."""

import re
from functools import lru_cache

_SHORT = 2
_FORM = re.compile(r"[aeiouy]+[^aeiouy]+")
_VOWEL = re.compile(r"[aeiouy]")

_words = str.split
_DOUBLE = tuple(
    tuple(pair.split(":"))
    for pair in _words(
        "ational:ate tional:tion enci:ence anci:ance izer:ize abli:able alli:al entli:ent eli:e ousli:ous"
        " ization:ize ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble"
    )
)
_ENDINGS = tuple(
    tuple(pair.split(":")) for pair in _words("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")
)
_REST = sorted(
    _words("al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"),
    key=len,
    reverse=True,
)


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """The stem of a lower-case English word."""
    if len(word) <= _SHORT:
        return word
    word = _plural(word)
    word = _past(word)
    if word.endswith("y") and _VOWEL.search(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(_replaced(word, _DOUBLE), _ENDINGS)
    return _tidy(_without_rest(word))


def _measure(stemmed: str) -> int:
    return len(_FORM.findall(stemmed))


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    for ending in ("ed", "ing"):
        cut = word[: -len(ending)]
        if word.endswith(ending) and _VOWEL.search(cut):
            return _completed(cut)
    return word


def _completed(cut: str) -> str:
    if cut.endswith(("at", "bl", "iz")):
        return cut + "e"
    if cut[-1:] == cut[-2:-1] and cut[-1:] not in "aeioulsz":
        return cut[:-1]
    return cut + "e" if _measure(cut) == 1 and _ends_short(cut) else cut


def _ends_short(cut: str) -> bool:
    return bool(re.search(r"[^aeiou][aeiouy][^aeiouwxy]$", cut))


def _replaced(word: str, pairs: tuple[tuple[str, ...], ...]) -> str:
    for ending, instead in pairs:
        if word.endswith(ending):
            cut = word[: -len(ending)]
            return cut + instead if _measure(cut) else word
    return word


def _without_rest(word: str) -> str:
    for ending in _REST:
        if word.endswith(ending):
            cut = word[: -len(ending)]
            if ending == "ion" and cut[-1:] not in ("s", "t"):
                return word
            return cut if _measure(cut) > 1 else word
    return word


def _tidy(word: str) -> str:
    if word.endswith("e"):
        cut = word[:-1]
        if _measure(cut) > 1 or (_measure(cut) == 1 and not _ends_short(cut)):
            word = cut
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word
