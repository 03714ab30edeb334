"""Does a text say that it refines or replaces a document that it names? A mention without such words is a reference."""

import re
from collections.abc import Iterator

_MAX_CHARACTERS_BETWEEN = 80
# Without participles: "changed orders" are no change of a document.
_REPLACES = r"(?:replac|supersed)(?:es?|ing)|replacement (?:of|for)|instead of"
_REFINES = (
    r"(?:refin|continu|chang|updat)(?:es?|ing)|(?:amend|correct|extend)(?:s|ing)|amend|extend"
    r"|(?:refinement|correction|amendment|continuation) (?:of|to)|builds? on|derive[sd]? from"
)
_SAYS_REPLACES = re.compile(rf"(?i)\b(?:{_REPLACES})\b")
_SAYS_REFINES = re.compile(rf"(?i)\b(?:{_REPLACES}|{_REFINES})\b")
# The end of a sentence, of a paragraph or of an item of a list, unless a colon leads on to the list.
_CLAUSE_END = re.compile(r"[.;!?](?=\s)|(?<!:)\n(?=\s*(?:\n|[-*#]))")
_DENIED = re.compile(r"(?i)(?:\b(?:not|never|without|cannot)|n't)\s+(?:\w+\s+)?$")
# Between the word and the id: the id is only a reference, or it is the one that refines.
_REFERENCE = re.compile(
    r"(?i)\b(?:see|cf|per|as|like|by|with|according|than|nothing|is|are|stays?|described|defined)\b"
)
_HOLDS = re.compile(r"(?i)[\"')\]]*\s+(?:still\s+)?(?:holds|applies|stands|stays|remains|is unchanged)\b")
_REPLACED_HERE = re.compile(r"(?i)[^.;!?\n]{0,40}\b(?:replaced|superseded)\s+(?:by this|with this|here)\b")
_REFINED_HERE = re.compile(
    r"(?i)[^.;!?\n]{0,40}\b(?:replaced|superseded|refined|amended|corrected|changed|continued|extended|updated)"
    r"\s+(?:by this|with this|here)\b"
)


def says_refines(content: str, document: str) -> bool:
    """The text says that it continues, changes or replaces the document."""
    return any(
        _governs(_SAYS_REFINES, before, after) or _REFINED_HERE.match(after)
        for before, after in _list_mentions(content, document)
    )


def says_replaces(content: str, document: str) -> bool:
    """The text says that it takes the place of the document."""
    return any(
        _governs(_SAYS_REPLACES, before, after) or _REPLACED_HERE.match(after)
        for before, after in _list_mentions(content, document)
    )


def _list_mentions(content: str, document: str) -> Iterator[tuple[str, str]]:
    """The beginning of the clause that names the document, and what follows the name."""
    for mention in re.finditer(re.escape(document), content):
        before = content[max(0, mention.start() - 2 * _MAX_CHARACTERS_BETWEEN) : mention.start()]
        yield _CLAUSE_END.split(before)[-1], content[mention.end() : mention.end() + _MAX_CHARACTERS_BETWEEN]


def _governs(words: re.Pattern[str], before: str, after: str) -> bool:
    """The last of the words is about the document: nothing between makes it a mere reference."""
    last = next(iter(reversed(list(words.finditer(before)))), None)
    if last is None or _HOLDS.match(after) or _DENIED.search(before[: last.start()]):
        return False
    between = before[last.end() :]
    return len(between) <= _MAX_CHARACTERS_BETWEEN and _REFERENCE.search(between) is None
