"""What a write of index entries changes in the statistics that searches need. Pure computation; `index.py` writes it."""

from collections import Counter
from collections.abc import Collection, Sequence
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
    totals, new_terms, old_terms = Counter[str](), Counter[str](), Counter[str]()
    for sign, counted, entries in ((1, new_terms, added), (-1, old_terms, removed)):
        for terms, total, readers in entries:
            for reader in readers or ("",):
                totals[build_counter_name(ENTRY_COUNTER, reader)] += sign
                totals[build_counter_name(WORD_COUNTER, reader)] += sign * total
                prefix = text.build_term_key("", reader)
                counted.update([prefix + term for term in terms] if prefix else terms)
    steps = {
        term: times - old_terms.get(term, 0)
        for term, times in new_terms.items()
        if term not in old_terms or old_terms[term] != times
    }
    steps |= {term: -times for term, times in old_terms.items() if term not in new_terms}
    return EntryStatistics(dict(sorted(totals.items())), steps)


def sum_plain_statistics(written: Sequence[WrittenWords]) -> EntryStatistics:
    """The same for new entries that everyone may read, whose terms are joined already: most writes are that."""
    return EntryStatistics(
        {ENTRY_COUNTER: len(written), WORD_COUNTER: sum(words.total for words in written)}, {}
    )
