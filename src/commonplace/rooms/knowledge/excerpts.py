"""Excerpts of a text within a number of bytes: the best passage and the text around it."""

from collections.abc import Sequence

import msgspec

from commonplace.search import text

MIN_EXCERPT_BYTES = 80
_ELLIPSIS = "…"
_MAX_WORD = 40


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
    room = max(max_bytes - len(_ELLIPSIS.encode()), 0)
    shorter = line.encode()[:room].decode(errors="ignore")
    over = count_json_bytes(shorter) - len('""') - room
    return shorter[: len(shorter) - max(over, 0)] + _ELLIPSIS


def cut_excerpt(content: str, question: str, part: int, max_bytes: int) -> str:
    """The text, or its best passage with the text around it, within so many bytes."""
    if len(content.encode()) <= max_bytes:
        return content
    question_tokens = set(text.tokenize(question))
    best = _pick_passage(text.split_passages(content), question_tokens, part)
    if len(best.encode()) <= max_bytes:
        return _extend_passage(content, best, max_bytes)
    if max_bytes >= MIN_EXCERPT_BYTES:
        best = _pick_passage(text.split_passages(best, max_bytes), question_tokens, 0)
    return _begin_at_word(content, best).encode()[:max_bytes].decode(errors="ignore")


def _begin_at_word(content: str, passage: str) -> str:
    """The passage without the rest of a word that it begins with; passages overlap by a number of characters."""
    at = content.find(passage)
    if at <= 0 or content[at - 1].isspace():
        return passage
    _, space, rest = passage[:_MAX_WORD].partition(" ")
    return rest + passage[_MAX_WORD:] if space and rest else passage


def _pick_passage(passages: Sequence[str], question_tokens: set[str], part: int) -> str:
    first = min(part, len(passages) - 1)
    scores = [
        (len(question_tokens & set(text.tokenize(each))), n == first, -n) for n, each in enumerate(passages)
    ]
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
