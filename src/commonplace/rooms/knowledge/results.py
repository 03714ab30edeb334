"""The results of memory_query: each with an explanation and an excerpt of its text, all within a budget of tokens."""

from collections.abc import Sequence
from typing import Any

from commonplace.access import ALL_PROJECTS
from commonplace.call import Call
from commonplace.clock import format_age, iso
from commonplace.rooms.knowledge import model
from commonplace.rooms.knowledge.excerpts import (
    MIN_EXCERPT_BYTES,
    count_json_bytes,
    fit_excerpt,
    truncate_line,
)
from commonplace.rooms.knowledge.match_reason import explain_match
from commonplace.rooms.knowledge.recalled_item import RecalledItem
from commonplace.search.find import Question
from commonplace.search.source import SearchSource

_SNIPPET_BYTES = 400
_BYTES_PER_TOKEN = 4
_QUESTION_SHARE = 10
_MIN_LINE_BYTES = 30
_MAX_COUNTED_MATCHES = 9999


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
        result = _render_result(call, each, question)
        if results and left - count_json_bytes(result) < MIN_EXCERPT_BYTES:
            break
        _shrink_result(result, left)
        room = max(left - count_json_bytes(result), 0)
        content = each.item.text
        share = _allot_bytes(detail, room, len(recalled) - index, len(content.encode()))
        result.content = fit_excerpt(content, question.text, each.hit.part, share)
        result.truncated = result.content != content
        results.append(result)
        left -= count_json_bytes(result) + len(",")
    return results


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


def _allot_bytes(detail: model.DetailLevel, room: int, results: int, content_bytes: int) -> int:
    """With detail=full, a text that fits is shown whole; else each result gets an equal share."""
    if detail == "snippet":
        return min(_SNIPPET_BYTES, room)
    return room if detail == "full" and content_bytes <= room else room // results


def _render_result(call: Call, recalled: RecalledItem, question: Question) -> model.QueryResult:
    """The result without its text."""
    item, hit = recalled.item, recalled.hit
    details = describe_item(call, recalled)
    status = details.pop("status", model.resolve_status(item.status, item.expires_at, call.now))
    return model.QueryResult(
        kind=hit.kind,
        id=hit.id,
        source=name_project(hit.project),
        title=item.title or hit.row["title"],
        type=item.type,
        status=status,
        author=item.author,
        relevance=recalled.relevance,
        created=iso(item.created_at or recalled.changed_at),
        updated=iso(item.updated_at or recalled.changed_at),
        age=format_age(recalled.changed_at, call.now),
        content="",
        access_count=recalled.row.get("opened", 0),
        why=explain_match(recalled, question),
        tags=list(item.tags),
        truncated=True,
        warning=build_item_warning(call, recalled, status),
        later=item.later,
        **details,
    )


def describe_item(call: Call, recalled: RecalledItem) -> dict[str, Any]:
    """The fields of a result that only its kind has."""
    source: SearchSource = call.search.sources[recalled.hit.kind]
    timely = source.describe(recalled.row, call.now) if source.describe else {}
    return {**recalled.item.details, **timely}


def build_item_warning(call: Call, recalled: RecalledItem, status: str) -> str | None:
    """What a reader must know before trusting the item."""
    goes_stale = call.search.sources[recalled.hit.kind].goes_stale
    since = recalled.changed_at if goes_stale else call.now
    return model.format_warning(status, since, call.now, *recalled.item.doubts)


def name_project(project: str) -> str:
    return "global" if project == ALL_PROJECTS else project
