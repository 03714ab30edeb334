"""The words of an index entry as the tables of the index have them.

They are written before the transaction where the project is known by then: SQLite has one writer, and most of the
processor time of a new entry would be these texts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from commonplace.search import text
from commonplace.search.term_changes import join_terms
from commonplace.store.database import Kind, Value


@dataclass(frozen=True, slots=True)
class WrittenWords:
    project: str
    counts: str
    """The column `entry.counts`: each word and how often it occurs."""
    total: int
    joined_terms: tuple[str, ...]
    """Every word once, as changes of the counts have them."""
    tokens: Value
    """What the full-text index gets: a text on SQLite, a list on PostgreSQL."""


def write_words(kind: Kind, project: str, readers: Sequence[str], counts: Counter[str]) -> WrittenWords:
    """The words of an entry that these readers may find, or everyone; for a store of this kind."""
    scoped = scope_tokens(project, readers, counts)
    return WrittenWords(
        project,
        f" {' '.join([f'{token}:{times}' for token, times in counts.items()])} ",
        counts.total(),
        join_terms(list(counts)),
        format_full_text(scoped) if kind == "sqlite" else list(scoped),
    )


def scope_tokens(project: str, readers: Sequence[str], counts: Counter[str]) -> dict[str, int]:
    """The tokens as the words of a store have them, with how often each occurs."""
    prefixes = [text.token_prefix(project, reader) for reader in readers or ("",)]
    return {prefix + token: times for prefix in prefixes for token, times in counts.items()}


def format_full_text(tokens: Mapping[str, int]) -> str:
    """The text that FTS5 splits into these tokens again."""
    return " ".join([token if times == 1 else f"{token} " * times for token, times in tokens.items()])
