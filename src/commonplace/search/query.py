"""What an index query asks for: the terms of a question with their weights, and the filter that entries must pass.

`find.py` builds both; `sqlite.py` and `postgres.py` run them.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain

import msgspec

from commonplace.search import text
from commonplace.search.words import (
    ENTRY_COUNTER,
    WORD_COUNTER,
    build_counter_name,
    sum_term_counts,
    term_counts_statement,
)
from commonplace.store.database import Row, Statement, Tx, Value

ENTRY_COLUMNS = (
    "e.project, e.n, e.kind, e.id, e.type, e.status, e.title, e.counts, e.length, e.changed_at, e.expires_at"
)
WORDS_PER_PASSAGE = 80
_K1 = 1.5
_B = 0.9
_MAX_QUESTION_TOKENS = 100
# A question of common words would read half the index; its rare words decide the order anyway.
_MAX_CANDIDATE_ROWS = 3000
_GROUPED_TERMS = 3


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """`worth` is each term's inverse frequency. Candidates have all the terms of any group of `searched`: each rare
    term is a group of its own, common ones stand together. `best` is what an entry of mean length that has every word
    twice would score; a word that nobody has counts like one of a single entry. Words that are all `common` would take
    as long as the project is large to put in order, so the newest entries that have them are the candidates.
    `tokens` are those of each term in the index, one for each kind of readers that has entries with it. `passages` is the size
    of the index. `exact` are names
    of code in the question that at most a few entries have."""

    worth: dict[str, float]
    searched: tuple[tuple[str, ...], ...]
    mean_length: float
    best: float
    common: bool
    tokens: dict[str, tuple[str, ...]]
    passages: float = 1.0
    exact: tuple[str, ...] = ()

    def score_entry(self, counts: str, length: int) -> float:
        """Inlined, because a question scores hundreds of entries."""
        norm = _K1 * (1 - _B + _B * length / self.mean_length)
        score = 0.0
        for term, worth in self.worth.items():
            at = counts.find(f" {term}:")
            if at >= 0:
                start = at + len(term) + 2
                times = int(counts[start : counts.index(" ", start)])
                score += worth * times * (_K1 + 1) / (times + norm)
        return score

    @property
    def loosened_terms(self) -> "QueryTerms":
        """Each term alone, for when no entry has the common ones together."""
        return replace(self, searched=tuple((term,) for group in self.searched for term in group))

    @property
    def has_groups(self) -> bool:
        return any(len(group) > 1 for group in self.searched)

    def list_matched_terms(self, counts: str) -> list[str]:
        """The terms that an entry has, the rarest first."""
        return sorted(
            (term for term in self.worth if f" {term}:" in counts), key=lambda term: -self.worth[term]
        )


def split_question(question: str) -> list[tuple[str, ...]]:
    """The distinct words of a question as their tokens, up to a limit."""
    words: list[tuple[str, ...]] = []
    room = _MAX_QUESTION_TOKENS
    for word in dict.fromkeys(text.tokenize_question(question)):
        if room > 0:
            words.append(word[:room])
        room -= len(word)
    return words


def list_distinct_tokens(words: list[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(chain.from_iterable(words)))


def weigh_terms(
    question_words: list[tuple[str, ...]],
    frequency: dict[str, int],
    entries: int,
    total_words: int,
    max_terms: int,
    tokens: dict[str, tuple[str, ...]],
) -> QueryTerms:
    indexed = [token for token in list_distinct_tokens(question_words) if token in frequency]
    chosen = sorted(indexed, key=lambda token: frequency[token])[:max_terms]
    total = max(entries, 1, max(frequency.values(), default=0))
    worth = {token: _inverse_frequency(frequency[token], total) for token in chosen}
    sums = list(accumulate(frequency[token] for token in chosen))
    rare = sum(rows <= _MAX_CANDIDATE_ROWS for rows in sums)
    searched: list[tuple[str, ...]] = [(token,) for token in chosen[:rare]]
    common = bool(chosen) and not rare
    if common:
        searched.append(tuple(chosen[:_GROUPED_TERMS]))
    unknown = sum(frequency.keys().isdisjoint(word) for word in question_words)
    whole_worth = sum(worth.values()) + unknown * _inverse_frequency(1, total)
    return QueryTerms(
        worth,
        tuple(searched),
        max(1.0, total_words / max(1, entries)),
        whole_worth * 2 * (_K1 + 1) / (2 + _K1),
        common,
        tokens,
        max(entries, total_words / WORDS_PER_PASSAGE, 1.0),
    )


def _inverse_frequency(frequency: int, total: int) -> float:
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """What a project's index counts: entries and words in all, and for each term the number of entries that have it and
    its tokens in the index. Terms without entries are left out."""

    entries: int
    words: int
    frequencies: dict[str, int]
    tokens: dict[str, tuple[str, ...]]

    def add_terms(self, others: "TermStatistics") -> "TermStatistics":
        return replace(
            self,
            frequencies={**others.frequencies, **self.frequencies},
            tokens={**others.tokens, **self.tokens},
        )


async def load_term_statistics(
    tx: Tx, project: str, terms: list[str], readers: Sequence[str], *also: Statement
) -> tuple[TermStatistics | None, Sequence[Sequence[Row]]]:
    """The statistics of what these readers may see, None if they have no entries; and the rows of `also`."""
    counters = {
        reader: (build_counter_name(ENTRY_COUNTER, reader), build_counter_name(WORD_COUNTER, reader))
        for reader in readers
    }
    scoped = {text.build_term_key(term, reader): (term, reader) for reader in readers for term in terms}
    counter_rows, term_rows, *others = await tx.together(
        (
            "select name, n from counter where project = $1 and name = any($2)",
            project,
            list(chain.from_iterable(counters.values())),
        ),
        term_counts_statement(project, list(scoped)),
        *also,
    )
    totals: dict[str, int] = {row["name"]: row["n"] for row in counter_rows}
    known = [reader for reader, (entries, _) in counters.items() if totals.get(entries, 0) > 0]
    if not known:
        return None, others
    frequencies: dict[str, int] = {}
    tokens: dict[str, tuple[str, ...]] = {}
    for key, count in sum_term_counts(term_rows, scoped).items():
        term, reader = scoped[key]
        if reader in known:
            frequencies[term] = frequencies.get(term, 0) + count
            tokens[term] = (*tokens.get(term, ()), text.token_prefix(project, reader) + term)
    entries, words = (sum(totals.get(counters[reader][which], 0) for reader in known) for which in (0, 1))
    return TermStatistics(entries, words, frequencies, tokens), others


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """An empty tuple means any. Private entries pass if `reader` is among their readers.

    `types` also passes entries of the `typed_kinds`: a caller may ask for a type of documents and for a kind.
    """

    now: int
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    inactive: bool = False
    changed_since: int = 0
    changed_until: int = 0
    reader: str = ""
    typed_kinds: tuple[str, ...] = ()
    excluded_types: tuple[str, ...] = ()

    @property
    def readers(self) -> tuple[str, ...]:
        """Everyone, and the reader if there is one."""
        return ("", self.reader) if self.reader else ("",)

    def build_clause(self, first: int) -> tuple[str, list[Value]]:
        """`and ...` over an entry `e`, with its parameters from `$first` on."""
        clause = ""
        values: list[Value] = []
        for condition, arguments in self._list_conditions():
            numbers = range(first + len(values), first + len(values) + len(arguments))
            clause += " and " + condition.format(*(f"${number}" for number in numbers))
            values += arguments
        return clause, values

    def _list_conditions(self) -> Iterator[tuple[str, list[Value]]]:
        """Conditions with `{}` for each of their values."""
        if self.reader:
            # `like` ignores case on SQLite, and names of agents do not.
            quoted = msgspec.json.encode(self.reader).decode()
            yield "(e.readers = '' or replace(e.readers, {}, '') <> e.readers)", [quoted]
        else:
            yield "e.readers = ''", []
        if self.kinds:
            yield "e.kind = any({})", [list(self.kinds)]
        if self.types or self.typed_kinds:
            yield "(e.type = any({}) or e.kind = any({}))", [list(self.types), list(self.typed_kinds)]
        if self.excluded_types:
            yield "not e.type = any({})", [list(self.excluded_types)]
        if not self.inactive:
            yield "e.status = 'active' and e.expires_at > {}", [self.now]
        if self.changed_since:
            yield "e.changed_at >= {}", [self.changed_since]
        if self.changed_until:
            yield "e.changed_at <= {}", [self.changed_until]
        if self.tags:
            likes = " or ".join("e.tags like {} escape '!'" for _ in self.tags)
            yield f"({likes})", [_build_like_pattern(tag) for tag in self.tags]


def _build_like_pattern(tag: str) -> str:
    quoted = msgspec.json.encode(tag).decode()
    for special in "!%_":
        quoted = quoted.replace(special, f"!{special}")
    return f"%{quoted}%"
