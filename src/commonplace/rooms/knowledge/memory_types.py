"""The argument `memory_types`: kinds of items and types of items, asked for or left out (`-message`)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import get_args

from commonplace import errors
from commonplace.access import SHARED
from commonplace.call import Call
from commonplace.rooms.knowledge import model
from commonplace.search.index import has_entries_of_type
from commonplace.search.query import EntryFilter

_DOCUMENT_TYPES = frozenset(get_args(model.DocumentType))
_EXCLUDES = "-"


async def restrict_to_types(
    call: Call, entry_filter: EntryFilter, projects: Sequence[str], memory_types: Sequence[str] | None
) -> EntryFilter:
    """The filter for the items that the argument means; a word may be a kind, a type of items, or both."""
    kind_by_name = list_kind_names(call)
    types = _DOCUMENT_TYPES.union(*(source.types for source in call.search.sources.values()))
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
        for source in call.search.sources.values()
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


def list_kind_names(call: Call) -> dict[str, str]:
    """The kind that each name means."""
    return {
        name: source.kind for source in call.search.sources.values() for name in (source.kind, *source.names)
    }


async def _list_types(
    call: Call, projects: Sequence[str], words: Sequence[str], kind_by_name: Mapping[str, str]
) -> frozenset[str]:
    """The types that items can have; of those that authors choose, such as that of a spec, the words that are one."""
    sources = call.search.sources.values()
    types = _DOCUMENT_TYPES.union(*(source.types for source in sources))
    free_kinds = [source.kind for source in sources if source.has_free_types]
    chosen = [
        word
        for word in words
        if word not in types and word not in kind_by_name
        for project in projects
        for kind in free_kinds
        if await has_entries_of_type(call.tx, project, kind, word)
    ]
    return types.union(chosen)


def _refuse_unknown_words(unknown: Sequence[str], kind_by_name: Mapping[str, str]) -> None:
    if unknown:
        raise errors.Invalid(
            f"Unknown memory type '{unknown[0][:40]}'.",
            hint=f"Use kinds ({', '.join(dict.fromkeys(kind_by_name.values()))})"
            f" or types of documents ({', '.join(sorted(_DOCUMENT_TYPES))}); -message leaves out a kind.",
        )
