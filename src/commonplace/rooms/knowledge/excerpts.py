"""Excerpts of a text within a number of bytes: the best passage and the text around it."""

from collections.abc import Sequence
from functools import lru_cache

import msgspec

from commonplace.search import text
from commonplace.shortening import ELLIPSIS

MIN_EXCERPT_BYTES = 80
_MAX_WORD = 40
_MIN_STEM_LETTERS = 3


def count_json_bytes(value: object) -> int:
    """The size of a value in a reply."""
    return len(msgspec.json.encode(value))


def fit_excerpt(content: str, question: str, part: int, max_bytes: int) -> str:
    """Cut an excerpt that fits as JSON, where a line break takes two bytes."""
    shorter = cut_excerpt(content, question, part, max_bytes)
    size = count_json_bytes(shorter) - len('""')
    if size <= max_bytes:
        return shorter
    escapes = size - len(shorter.encode())
    return truncate_line(cut_excerpt(content, question, part, max(max_bytes - escapes, 0)), max_bytes)


def truncate_line(line: str, max_bytes: int) -> str:
    """The line, or its beginning, within so many bytes of JSON."""
    if count_json_bytes(line) - len('""') <= max_bytes:
        return line
    room = max(max_bytes - len(ELLIPSIS.encode()), 0)
    shorter = line.encode()[:room].decode(errors="ignore")
    over = count_json_bytes(shorter) - len('""') - room
    return shorter[: len(shorter) - max(over, 0)] + ELLIPSIS


def cut_excerpt(content: str, question: str, part: int, max_bytes: int) -> str:
    """The text, or its best passage with the text around it, within so many bytes; an ellipsis marks where it is cut."""
    if len(content.encode()) <= max_bytes:
        return content
    excerpt = _cut_passage(content, question, part, max(max_bytes - 2 * len(ELLIPSIS.encode()), 0))
    if not excerpt:
        return ""
    before, _, after = content.partition(excerpt)
    return f"{ELLIPSIS if before.strip() else ''}{excerpt}{ELLIPSIS if after.strip() else ''}"


def _cut_passage(content: str, question: str, part: int, max_bytes: int) -> str:
    best = _find_best_passage(content, question, part)
    if len(best.encode()) <= max_bytes:
        return _extend_passage(content, best, max_bytes)
    if max_bytes >= MIN_EXCERPT_BYTES:
        best = _pick_passage(text.split_passages(best, max_bytes), _list_word_starts(question), 0)
    return _begin_at_word(content, best).encode()[:max_bytes].decode(errors="ignore").strip()


def _begin_at_word(content: str, passage: str) -> str:
    """The passage without the rest of a word that it begins with; passages overlap by a number of characters."""
    at = content.find(passage)
    if at <= 0 or content[at - 1].isspace():
        return passage
    _, space, rest = passage[:_MAX_WORD].partition(" ")
    return rest + passage[_MAX_WORD:] if space and rest else passage


@lru_cache(maxsize=16)
def _find_best_passage(content: str, question: str, part: int) -> str:
    """Remembered, because an excerpt that is too long as JSON is cut a second time."""
    return _pick_passage(text.split_passages(content), _list_word_starts(question), part)


@lru_cache(maxsize=16)
def _list_word_starts(question: str) -> tuple[str, ...]:
    """How the words of a question start in any of their forms: the stem, without the vowel that stands for a `y`."""
    stems = set(text.tokenize(question))
    return tuple(
        stem.removesuffix("i") for stem in stems if len(stem) >= _MIN_STEM_LETTERS or not stem.isascii()
    )


def _pick_passage(passages: Sequence[str], word_starts: Sequence[str], part: int) -> str:
    """The passage with most words of the question. They are looked for as they stand: to split a long text into words
    would cost as much as the whole search."""
    first = min(part, len(passages) - 1)
    scores = []
    for n, passage in enumerate(passages):
        lowered = passage.lower()
        scores.append((sum(start in lowered for start in word_starts), n == first, -n))
    return passages[-max(scores)[2]]


def _extend_passage(content: str, passage: str, max_bytes: int) -> str:
    """Add text before and after the passage, in equal parts, cut at a line or a word."""
    at = content.index(passage)
    before, after = content[:at].encode(), content[at + len(passage) :].encode()
    spare = max_bytes - len(passage.encode())
    ahead = max(spare // 2, spare - len(after))
    earlier = _take_tail(before, ahead)
    return (earlier + passage + _take_head(after, spare - len(earlier.encode()))).strip()


def _take_tail(before: bytes, max_bytes: int) -> str:
    if len(before) <= max_bytes:
        return before.decode()
    tail = before[len(before) - max_bytes :].decode(errors="ignore")
    mark = next((mark for mark in "\n " if mark in tail), "")
    return tail.partition(mark)[2] if mark else ""


def _take_head(after: bytes, max_bytes: int) -> str:
    if len(after) <= max_bytes:
        return after.decode()
    head = after[:max_bytes].decode(errors="ignore")
    mark = next((mark for mark in "\n " if mark in head), "")
    return head.rpartition(mark)[0] if mark else ""
