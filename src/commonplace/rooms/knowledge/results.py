"""How results are shown: a reason and an excerpt each, within a budget of tokens; previews of a search of all projects."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from commonplace.access import ALL_PROJECTS
from commonplace.call import Call
from commonplace.clock import format_age, iso
from commonplace.rooms.knowledge import model
from commonplace.rooms.knowledge.recall import RecalledItem
from commonplace.search import text
from commonplace.search.score import Question
from commonplace.search.source import SearchSource
from commonplace.shortening import ELLIPSIS

MIN_EXCERPT_BYTES = 80
_EXCERPT_BYTES = 240
_LINE_BYTES = 100
_BYTES_PER_TOKEN = 4
_QUESTION_SHARE = 10
_MIN_LINE_BYTES = 30
_MAX_COUNTED_MATCHES = 9999
_KINDS_WITH_TYPES = ("document", "spec")
"""The other kinds say what an item is."""
_MAX_SHOWN_WORDS = 5
_MIN_SHOWN_CHARACTERS = 3
_NON_SPACE = re.compile(r"\S+")
_MAX_WORD = 40
_MIN_STEM_LETTERS = 3


def truncate_question(question: str, max_tokens: int) -> str:
    """The question as a reply repeats it, truncated."""
    return truncate_line(question, max_tokens * _BYTES_PER_TOKEN // _QUESTION_SHARE)


def render_results(
    call: Call,
    recalled: Sequence[RecalledItem],
    question: Question,
    detail: model.DetailLevel,
    max_tokens: int,
    message: str,
) -> list[model.QueryResult]:
    """Results with text within the budget; the last are left out if not even a line fits."""
    around = model.QueryAnswer(
        query=truncate_question(question.text, max_tokens),
        result_count=len(recalled),
        results=[],
        more_matches=_MAX_COUNTED_MATCHES,
        message=message,
    )
    left = max_tokens * _BYTES_PER_TOKEN - count_json_bytes(around) - len(',"results":[]')
    results: list[model.QueryResult] = []
    for index, each in enumerate(recalled):
        result = _render_result(call, each, question, detail)
        if results and left - count_json_bytes(result) < MIN_EXCERPT_BYTES:
            break
        _shrink_result(result, left)
        room = max(left - count_json_bytes(result), 0)
        content = each.item.text
        share = _allot_bytes(each, detail, room, len(recalled) - index)
        result.content = fit_excerpt(content, question.text, each.hit.part, share)
        result.truncated = result.content != content
        results.append(result)
        left -= count_json_bytes(result) + len(",")
    return results


def _allot_bytes(each: RecalledItem, detail: model.DetailLevel, room: int, results: int) -> int:
    """An excerpt, or only a line of what is doubtful; with detail=full the whole text if it fits, else an equal share."""
    if detail == "full":
        return room if len(each.item.text.encode()) <= room else room // results
    return min(_LINE_BYTES if each.is_doubtful else _EXCERPT_BYTES, room)


def _shrink_result(result: model.QueryResult, room: int) -> None:
    """Shorten tags, then title, reason and warning, until the result fits; the author goes last."""
    while result.tags and count_json_bytes(result) > room:
        result.tags = result.tags[: len(result.tags) // 2]
    for name in ("title", "why", "warning"):
        line, over = getattr(result, name) or "", count_json_bytes(result) - room
        if line and over > 0:
            setattr(
                result,
                name,
                truncate_line(line, max(count_json_bytes(line) - len('""') - over, _MIN_LINE_BYTES)),
            )
    if count_json_bytes(result) > room:
        result.author = ""


def _render_result(
    call: Call, recalled: RecalledItem, question: Question, detail: model.DetailLevel
) -> model.QueryResult:
    """The result without its text; times and uses beside the age are for detail=full."""
    item, hit = recalled.item, recalled.hit
    details = describe_item(call, recalled)
    status = details.pop("status", model.resolve_status(item.status, item.expires_at, call.now))
    result = model.QueryResult(
        kind=hit.kind,
        id=hit.id,
        source=name_project(hit.project),
        title=item.title or hit.row["title"],
        type=item.type,
        status=status,
        author=item.author,
        relevance=recalled.relevance,
        doubtful=recalled.is_doubtful,
        age=format_age(recalled.changed_at, call.now),
        content="",
        why=explain_match(recalled, question),
        tags=list(item.tags),
        truncated=True,
        warning=_build_item_warning(call, recalled, status),
        later=recalled.later,
        **details,
    )
    if detail == "full":
        result.created = iso(item.created_at or recalled.changed_at)
        result.updated = iso(item.updated_at or recalled.changed_at)
    return result


def render_previews(call: Call, recalled: Sequence[RecalledItem], question: str) -> list[model.GlobalResult]:
    return [_render_preview(call, each, question) for each in recalled]


def _render_preview(call: Call, recalled: RecalledItem, question: str) -> model.GlobalResult:
    item, hit = recalled.item, recalled.hit
    details = describe_item(call, recalled)
    status = details.pop("status", model.resolve_status(item.status, item.expires_at, call.now))
    size = _LINE_BYTES if recalled.is_doubtful else _EXCERPT_BYTES
    return model.GlobalResult(
        kind=hit.kind,
        id=hit.id,
        project=name_project(hit.project),
        title=hit.row["title"],
        relevance=recalled.relevance,
        doubtful=recalled.is_doubtful,
        age=format_age(recalled.changed_at, call.now),
        content_preview=cut_excerpt(item.text, question, hit.part, size),
        type=item.type if hit.kind in _KINDS_WITH_TYPES else "",
        status="" if status == "active" else status,
        author=item.author,
        warning=_build_item_warning(call, recalled, status),
        later=recalled.later,
        **details,
    )


def describe_item(call: Call, recalled: RecalledItem) -> dict[str, Any]:
    """The fields of a result that only its kind has."""
    source: SearchSource = call.search.sources[recalled.hit.kind]
    timely = source.describe(recalled.row, call.now) if source.describe else {}
    return {**recalled.item.details, **timely}


def _build_item_warning(call: Call, recalled: RecalledItem, status: str) -> str | None:
    """What a reader must know before trusting the item."""
    goes_stale = call.search.sources[recalled.hit.kind].goes_stale
    since = recalled.changed_at if goes_stale else call.now
    return model.format_warning(status, since, call.now, *recalled.item.doubts)


def name_project(project: str) -> str:
    return "global" if project == ALL_PROJECTS else project


def explain_match(recalled: RecalledItem, question: Question) -> str:
    """The words of the question that the item has, the rarest first, and the nearness of its meaning."""
    words = _list_matched_words(question.text, recalled.hit.matched_words)
    parts = ["words: " + ", ".join(words[:_MAX_SHOWN_WORDS])] if words else []
    if recalled.hit.similarity is not None and not (words and recalled.is_doubtful):
        parts.append(f"meaning {recalled.hit.similarity:.2f}")
    return "; ".join(parts)


def _list_matched_words(question: str, matched: Sequence[str]) -> list[str]:
    """As the question has them; a token that stands for a misspelt word as it is in the index."""
    written = {
        token: word.strip(".,;:!?\"'`()")
        for word in reversed(_NON_SPACE.findall(question))
        for token in text.tokenize(word)
    }
    words = dict.fromkeys(written.get(token, token) for token in matched)
    return [word for word in words if len(word) >= _MIN_SHOWN_CHARACTERS or not word.isascii()]


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
        pieces = text.split_passages(best, max_bytes)
        # Without a word of the question, its middle: a passage that is near in meaning begins with the end of another.
        best = _pick_passage(pieces, _list_word_starts(question), len(pieces) // 2 if question else 0)
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
