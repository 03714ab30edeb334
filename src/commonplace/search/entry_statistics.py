"""What a write of index entries changes in the statistics that searches need. Pure computation; `index.py` writes it."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from commonplace.search import text
from commonplace.search.query import ENTRY_COUNTER, WORD_COUNTER, build_counter_name
from commonplace.search.written_words import WrittenWords


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
