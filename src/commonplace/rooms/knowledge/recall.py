"""What a question recalls: the best items of every kind that the caller may read.

`search/score.py` ranks entries; here a kind and an item give their bonus, texts are loaded, and what was replaced stands
behind what replaced it. `results.py` renders the items.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import lru_cache, partial
from typing import get_args

from commonplace import errors
from commonplace.access import ALL_PROJECTS, SHARED
from commonplace.call import Call
from commonplace.notices import drop_notice_entries
from commonplace.rooms.knowledge import model, store
from commonplace.search import text
from commonplace.search.find import MAX_CANDIDATES, SearchScope, find_entries_in_scopes
from commonplace.search.index import has_entries_of_type, parse_counts
from commonplace.search.query import EntryFilter
from commonplace.search.score import Hit, Question, is_near, is_sure, show_relevance
from commonplace.search.source import EntryUse, SearchItem, SearchSource
from commonplace.store.database import Row

_MAX_PARTS_OF_ONE = 3
_MAX_NEAREST_TITLES = 3
_MAX_COMPARED_TITLES = 200
_DOCUMENT_TYPES = frozenset(get_args(model.DocumentType))
_EXCLUDES = "-"
_REPORT_TYPES = ("handoff", "work_item")
_FILE_BONUS = 0.5
_FILE_NAME = re.compile(r"(?<![\w./-])(?:[\w.-]+/)*[\w-][\w.-]*\.[a-zA-Z]\w{0,7}(?![\w/])")


@dataclass(frozen=True, slots=True)
class RecalledItem:
    """A hit with its item. `score` is that of the hit with the bonus of its kind and of the item; `later` the id of
    what replaced it, or of a newer text that is nearly the same."""

    hit: Hit
    item: SearchItem
    score: float
    is_doubtful: bool = False
    later: str = ""

    @property
    def row(self) -> Row:
        return self.item.row or {}

    @property
    def broken(self) -> Row | None:
        """The worst broken citation of a document."""
        return self.row.get("broken")

    @property
    def changed_at(self) -> int:
        return int(self.hit.row["changed_at"])

    @property
    def relevance(self) -> float:
        return show_relevance(self.score)

    @property
    def place(self) -> tuple[str, str]:
        return self.hit.project, self.hit.id


@dataclass(frozen=True, slots=True)
class Recall:
    """The best items in the order of their score, the number of further ones, and the titles of the nearest entries,
    for when none is near enough."""

    items: list[RecalledItem]
    more_matches: int
    nearest_titles: list[str]


def prepared_question(call: Call, question: str) -> Question:
    """The prepared question with its vector if it has this text, else one without a vector."""
    prepared = call.prepared
    return prepared if isinstance(prepared, Question) and prepared.text == question else Question(question)


async def recall_items(
    call: Call,
    question: Question,
    projects: Sequence[str],
    entry_filter: EntryFilter,
    limit: int,
    candidates: int = MAX_CANDIDATES,
) -> Recall:
    """The best items of the filter's kinds, or of all kinds if it names none."""
    scopes = list_search_scopes(call, projects, entry_filter.kinds)
    found = await find_entries_in_scopes(
        call.tx, call.search.vectors, question, scopes, entry_filter, candidates
    )
    near = [hit for hit in found if is_near(hit, question)]
    preferred = _limit_parts(call, _add_kind_bonus(call, near, entry_filter))
    items = await _load_items(call, [hit for _, hit in preferred[: limit * 2 + 10]])
    files = _FILE_NAME.findall(question.text)
    recalled = [
        RecalledItem(
            hit,
            item,
            score + item.bonus * hit.unit + _weigh_files(files, item.files),
            not is_sure(hit, question),
            item.later,
        )
        for score, hit in preferred
        if (item := items.get((hit.project, hit.kind, hit.id))) and (item.is_active or entry_filter.inactive)
    ]
    shown = {each.hit.id for each in recalled}
    ranked = sorted(
        (each for each in recalled if each.item.repeats not in shown),
        key=lambda each: (-each.score, -each.changed_at, each.hit.id),
    )
    ordered = put_later_first(await _add_later(call, link_near_duplicates(ranked), limit))
    titles = [] if ordered else await _list_nearest_titles(call, question, found, projects)
    return Recall(ordered[:limit], max(0, len(near) - limit), titles)


async def _list_nearest_titles(
    call: Call, question: Question, found: Sequence[Hit], projects: Sequence[str]
) -> list[str]:
    """The titles of what is least far, by score, or where nothing has a word or a vector by their letters."""
    titles = [f"{hit.row['title']} ({hit.id})" for hit in found if hit.row["title"]]
    if titles or call.project not in projects:
        return titles[:_MAX_NEAREST_TITLES]
    newest = await store.list_newest_documents(call.tx, call.project, call.now, _MAX_COMPARED_TITLES)
    return get_close_matches(question.text, [row["title"] for row in newest], _MAX_NEAREST_TITLES, 0.0)


def _add_kind_bonus(call: Call, hits: Sequence[Hit], entry_filter: EntryFilter) -> list[tuple[float, Hit]]:
    """The score of each hit with the bonus of its kind, the best first. A kind that was asked for has no malus."""
    sources: Mapping[str, SearchSource] = call.search.sources
    asked = entry_filter.typed_kinds
    scored = [
        (hit.score + (max(0.0, bonus) if hit.kind in asked else bonus) * hit.unit, hit)
        for hit in hits
        for bonus in (sources[hit.kind].bonus,)
    ]
    return sorted(scored, key=lambda pair: -pair[0])


def _limit_parts(call: Call, scored: Sequence[tuple[float, Hit]]) -> list[tuple[float, Hit]]:
    """Of the many parts of one whole only a few."""
    counts: Counter[object] = Counter()
    kept: list[tuple[float, Hit]] = []
    for score, hit in scored:
        whole = call.search.sources[hit.kind].whole
        name = (hit.project, hit.kind, whole(hit.id) if whole else hit.id)
        counts[name] += 1
        if counts[name] <= _MAX_PARTS_OF_ONE:
            kept.append((score, hit))
    return kept


def _weigh_files(asked: Sequence[str], files: Sequence[str]) -> float:
    """Who names a file wants what is known of it."""
    is_about = any(file == name or file.endswith(f"/{name}") for name in asked for file in files)
    return _FILE_BONUS if is_about else 0.0


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


async def _load_items(call: Call, hits: Sequence[Hit]) -> dict[tuple[str, str, str], SearchItem]:
    """One query, or a few, for each kind and project."""
    loaded: dict[tuple[str, str, str], SearchItem] = {}
    for project, kind in dict.fromkeys((hit.project, hit.kind) for hit in hits):
        ids = [hit.id for hit in hits if (hit.project, hit.kind) == (project, kind)]
        items = await call.search.sources[kind].load(call.tx, project, ids)
        loaded |= {(project, kind, item.id): item for item in items}
    return loaded


def link_near_duplicates(ranked: Sequence[RecalledItem]) -> list[RecalledItem]:
    """Make the newest of documents that say nearly the same the later one of the others, but of those that have a
    word of the question which it lacks: notes on three packages may differ in the name alone. Reports of work repeat
    each other without replacing anything."""
    documents = [
        each
        for each in ranked
        if each.hit.kind == store.DOCUMENT_KIND and each.item.type not in _REPORT_TYPES
    ]
    newer: dict[tuple[str, str], RecalledItem] = {}
    for at, one in enumerate(documents):
        for other in documents[at + 1 :]:
            if one.hit.project == other.hit.project and _are_near_duplicates(one.hit, other.hit):
                old, new = sorted((one, other), key=lambda each: (each.changed_at, each.hit.row["n"]))
                known = newer.get(old.place)
                answers = set(new.hit.matched_words).issuperset(old.hit.matched_words)
                if answers and new.item.is_active and (known is None or known.changed_at < new.changed_at):
                    newer[old.place] = new
    return [
        replace(each, later=newer[each.place].hit.id) if not each.later and each.place in newer else each
        for each in ranked
    ]


def _are_near_duplicates(one: Hit, other: Hit) -> bool:
    """By the distance that a write warns of."""
    counts, others = _parse_remembered(one.row["counts"]), _parse_remembered(other.row["counts"])
    return text.measure_similarity(counts, others) >= model.NEAR_DUPLICATE_SIMILARITY


@lru_cache(maxsize=256)
def _parse_remembered(counts: str) -> Counter[str]:
    """Remembered, because each result is compared with several others."""
    return parse_counts({"counts": counts})


async def _add_later(call: Call, ranked: Sequence[RecalledItem], limit: int) -> list[RecalledItem]:
    """Add what replaces one of the best, where the question did not find it: who reads the old one needs it. What has
    expired replaces nothing."""
    places = {each.place for each in ranked}
    added: list[RecalledItem] = []
    for at, each in enumerate(ranked):
        if at < limit and each.later and (each.hit.project, each.later) not in places:
            places.add((each.hit.project, each.later))
            source = call.search.sources[each.hit.kind]
            for item in await source.load(call.tx, each.hit.project, [each.later]):
                if item.expires_at is not None and item.expires_at <= call.now:
                    each = replace(each, later="")  # noqa: PLW2901 - the same one, without its link
                    continue
                row = {
                    **each.hit.row,
                    "id": item.id,
                    "title": item.title,
                    "changed_at": item.changed_at,
                    "counts": "",
                }
                hit = replace(each.hit, row=row, similarity=None, part=0)
                added.append(replace(each, hit=hit, item=item, later=item.later))
        added.append(each)
    return added


def put_later_first(ranked: Sequence[RecalledItem]) -> list[RecalledItem]:
    """Put what replaces a better match directly before it."""
    ordered: dict[tuple[str, str], RecalledItem] = {}
    places = {each.place: each for each in ranked}
    for place, each in places.items():
        later = places.get((each.hit.project, each.later))
        if later is not None:
            ordered.setdefault(later.place, later)
        ordered.setdefault(place, each)
    return list(ordered.values())


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


async def restrict_to_types(
    call: Call, entry_filter: EntryFilter, projects: Sequence[str], memory_types: Sequence[str] | None
) -> EntryFilter:
    """The filter for what `memory_types` means: kinds of items and types of items, asked for or left out (`-message`)."""
    sources = call.search.sources.values()
    kind_by_name = {name: source.kind for source in sources for name in (source.kind, *source.names)}
    types = _DOCUMENT_TYPES.union(*(source.types for source in sources))
    words = [_resolve_word(word.strip(), {*kind_by_name, *types}) for word in memory_types or ()]
    wanted = [word for word in words if not word.startswith(_EXCLUDES)]
    excluded = [word.removeprefix(_EXCLUDES) for word in words if word.startswith(_EXCLUDES)]
    unknown = [word for word in (*wanted, *excluded) if word not in kind_by_name and word not in types]
    types |= await _find_chosen_types(call, projects, unknown)
    _refuse_unknown_words([word for word in unknown if word not in types], kind_by_name)
    wanted_kinds = {kind_by_name[word] for word in wanted if word in kind_by_name}
    excluded_kinds = {kind_by_name[word] for word in excluded if word in kind_by_name}
    kinds = [
        source.kind
        for source in sources
        if source.kind not in excluded_kinds
        and (source.kind in wanted_kinds or (source.is_general and (not wanted or source.whole is None)))
    ]
    return replace(
        entry_filter,
        kinds=tuple(kinds),
        types=tuple(word for word in wanted if word in types),
        typed_kinds=tuple(sorted(wanted_kinds)),
        excluded_types=tuple(word for word in excluded if word in types),
    )


def _resolve_word(word: str, known: Collection[str]) -> str:
    """The name of a kind or a type in lower case; a type that an author chose stays as it is written."""
    sign = _EXCLUDES if word.startswith(_EXCLUDES) else ""
    written = word.removeprefix(sign)
    name = model.TYPE_BY_OTHER_NAME.get(written.lower(), written.lower())
    return sign + (name if name in known else written)


async def _find_chosen_types(call: Call, projects: Sequence[str], words: Sequence[str]) -> frozenset[str]:
    """The words that are types which authors chose, such as that of a spec, in projects that the caller may read."""
    readable = [each for each in projects if each == SHARED or call.caller.sees_project(each)]
    free_kinds = [source.kind for source in call.search.sources.values() if source.has_free_types]
    return frozenset(
        [
            word
            for word in words
            for project in readable
            for kind in free_kinds
            if await has_entries_of_type(call.tx, project, kind, word)
        ]
    )


def _refuse_unknown_words(unknown: Sequence[str], kind_by_name: Mapping[str, str]) -> None:
    if unknown:
        raise errors.Invalid(
            f"Unknown memory type '{unknown[0][:40]}'.",
            hint=f"Use kinds ({', '.join(dict.fromkeys(kind_by_name.values()))})"
            f" or types of documents ({', '.join(sorted(_DOCUMENT_TYPES))}); -message leaves out a kind.",
        )
