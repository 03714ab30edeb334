"""Which of several results about one subject stands first: the newer one, and what contradicts or replaces another."""

import re
from dataclasses import replace
from functools import lru_cache

from commonplace.rooms.knowledge import store
from commonplace.rooms.knowledge.recalled_item import RecalledItem
from commonplace.search.find import Hit

_NEARLY_EQUAL = 0.1
_MAX_AMENDED_GAP = 0.4
_MAX_AMENDED_PASSAGES = 1.5
_CODE_SIGNS = re.compile(r"\bdef \w|[\w\])]\(\)|[;{}]\s*$| = |==", re.MULTILINE)
_SHARED_SUBJECT = 0.5
_SHARED_SUBJECT_OF_LONGER = 0.25
_SHARED_SUBJECT_OF_CHANGE = 0.3
_TELLS_CHANGE = re.compile(
    r"(?i)\b(?:replace[sd]?|replacing|mov(?:e[sd]?|ing)|switch(?:e[sd]|ing)?|migrat(?:e[sd]?|ing)|supersedes?|deprecated"
    r"|no longer|any ?more|instead of|removed|deleted|switched off|from now on|since)\b"
)
_INDEXED_TOKEN = re.compile(r" ([^ :]+):")
_REPORT_TYPES = ("handoff", "work_item")


def link_same_titles(ranked: list[RecalledItem], now: int) -> list[RecalledItem]:
    """Of short documents with the same title and type, make the newest the later one of the others."""
    groups: dict[tuple[str, str, str], list[RecalledItem]] = {}
    for each in ranked:
        if each.hit.kind == store.DOCUMENT_KIND and each.item.type not in _REPORT_TYPES:
            name = (each.hit.project, each.item.type, " ".join(each.item.title.lower().split()))
            groups.setdefault(name, []).append(each)
    later: dict[tuple[str, str], str] = {}
    for same in groups.values():
        holding = [each for each in same if _holds(each, now)]
        if len(same) > 1 and holding:
            newest = max(holding, key=lambda each: (each.changed_at, each.hit.row["n"]))
            later |= {
                (each.hit.project, each.hit.id): newest.item.later or newest.hit.id
                for each in same
                if not each.item.later and _is_retold(each, newest)
            }
    return [_set_later(each, later.get((each.hit.project, each.hit.id), "")) for each in ranked]


def _holds(each: RecalledItem, now: int) -> bool:
    expires_at = each.item.expires_at
    return each.item.status == "active" and (expires_at is None or expires_at > now)


def _is_retold(older: RecalledItem, newer: RecalledItem) -> bool:
    """Is the newer one about the same? Chapters and pieces of code share titles without replacing each other."""
    if older is newer or max(newer.hit.passages, older.hit.passages) > _MAX_AMENDED_PASSAGES:
        return False
    shared, _ = _measure_shared_words(newer.hit, older.hit)
    return shared >= _SHARED_SUBJECT_OF_CHANGE and not _CODE_SIGNS.search(newer.item.text)


def _set_later(each: RecalledItem, later: str) -> RecalledItem:
    has_later = bool(later) and later != each.hit.id
    return replace(each, item=replace(each.item, later=later)) if has_later else each


def put_newer_first(ranked: list[RecalledItem]) -> list[RecalledItem]:
    """Of two neighbours about one subject that match nearly equally well, let the newer one come first."""
    ordered = list(ranked)
    for end in range(len(ordered) - 1, 0, -1):
        has_moved = False
        for at in range(end):
            first, second = ordered[at], ordered[at + 1]
            is_newer = first.changed_at < second.changed_at
            if is_newer and _have_one_kind(first.hit, second.hit) and _may_amend(second, first):
                ordered[at] = replace(second, closeness=first.closeness)
                ordered[at + 1] = replace(first, closeness=second.closeness)
                has_moved = True
        if not has_moved:
            break
    return ordered


def _may_amend(newer: RecalledItem, older: RecalledItem) -> bool:
    """Do both match nearly equally well and have one subject? If the newer one says that something changed, it may
    match less well, because it need not repeat what it replaces.

    Only short prose: long texts have many subjects, and pieces of code share most of their words.
    """
    gap = older.closeness - newer.closeness
    if gap > _MAX_AMENDED_GAP or max(newer.hit.passages, older.hit.passages) > _MAX_AMENDED_PASSAGES:
        return False
    shared, shared_of_longer = _measure_shared_words(newer.hit, older.hit)
    words = f"{newer.item.title}\n{newer.item.text}"
    if shared < _SHARED_SUBJECT_OF_CHANGE or _CODE_SIGNS.search(words):
        return False
    has_one_subject = shared >= _SHARED_SUBJECT and shared_of_longer >= _SHARED_SUBJECT_OF_LONGER
    return (gap <= _NEARLY_EQUAL and has_one_subject) or _TELLS_CHANGE.search(words) is not None


def _have_one_kind(first: Hit, second: Hit) -> bool:
    return (first.project, first.kind) == (second.project, second.kind)


def _measure_shared_words(first: Hit, second: Hit) -> tuple[float, float]:
    """The share of the words of the shorter entry that both have, and of the longer one."""
    one, other = _list_indexed_tokens(first.row["counts"]), _list_indexed_tokens(second.row["counts"])
    shared = len(one & other)
    return shared / (min(len(one), len(other)) or 1), shared / (max(len(one), len(other)) or 1)


@lru_cache(maxsize=256)
def _list_indexed_tokens(counts: str) -> frozenset[str]:
    """Remembered, because each result is compared with several others."""
    return frozenset(_INDEXED_TOKEN.findall(counts))


def put_later_first(ranked: list[RecalledItem]) -> list[RecalledItem]:
    """Put an item that contradicts or replaces a better match directly before it."""
    ordered: dict[tuple[str, str], RecalledItem] = {}
    places = {(each.hit.project, each.hit.id): each for each in ranked}
    for place, each in places.items():
        later = places.get((each.hit.project, each.item.later))
        if later is not None:
            ordered.setdefault((later.hit.project, later.hit.id), replace(later, closeness=each.closeness))
        ordered.setdefault(place, each)
    return list(ordered.values())
