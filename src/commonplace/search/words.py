"""The words of entries as the tables have them, and how many entries of a project have each term.

A write that changes entries inserts a row of changes (`term_change`) instead of changing the count of each of its words
(`term`), because SQLite has one writer. The background adds them, each batch in a transaction that also deletes its
changes, so that none is lost or added twice. Who reads the counts adds what waits, so that they are exact at any time.
"""

import os
import random
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.search import text
from commonplace.store.database import Kind, Row, Statement, Tx, Value

ENTRY_COUNTER, WORD_COUNTER = "entries", "entry_words"
"""The counters of a project's entries and of their words; those of private entries have a digest of the reader behind an `@`."""


def build_counter_name(counter: str, reader: str) -> str:
    return f"{counter}@{text.token_prefix('', reader)}" if reader else counter


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


@dataclass(frozen=True, slots=True)
class EntryStatistics:
    """By how much writes change what BM25 needs: the number of entries, their length, and how many have each term, for
    each reader of private entries apart."""

    totals: dict[str, int]
    """Of the counters, which are sorted, so that writers of one project cannot deadlock."""
    terms: dict[str, int]

    def list_counter_steps(self, project: str) -> list[tuple[str, str, int]]:
        return [(project, name, step) for name, step in self.totals.items()]


class EntryWords(NamedTuple):
    """What an entry adds to the statistics, or takes from them: each word once, the number of all, and its readers."""

    terms: Collection[str]
    total: int
    readers: Sequence[str]


def sum_statistics(added: Sequence[EntryWords], removed: Sequence[EntryWords]) -> EntryStatistics:
    totals, new_terms, old_terms = Counter[str](), _count_terms(added), _count_terms(removed)
    for sign, entries in ((1, added), (-1, removed)):
        for _, total, readers in entries:
            for reader in readers or ("",):
                totals[build_counter_name(ENTRY_COUNTER, reader)] += sign
                totals[build_counter_name(WORD_COUNTER, reader)] += sign * total
    steps = {
        term: times - old_terms.get(term, 0)
        for term, times in new_terms.items()
        if term not in old_terms or old_terms[term] != times
    }
    steps |= {term: -times for term, times in old_terms.items() if term not in new_terms}
    return EntryStatistics(dict(sorted(totals.items())), steps)


def _count_terms(entries: Sequence[EntryWords]) -> Mapping[str, int]:
    """How many of these entries have each term, for each reader apart."""
    if len(entries) == 1 and not entries[0].readers:
        return dict.fromkeys(entries[0].terms, 1)
    counted = Counter[str]()
    for terms, _, readers in entries:
        for reader in readers or ("",):
            prefix = text.build_term_key("", reader)
            counted.update([prefix + term for term in terms])
    return counted


def sum_plain_statistics(written: Sequence[WrittenWords]) -> EntryStatistics:
    """The same for new entries that everyone may read, whose terms are joined already: most writes are that."""
    return EntryStatistics(
        {ENTRY_COUNTER: len(written), WORD_COUNTER: sum(words.total for words in written)}, {}
    )


MAX_TERMS_PER_BATCH = 400
"""Bounds how long the background holds the writer of SQLite: about as long as the write of a short document."""

# No secrets; asking the system for each one lets go of the interpreter's lock in the writer.
_change_ids = random.Random(secrets.randbits(128))  # noqa: S311
os.register_at_fork(after_in_child=_change_ids.seed)  # two processes must not draw the same ids


def join_terms(terms: Sequence[str]) -> tuple[str, ...]:
    """The terms as rows of changes have them, each row with few enough for one batch."""
    starts = range(0, len(terms), MAX_TERMS_PER_BATCH)
    return tuple(" ".join(terms[start : start + MAX_TERMS_PER_BATCH]) for start in starts)


async def insert_term_changes(tx: Tx, project: str, joined: Iterable[str], step: int = 1) -> None:
    """Let the background add `step` to the counts of these terms (`join_terms`)."""
    await tx.many(
        "insert into term_change (project, id, step, terms) values ($1, $2, $3, $4)",
        [(project, f"{_change_ids.getrandbits(64):016x}", step, terms) for terms in joined],
    )


async def insert_term_steps(tx: Tx, project: str, steps: Mapping[str, int]) -> None:
    """The same for terms that change by different steps."""
    for step in sorted(set(steps.values()) - {0}):
        terms = [term for term, own_step in steps.items() if own_step == step]
        await insert_term_changes(tx, project, join_terms(terms), step)


def term_counts_statement(project: str, terms: Sequence[str]) -> Statement:
    """Reads the counts of these terms with all changes that wait; `sum_term_counts` takes the rows.

    One statement, because on PostgreSQL a read has no snapshot over several.
    """
    return (
        (
            "select term as terms, n as step from term where project = $1 and term = any($2)"
            " union all select terms, step from term_change where project = $1"
        ),
        project,
        list(terms),
    )


def sum_term_counts(rows: Iterable[Row], terms: Collection[str]) -> dict[str, int]:
    """How many entries have each of these terms, for those that some entry has."""
    asked, counts = set(terms), Counter[str]()
    for row in rows:
        for term in asked.intersection(row["terms"].split(" ")):
            counts[term] += row["step"]
    return {term: counts[term] for term in terms if counts[term] > 0}


def terms_between_statement(project: str, first: str, last: str, limit: int) -> Statement:
    """Reads the terms between these two and their counts, with all changes that wait; `sum_steps` takes the rows."""
    return (
        (
            "select terms, step from (select term as terms, n as step from term where project = $1 and term > $2"
            " and term < $3 and n > 0 order by term limit $4) as counted"
            " union all select terms, step from term_change where project = $1"
        ),
        project,
        first,
        last,
        limit,
    )


def sum_steps(rows: Iterable[Row]) -> Counter[str]:
    """How much these rows add to each term."""
    total = Counter[str]()
    for row in rows:
        for term in row["terms"].split(" "):
            total[term] += row["step"]
    return total
