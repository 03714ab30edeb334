"""What a question recalls: the best items of every kind that the caller may read.

`search/find.py` proposes entries; here they get the bonus of their kind and of the item, and their texts are loaded.
`results.py` and `global_search.py` render them, `match_reason.py` says why each matches.
"""

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from commonplace.access import ALL_PROJECTS, SHARED
from commonplace.call import Call
from commonplace.notices import drop_notice_entries
from commonplace.rooms.knowledge import question_words, store
from commonplace.rooms.knowledge.asked_items import GUIDELINE_KIND, find_listing, is_asked_for
from commonplace.rooms.knowledge.newer_items import link_same_titles, put_later_first, put_newer_first
from commonplace.rooms.knowledge.recalled_item import RecalledItem
from commonplace.search.find import (
    MAX_CANDIDATES,
    Hit,
    Question,
    SearchScope,
    find_entries_in_scopes,
    list_entries_in_scopes,
)
from commonplace.search.query import EntryFilter
from commonplace.search.relevance import is_doubtful, is_relevant, keep_relevant
from commonplace.search.source import SearchItem, SearchSource
from commonplace.search.time_range import read_time_range
from commonplace.search.usage import EntryUse

_MAX_PARTS_OF_ONE = 3
_FILE_BONUS = 0.5
_MAX_LISTED = 10
_FILE_NAME = re.compile(r"(?<![\w./-])(?:[\w.-]+/)*[\w-][\w.-]*\.[a-zA-Z]\w{0,7}(?![\w/])")
_COMPARED_START_CHARACTERS = 200
_CHAT_CLOSENESS_RATIO = 0.6


@dataclass(frozen=True, slots=True)
class Recall:
    """The best items in the order of their relevance, and the number of further relevant ones.

    `is_of_other_time` if the question names a time from which there is nothing; `is_doubtful` if no item is
    surely about it.
    """

    items: list[RecalledItem]
    more_matches: int
    is_of_other_time: bool = False
    is_doubtful: bool = False


def prepared_question(call: Call, text: str) -> Question:
    """The prepared question with its vector if it has this text, else one without a vector."""
    prepared = call.prepared
    return prepared if isinstance(prepared, Question) and prepared.text == text else Question(text)


async def recall_items(
    call: Call,
    question: Question,
    projects: Sequence[str],
    entry_filter: EntryFilter,
    limit: int,
    candidates: int = MAX_CANDIDATES,
    only_relevant: bool = False,
) -> Recall:
    """The best items of the filter's kinds, or of all kinds if it names none; if the question names a time, of that.

    With `only_relevant` there are none if not one of them is about the question.
    """
    time = None if entry_filter.changed_since else read_time_range(question.text, call.now)
    search = partial(_recall_best, call, question, projects, limit, candidates, only_relevant)
    if time is None:
        return await search(entry_filter)
    recall = await search(replace(entry_filter, changed_since=time.since, changed_until=time.until))
    return recall if recall.items else replace(await search(entry_filter), is_of_other_time=True)


async def _recall_best(
    call: Call,
    question: Question,
    projects: Sequence[str],
    limit: int,
    candidates: int,
    only_relevant: bool,
    entry_filter: EntryFilter,
) -> Recall:
    scopes = list_search_scopes(call, projects, entry_filter.kinds)
    found = await find_entries_in_scopes(
        call.tx, call.search.vectors, question, scopes, entry_filter, candidates
    )
    found += await _list_asked_kind(call, question, scopes, entry_filter, found)
    asked = {id(hit) for hit in found if is_asked_for(question.text, hit.kind, hit.row["title"])}
    if only_relevant:
        relevant = {id(hit) for hit in keep_relevant(found, question)}
        found = [hit for hit in found if id(hit) in relevant | asked]
    near = _list_nearest(call, found)[: limit * 2 + 10]
    items = await _load_items(call, [hit for _, hit in near])
    asked_files, words = _FILE_NAME.findall(question.text), question_words.list_question_words(question.text)
    asked_types = {*entry_filter.types, *entry_filter.typed_kinds}

    def weigh(hit: Hit, item: SearchItem) -> float:
        bonus = item.bonus + question_words.weigh_type(words, asked_types, hit.kind, item)
        return bonus * hit.unit + _weigh_files(asked_files, item.files)

    recalled = [
        RecalledItem(hit, item, closeness + weigh(hit, item))
        for closeness, hit in near
        if (item := items.get((hit.project, hit.kind, hit.id))) and (item.is_active or entry_filter.inactive)
    ]
    ranked = _defer_repeats(sorted(_drop_repeats(recalled), key=lambda each: -each.closeness))
    if not question_words.asks_for_chat(words, entry_filter.kinds):
        ranked = _put_chat_behind(ranked, question)
    linked = link_same_titles(_put_past_last(put_newer_first(ranked), question), call.now)
    best = put_later_first(await _add_later(call, _put_asked_first(linked, asked), limit))[:limit]
    shown = {(each.hit.project, each.hit.kind, each.hit.id) for each in best}
    more = [
        hit
        for hit in found
        if (hit.project, hit.kind, hit.id) not in shown and (not only_relevant or is_relevant(hit, question))
    ]
    doubtful = all(id(each.hit) not in asked and is_doubtful(each.hit, question) for each in best)
    return Recall(best, len(more), is_doubtful=doubtful)


async def _list_asked_kind(
    call: Call,
    question: Question,
    scopes: Sequence[SearchScope],
    entry_filter: EntryFilter,
    found: Sequence[Hit],
) -> list[Hit]:
    """The guidelines that a question for all of them did not find: it has none of their words."""
    listing = find_listing(question.text)
    if listing is None or listing.kind != GUIDELINE_KIND:
        return []
    kinds = (GUIDELINE_KIND,)
    wanted = [replace(scope, kinds=kinds) for scope in scopes if GUIDELINE_KIND in scope.kinds]
    known = {(hit.project, hit.id) for hit in found if hit.kind == GUIDELINE_KIND}
    listed = await list_entries_in_scopes(call.tx, wanted, entry_filter, _MAX_LISTED)
    return [hit for hit in listed if (hit.project, hit.id) not in known]


def list_search_scopes(call: Call, projects: Sequence[str], kinds: Sequence[str]) -> list[SearchScope]:
    """The kinds that the caller may read in each project. Parts of larger things are searched apart, so that the many
    parts do not crowd out the rest."""
    scopes = []
    for project in projects:
        readable = [
            source
            for source in call.search.sources.values()
            if (source.kind in kinds or (not kinds and source.is_general))
            and _can_read_kind(call, project, source)
        ]
        for is_part in (False, True):
            scope_kinds = tuple(source.kind for source in readable if (source.whole is not None) is is_part)
            if scope_kinds:
                scopes.append(SearchScope(project, scope_kinds, call.name_reader(project), is_part))
    return scopes


def _can_read_kind(call: Call, project: str, source: SearchSource) -> bool:
    """Every caller reads the shared project and the global guidelines, but not what workspaces put there."""
    is_open = project in (SHARED, ALL_PROJECTS) and source.is_shared_with_all
    return is_open or call.caller.sees_project(project)


def _list_nearest(call: Call, hits: Sequence[Hit]) -> list[tuple[float, Hit]]:
    """The hits with their closeness and the bonus of their kind, the best first; of one whole only a few parts."""
    sources: Mapping[str, SearchSource] = call.search.sources
    counts: Counter[object] = Counter()
    nearest: list[tuple[float, Hit]] = []
    for hit in hits:
        source = sources[hit.kind]
        if source.whole:
            name = (hit.project, hit.kind, source.whole(hit.id))
            counts[name] += 1
            if counts[name] > _MAX_PARTS_OF_ONE:
                continue
        nearest.append((hit.closeness + source.bonus * hit.unit, hit))
    return sorted(nearest, key=lambda pair: -pair[0])


async def _load_items(call: Call, hits: Sequence[Hit]) -> dict[tuple[str, str, str], SearchItem]:
    """One query, or a few, for each kind and project."""
    loaded: dict[tuple[str, str, str], SearchItem] = {}
    for project, kind in dict.fromkeys((hit.project, hit.kind) for hit in hits):
        ids = [hit.id for hit in hits if (hit.project, hit.kind) == (project, kind)]
        items = await call.search.sources[kind].load(call.tx, project, ids)
        loaded |= {(project, kind, item.id): item for item in items}
    return loaded


def _drop_repeats(recalled: Sequence[RecalledItem]) -> list[RecalledItem]:
    """Leave out what only repeats another of them, such as the work on a task that is found itself."""
    found = {each.hit.id for each in recalled}
    return [each for each in recalled if each.item.repeats not in found]


def _put_asked_first(ranked: list[RecalledItem], asked: Collection[int]) -> list[RecalledItem]:
    """Put the items that the question asks for by name or kind first, as relevant as the best of the others."""
    first = [each for each in ranked if id(each.hit) in asked]
    others = [each for each in ranked if id(each.hit) not in asked]
    best = max((each.closeness for each in others), default=-math.inf)
    return [*(replace(each, closeness=max(each.closeness, best)) for each in first), *others]


def _put_past_last(ranked: list[RecalledItem], question: Question) -> list[RecalledItem]:
    """Put what only tells of past work behind what holds now and is about the question."""
    holds_now = [each for each in ranked if not each.item.is_past and is_relevant(each.hit, question)]
    if len(holds_now) == len(ranked) or not any(each.item.is_past for each in ranked):
        return ranked
    least = min((each.closeness for each in holds_now), default=math.inf)
    others = [each for each in ranked if each.item.is_past or not is_relevant(each.hit, question)]
    return [*holds_now, *(replace(each, closeness=min(each.closeness, least)) for each in others)]


def _put_chat_behind(ranked: list[RecalledItem], question: Question) -> list[RecalledItem]:
    """Put mail and chat behind every other relevant item that matches nearly as well."""

    def is_chat(each: RecalledItem) -> bool:
        return each.hit.kind in question_words.CHAT_KINDS

    def cap(each: RecalledItem) -> float:
        near = [other for other in others if other >= each.closeness * _CHAT_CLOSENESS_RATIO]
        return min([each.closeness, *near])

    others = [each.closeness for each in ranked if not is_chat(each) and is_relevant(each.hit, question)]
    placed = [replace(each, closeness=cap(each)) if is_chat(each) else each for each in ranked]
    return sorted(placed, key=lambda each: (-each.closeness, is_chat(each)))


async def _add_later(call: Call, ranked: list[RecalledItem], limit: int) -> list[RecalledItem]:
    """Add what replaces one of the best, where the question did not find it: who reads the old one needs it.

    What has expired replaces nothing.
    """
    places = {(each.hit.project, each.hit.id) for each in ranked}
    added = list(ranked)
    for index, each in enumerate(ranked[:limit]):
        hit, later = each.hit, each.item.later
        if later and (hit.project, later) not in places:
            for item in await call.search.sources[hit.kind].load(call.tx, hit.project, [later]):
                if item.expires_at is not None and item.expires_at <= call.now:
                    added[index] = replace(each, item=replace(each.item, later=""))
                    continue
                row = {
                    **hit.row,
                    "id": later,
                    "title": item.title,
                    "changed_at": item.changed_at,
                    "counts": "",
                }
                added.append(
                    RecalledItem(replace(hit, row=row, similarity=None, part=0), item, each.closeness)
                )
            places.add((hit.project, later))
    return added


def _defer_repeats(recalled: Sequence[RecalledItem]) -> list[RecalledItem]:
    """Move items with the same text as a better one to the end, where they are worth no more than the last one."""
    unique: list[RecalledItem] = []
    repeats: list[RecalledItem] = []
    texts_by_start: dict[str, list[str]] = {}
    for each in recalled:
        # Most texts differ at the start, so few have to be read whole.
        content = each.item.text
        alike = texts_by_start.setdefault(_squeeze_text(content[:_COMPARED_START_CHARACTERS]), [])
        is_repeat = any(_squeeze_text(content) == _squeeze_text(other) for other in alike)
        (repeats if is_repeat else unique).append(each)
        alike.append(content)
    last = unique[-1].closeness if unique else 0.0
    return [*unique, *(replace(each, closeness=min(each.closeness, last)) for each in repeats)]


def _squeeze_text(content: str) -> str:
    return " ".join(content.split()).lower()


def _weigh_files(asked: Sequence[str], files: Sequence[str]) -> float:
    """Who names a file wants what is known of it."""
    is_about = any(file == name or file.endswith(f"/{name}") for name in asked for file in files)
    return _FILE_BONUS if is_about else 0.0


def note_shown_documents(call: Call, rows: Sequence[tuple[str, str]], opened: bool) -> None:
    """Note that the documents with these (project, id) were shown: a notice need not tell of them any more."""
    session = call.session.id if call.session else ""
    if call.session and call.session.has_notice and rows:
        shown = {identity for _, identity in rows}
        call.deferred_writes.append(
            partial(drop_notice_entries, session=call.session, kind="decision", field="document", names=shown)
        )
    call.search.uses.add_uses(
        [
            EntryUse(project, store.DOCUMENT_KIND, identity, session, opened, call.now)
            for project, identity in rows
        ]
    )
