"""As much of a text as there is room for: the passage that answers best, and what stands around it."""

from collections.abc import Sequence

import msgspec

from commonplace.search import text

LEAST = 80
_ELLIPSIS = "…"


def sent(value: object) -> int:
    """How many bytes it takes in a reply."""
    return len(msgspec.json.encode(value))


def fitting(content: str, question: str, part: int, most: int) -> str:
    """Cut so that it fits as it is sent, where a line break takes two bytes."""
    shorter = cut(content, question, part, most)
    size = sent(shorter) - len('""')
    if size <= most:
        return shorter
    escapes = size - len(shorter.encode())
    return begun(cut(content, question, part, max(most - escapes, 0)), most)


def begun(given: str, most: int) -> str:
    """All of a line, or its beginning, in at most so many bytes as it is sent."""
    if sent(given) - len('""') <= most:
        return given
    room = max(most - len(_ELLIPSIS.encode()), 0)
    shorter = given.encode()[:room].decode(errors="ignore")
    over = sent(shorter) - len('""') - room
    return shorter[: len(shorter) - max(over, 0)] + _ELLIPSIS


def cut(content: str, question: str, part: int, most: int) -> str:
    """All of it, or the passage that answers best with what stands around it, in at most so many bytes."""
    if len(content.encode()) <= most:
        return content
    asked = set(text.tokens(question))
    best = _best(text.passages(content), asked, part)
    if len(best.encode()) <= most:
        return _around(content, best, most)
    if most >= LEAST:
        best = _best(text.passages(best, most), asked, 0)
    return best.encode()[:most].decode(errors="ignore")


def _best(passages: Sequence[str], asked: set[str], part: int) -> str:
    first = min(part, len(passages) - 1)
    found = [(len(asked & set(text.tokens(each))), n == first, -n) for n, each in enumerate(passages)]
    return passages[-max(found)[2]]


def _around(content: str, passage: str, most: int) -> str:
    """Half of what is left goes before the passage, half behind it; both ends at a line's or a word's."""
    at = content.index(passage)
    before, after = content[:at].encode(), content[at + len(passage) :].encode()
    spare = most - len(passage.encode())
    ahead = max(spare // 2, spare - len(after))
    earlier = _tail(before, ahead)
    return (earlier + passage + _head(after, spare - len(earlier.encode()))).strip()


def _tail(before: bytes, most: int) -> str:
    if len(before) <= most:
        return before.decode()
    kept = before[len(before) - most :].decode(errors="ignore")
    mark = next((mark for mark in "\n " if mark in kept), "")
    return kept.partition(mark)[2] if mark else ""


def _head(after: bytes, most: int) -> str:
    if len(after) <= most:
        return after.decode()
    kept = after[:most].decode(errors="ignore")
    mark = next((mark for mark in "\n " if mark in kept), "")
    return kept.rpartition(mark)[0] if mark else ""
