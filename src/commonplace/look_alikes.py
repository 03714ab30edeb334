"""Characters that look alike, by Unicode's own table (UTS 39, as the package confusable-homoglyphs ships it).

Two names with the same skeleton look the same to a reader. A skeleton is only for comparing, never for showing or
storing as a name. The table is read when a text with other than ASCII characters is first compared.
"""

import re
import unicodedata
from functools import cache

_LATIN_LETTER = re.compile(
    r"(?:LATIN|REGIONAL INDICATOR SYMBOL|(?:NEGATIVE |PARENTHESIZED )?(?:CIRCLED|SQUARED)? ?LATIN)"
    r" ?(?:CAPITAL |SMALL )?LETTER (?:SMALL CAPITAL )?([A-Z])\b"
)


def skeleton(name: str) -> str:
    """What a name looks like: equal for names that cannot be told apart by eye."""
    decomposed = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFD", decomposed.translate(_read_prototypes())).casefold()


def looks_like(name: str, other: str) -> bool:
    """Whether two different names look the same. ASCII names never do: `worker1` and `workerl` are both everyday."""
    if name == other or (name.isascii() and other.isascii()):
        return False
    # A mark is something to see: names that differ only in marks on the same letters are different names.
    return skeleton(name.casefold()) == skeleton(other.casefold())


def fold_to_latin(text: str) -> str:
    """The text in ASCII letters where others look like them: for finding words, not for comparing names."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKD", text)
    marks_removed = "".join(character for character in plain if not unicodedata.combining(character))
    return "".join(_find_latin_letter(character) for character in marks_removed)


@cache
def _find_latin_letter(character: str) -> str:
    if character.isascii():
        return character
    prototype = _read_prototypes().get(ord(character), character)
    if prototype.isascii():
        return prototype
    match = _LATIN_LETTER.match(unicodedata.name(character, ""))
    return match[1].lower() if match else character


@cache
def _read_prototypes() -> dict[int, str]:
    """For each character that looks like others, the one that stands for all of them: an ASCII letter if there is one."""
    from confusable_homoglyphs import confusables  # noqa: PLC0415 - reads a file of 0.9 MB

    groups: dict[str, set[str]] = {}
    for character, entries in confusables.confusables_data.items():
        alike = {character, *(entry["c"].strip("\u200e") for entry in entries)}
        members = {each for each in alike if len(each) == 1}
        group = set[str]().union(members, *(groups.get(each, ()) for each in members))
        groups.update(dict.fromkeys(group, group))
    return {
        ord(character): min(group, key=_rank_prototype)
        for character, group in groups.items()
        if len(group) > 1
    }


def _rank_prototype(character: str) -> tuple[bool, bool, str]:
    is_letter = character.isascii() and character.isalpha()
    return not is_letter, character.isupper(), character
