"""The entry of a document in the search index, and its words, which are counted before the transaction."""

from collections import Counter
from collections.abc import Mapping, Sequence

from commonplace.search import index, text
from commonplace.search.written_words import WrittenWords
from commonplace.store.database import Value

DOCUMENT_KIND = "document"


def build_index_entry(
    row: Mapping[str, Value],
    tags: Sequence[str],
    files: Sequence[str],
    counted: Counter[str] | None = None,
    written: WrittenWords | None = None,
) -> index.IndexEntry:
    """A document is also found by its interface and its cited files."""
    return index.IndexEntry(
        project=str(row["project"]),
        kind=DOCUMENT_KIND,
        id=str(row["id"]),
        type=str(row["type"]),
        title=str(row["title"]),
        body="\n".join((str(row["content"]), str(row["interface_name"]), *files)),
        changed_at=_int_or_none(row["changed_at"]) or 0,
        status=str(row["status"]),
        expires_at=_int_or_none(row["expires_at"]),
        tags=tuple(tags),
        counted=counted,
        written=written,
    )


def count_document_words(
    title: str,
    content: str,
    tags: Sequence[str],
    interface_name: str,
    files: Sequence[str],
    content_words: Counter[str],
) -> Counter[str]:
    """The words of the index entry of a new document, from those of its content."""
    body = "\n".join((content, interface_name, *files))
    entry = index.IndexEntry("", DOCUMENT_KIND, "", "", title, body, 0, tags=tuple(dict.fromkeys(tags)))
    return count_entry_words(entry, (interface_name, *files), content_words)


def count_entry_words(
    entry: index.IndexEntry, places: Sequence[str], content_words: Counter[str]
) -> Counter[str]:
    return index.count_entry_words(entry, text.add_counts(content_words, text.count_tokens("\n".join(places))))


def _int_or_none(value: Value) -> int | None:
    return value if isinstance(value, int) else None
