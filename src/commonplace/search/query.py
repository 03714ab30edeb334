"""What an index query asks for: the terms of a question with their weights, and the filter that entries must pass.

`find.py` builds both; `sqlite.py` and `postgres.py` run them.
"""

import math
from dataclasses import dataclass, replace
from itertools import accumulate, chain

import msgspec

from commonplace.search import text
from commonplace.store.database import Tx, Value

ENTRY_COLUMNS = (
    "e.project, e.n, e.kind, e.id, e.type, e.status, e.title, e.counts, e.length, e.changed_at, e.expires_at"
)
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
    as long as the project is large to put in order, so the newest entries that have them are the candidates."""

    worth: dict[str, float]
    searched: tuple[tuple[str, ...], ...]
    mean_length: float
    best: float
    common: bool

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
    best = (sum(worth.values()) + unknown * _inverse_frequency(1, total)) * 2 * (_K1 + 1) / (2 + _K1)
    return QueryTerms(worth, tuple(searched), max(1.0, total_words / max(1, entries)), best, common)


def _inverse_frequency(frequency: int, total: int) -> float:
    return math.log(1 + (total - frequency + 0.5) / (frequency + 0.5))


async def load_term_frequencies(tx: Tx, project: str, tokens: list[str]) -> dict[str, int]:
    """The number of entries of the project that have each token; tokens without entries are left out."""
    rows = await tx.all(
        "select term, n from term where project = $1 and term = any($2) and n > 0", project, tokens
    )
    return {row["term"]: row["n"] for row in rows}


async def load_project_totals(tx: Tx, project: str) -> tuple[int, int]:
    """The number of entries of the project, and of all their words."""
    rows = await tx.all(
        "select name, n from counter where project = $1 and name in ('entries', 'entry_words')", project
    )
    by_name: dict[str, int] = {row["name"]: row["n"] for row in rows}
    return by_name.get("entries", 0), by_name.get("entry_words", 0)


@dataclass(frozen=True, slots=True)
class EntryFilter:
    """An empty tuple means any."""

    now: int
    kinds: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    inactive: bool = False
    changed_since: int = 0
    changed_until: int = 0

    def build_clause(self, first: int) -> tuple[str, list[Value]]:
        """`and ...` over an entry `e`, with its parameters from `$first` on."""
        parts: list[str] = []
        values: list[Value] = []

        def add_condition(part: str, value: Value) -> None:
            parts.append(part.replace("?", f"${first + len(values)}"))
            values.append(value)

        for column, allowed in (("kind", self.kinds), ("type", self.types)):
            if allowed:
                add_condition(f"e.{column} = any(?)", list(allowed))
        if not self.inactive:
            parts.append("e.status = 'active'")
            add_condition("e.expires_at > ?", self.now)
        if self.changed_since:
            add_condition("e.changed_at >= ?", self.changed_since)
        if self.changed_until:
            add_condition("e.changed_at <= ?", self.changed_until)
        if self.tags:
            before = len(values)
            values += [_build_like_pattern(tag) for tag in self.tags]
            likes = (f"e.tags like ${first + before + n} escape '!'" for n in range(len(self.tags)))
            parts.append(f"({' or '.join(likes)})")
        return "".join(f" and {part}" for part in parts), values


def _build_like_pattern(tag: str) -> str:
    quoted = msgspec.json.encode(tag).decode()
    for special in "!%_":
        quoted = quoted.replace(special, f"!{special}")
    return f"%{quoted}%"
