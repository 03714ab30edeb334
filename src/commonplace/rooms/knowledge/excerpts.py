"""Excerpts of a text within a number of bytes: the best passage and the text around it."""

from collections.abc import Sequence

import msgspec

from commonplace.search import text

MIN_EXCERPT_BYTES = 80
_ELLIPSIS = "…"


def count_json_bytes(value: object) -> int:
    """The size of a value in a reply."""
    return len(msgspec.json.encode(value))


def fit_excerpt(content: str, question: str, part: int, most: int) -> str:
    """Cut an excerpt that fits as JSON, where a line break takes two bytes."""
    shorter = cut_excerpt(content, question, part, most)
    size = count_json_bytes(shorter) - len('""')
    if size <= most:
        return shorter
    escapes = size - len(shorter.encode())
    return truncate_line(cut_excerpt(content, question, part, max(most - escapes, 0)), most)


def truncate_line(given: str, most: int) -> str:
    """The line, or its beginning, within so many bytes of JSON."""
    if count_json_bytes(given) - len('""') <= most:
        return given
    room = max(most - len(_ELLIPSIS.encode()), 0)
    shorter = given.encode()[:room].decode(errors="ignore")
    over = count_json_bytes(shorter) - len('""') - room
    return shorter[: len(shorter) - max(over, 0)] + _ELLIPSIS


def cut_excerpt(content: str, question: str, part: int, most: int) -> str:
    """The text, or its best passage with the text around it, within so many bytes."""
    if len(content.encode()) <= most:
        return content
    asked = set(text.tokenize(question))
    best = _pick_passage(text.split_passages(content), asked, part)
    if len(best.encode()) <= most:
        return _extend_passage(content, best, most)
    if most >= MIN_EXCERPT_BYTES:
        best = _pick_passage(text.split_passages(best, most), asked, 0)
    return best.encode()[:most].decode(errors="ignore")


def _pick_passage(passages: Sequence[str], asked: set[str], part: int) -> str:
    first = min(part, len(passages) - 1)
    found = [(len(asked & set(text.tokenize(each))), n == first, -n) for n, each in enumerate(passages)]
    return passages[-max(found)[2]]


def _extend_passage(content: str, passage: str, most: int) -> str:
    """Add text before and after the passage, in equal parts, cut at a line or a word."""
    at = content.index(passage)
    before, after = content[:at].encode(), content[at + len(passage) :].encode()
    spare = most - len(passage.encode())
    ahead = max(spare // 2, spare - len(after))
    earlier = _take_tail(before, ahead)
    return (earlier + passage + _take_head(after, spare - len(earlier.encode()))).strip()


def _take_tail(before: bytes, most: int) -> str:
    if len(before) <= most:
        return before.decode()
    kept = before[len(before) - most :].decode(errors="ignore")
    mark = next((mark for mark in "\n " if mark in kept), "")
    return kept.partition(mark)[2] if mark else ""


def _take_head(after: bytes, most: int) -> str:
    if len(after) <= most:
        return after.decode()
    kept = after[:most].decode(errors="ignore")
    mark = next((mark for mark in "\n " if mark in kept), "")
    return kept.rpartition(mark)[0] if mark else ""
