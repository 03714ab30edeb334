"""The argument `memory_types`: kinds of items and types of documents, asked for or left out (`-message`)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

from commonplace import errors
from commonplace.call import Call
from commonplace.rooms.knowledge import model
from commonplace.search.query import EntryFilter

_DOCUMENT_TYPES = frozenset(get_args(model.DocumentType))
_EXCLUDES = "-"


def restrict_to_types(
    call: Call, entry_filter: EntryFilter, memory_types: Sequence[str] | None
) -> EntryFilter:
    """The filter for the items that the argument means; a word may be a kind, a type of documents, or both."""
    words = [_resolve_word(word.strip().lower()) for word in memory_types or ()]
    wanted = [word for word in words if not word.startswith(_EXCLUDES)]
    excluded = [word.removeprefix(_EXCLUDES) for word in words if word.startswith(_EXCLUDES)]
    kind_by_name = list_kind_names(call)
    _require_known_words([*wanted, *excluded], kind_by_name)
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
        types=tuple(word for word in wanted if word in _DOCUMENT_TYPES),
        typed_kinds=tuple(sorted(wanted_kinds)),
        excluded_types=tuple(word for word in excluded if word in _DOCUMENT_TYPES),
    )


def _resolve_word(word: str) -> str:
    sign = _EXCLUDES if word.startswith(_EXCLUDES) else ""
    name = word.removeprefix(sign)
    return sign + model.TYPE_BY_OTHER_NAME.get(name, name)


def list_kind_names(call: Call) -> dict[str, str]:
    """The kind that each name means."""
    return {
        name: source.kind for source in call.search.sources.values() for name in (source.kind, *source.names)
    }


def _require_known_words(words: Sequence[str], kind_by_name: dict[str, str]) -> None:
    unknown = [word for word in words if word not in kind_by_name and word not in _DOCUMENT_TYPES]
    if unknown:
        raise errors.Invalid(
            f"Unknown memory type '{unknown[0][:40]}'.",
            hint=f"Use kinds ({', '.join(dict.fromkeys(kind_by_name.values()))})"
            f" or types of documents ({', '.join(sorted(_DOCUMENT_TYPES))}); -message leaves out a kind.",
        )
