"""The results of memory_search_global: a preview of each item, from all projects that the caller sees."""

from collections.abc import Sequence

from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.rooms.knowledge import model
from commonplace.rooms.knowledge.excerpts import cut_excerpt
from commonplace.rooms.knowledge.recalled_item import RecalledItem
from commonplace.rooms.knowledge.results import build_item_warning, describe_item, name_project

_PREVIEW_BYTES = 240
_KINDS_WITH_TYPES = ("document", "spec")
"""The other kinds say what an item is; its status is left out where it is active."""


def render_previews(call: Call, recalled: Sequence[RecalledItem], question: str) -> list[model.GlobalResult]:
    return [_render_preview(call, each, question) for each in recalled]


def _render_preview(call: Call, recalled: RecalledItem, question: str) -> model.GlobalResult:
    item, hit = recalled.item, recalled.hit
    details = describe_item(call, recalled)
    status = details.pop("status", model.resolve_status(item.status, item.expires_at, call.now))
    return model.GlobalResult(
        kind=hit.kind,
        id=hit.id,
        project=name_project(hit.project),
        title=hit.row["title"],
        relevance=recalled.relevance,
        age=format_age(recalled.changed_at, call.now),
        content_preview=cut_excerpt(item.text, question, hit.part, _PREVIEW_BYTES),
        type=item.type if hit.kind in _KINDS_WITH_TYPES else "",
        status="" if status == "active" else status,
        author=item.author,
        warning=build_item_warning(call, recalled, status),
        later=item.later,
        **details,
    )
