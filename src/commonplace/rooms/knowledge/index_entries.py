"""The entry of a document in the search index, and its words, which are counted before the transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from commonplace.search import index, text
from commonplace.search.words import WrittenWords, write_words
from commonplace.store.database import Kind, Value

DOCUMENT_KIND = "document"


@dataclass(frozen=True, slots=True)
class DocumentWords:
    """The words of a document, counted before its transaction: of its content, and of its index entry if the document
    then has these tags and places. Places are its interface and its cited files."""

    content: Counter[str]
    tags: tuple[str, ...]
    places: tuple[str, ...]
    entry: Counter[str]
    written: WrittenWords | None = None
    """Those of the entry as the tables have them, if the project was known."""


def count_document_words(
    title: str, content: str, content_words: Counter[str], tags: Sequence[str], places: Sequence[str]
) -> DocumentWords:
    entry = index.IndexEntry(
        "", DOCUMENT_KIND, "", "", title, _join_body(content, places), 0, tags=tuple(tags)
    )
    entry_words = _count_entry_words(entry, places, content_words)
    return DocumentWords(content_words, tuple(tags), tuple(places), entry_words)


def write_document_words(words: DocumentWords, kind: Kind, project: str) -> DocumentWords:
    """The same words, written for this project."""
    return replace(words, written=write_words(kind, project, (), words.entry))


def build_index_entry(
    row: Mapping[str, Value], tags: Sequence[str], files: Sequence[str], words: DocumentWords | None = None
) -> index.IndexEntry:
    """A document is also found by its interface and its cited files."""
    places = (str(row["interface_name"]), *files)
    is_counted = words is not None and (words.tags, words.places) == (tuple(tags), places)
    entry = index.IndexEntry(
        project=str(row["project"]),
        kind=DOCUMENT_KIND,
        id=str(row["id"]),
        type=str(row["type"]),
        title=str(row["title"]),
        body=_join_body(str(row["content"]), places),
        changed_at=_int_or_none(row["changed_at"]) or 0,
        status=str(row["status"]),
        expires_at=_int_or_none(row["expires_at"]),
        tags=tuple(tags),
        counted=words.entry if words and is_counted else None,
        written=words.written if words and is_counted else None,
    )
    if words is None or is_counted:
        return entry
    return replace(entry, counted=_count_entry_words(entry, places, words.content))


def _join_body(content: str, places: Sequence[str]) -> str:
    return "\n".join((content, *places))


def _count_entry_words(
    entry: index.IndexEntry, places: Sequence[str], content_words: Counter[str]
) -> Counter[str]:
    return index.count_entry_words(
        entry, text.add_counts(content_words, text.count_tokens("\n".join(places)))
    )


def _int_or_none(value: Value) -> int | None:
    return value if isinstance(value, int) else None
