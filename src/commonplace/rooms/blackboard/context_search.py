"""Typo-tolerant search over a whole session, with word indexes in memory.

Each audience of a session has its own index, so that a search uses only the indexes that the reader may see. An
index maps words to messages; RapidFuzz compares the words of the query with the words of the index, which are few,
instead of with the messages, which are many. Indexes are extended from where they stopped.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from commonplace.rooms.blackboard import store
from commonplace.store.database import Row, Tx

_WORD = re.compile(r"\w{1,64}")
_WORD_PART = re.compile(r"[^\W_]{1,64}")
_MAX_QUERY_WORDS = 16
_PAGE_ROWS = 200
_PREVIEW_CHARACTERS = 160
_MAX_CACHED_ENTRIES = 6_000_000  # about 100 MB of lists
_EMPTY_INDEX_ENTRIES = 200  # what an empty index costs, in entries
_PREFIX_SCORE, _SUBSTRING_SCORE, _MIN_SUBSTRING_CHARACTERS = 90.0, 80.0, 3
_MIN_WORD_SCORE, _MAX_WORD_SCORE = 40.0, 70.0
_HIGH_RELEVANCE_SCORE, _MEDIUM_RELEVANCE_SCORE = 80, 60


@dataclass(frozen=True, slots=True)
class WordHit:
    """A word of a message that is similar to a word of the query."""

    query_word: str
    word: str
    score: float
    field: str

    def describe_match(self) -> str:
        match = self.word if self.query_word == self.word else f"{self.query_word} ~ {self.word}"
        return f"{match} {self.score:.0f}" + (" (metadata)" if self.field == "metadata" else "")


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    sequence: int
    score: float
    hits: list[WordHit]

    @property
    def relevance(self) -> str:
        return (
            "high"
            if self.score >= _HIGH_RELEVANCE_SCORE
            else "medium"
            if self.score >= _MEDIUM_RELEVANCE_SCORE
            else "low"
        )


class WordIndex:
    """The messages that contain each word."""

    __slots__ = ("_vocabulary", "sequences_by_word")

    def __init__(self) -> None:
        self.sequences_by_word: dict[str, list[int]] = {}
        self._vocabulary: list[str] = []

    def add_words(self, words: Iterable[str], sequence: int) -> None:
        messages = self.sequences_by_word
        for word in words:
            sequences = messages.get(word)
            if sequences is None:
                messages[word] = [sequence]
            else:
                sequences.append(sequence)

    def find_similar_words(self, query_word: str, min_score: float) -> dict[str, float]:
        """Return the similar words with their scores."""
        from rapidfuzz import fuzz, process  # noqa: PLC0415 - few servers search a blackboard

        if len(self._vocabulary) < len(self.sequences_by_word):
            self._vocabulary = list(self.sequences_by_word)
        matches = process.extract(
            query_word, self._vocabulary, scorer=fuzz.ratio, score_cutoff=min_score, limit=None
        )
        score_by_word = {word: score for word, score, _ in matches}
        if len(query_word) >= _MIN_SUBSTRING_CHARACTERS or not query_word.isascii():
            for word in [word for word in self._vocabulary if query_word in word]:
                score = _PREFIX_SCORE if word.startswith(query_word) else _SUBSTRING_SCORE
                score_by_word[word] = max(score_by_word.get(word, 0.0), score)
        return score_by_word


class AudienceIndex:
    """The searchable words of one audience of one session, up to the message `indexed_through`."""

    def __init__(self) -> None:
        self.indexed_through = 0
        self.row_count = 0
        self.entry_count = _EMPTY_INDEX_ENTRIES
        self._lock = threading.Lock()
        self._fields = {"content": WordIndex(), "metadata": WordIndex()}

    def add_rows(self, rows: Sequence[Row], through: int) -> int:
        """Index rows that are new here (two searches may load the same rows); return the number of entries added."""
        with self._lock:
            before = self.entry_count
            for row in rows:
                if row["sequence"] > self.indexed_through:
                    self._index_row(row)
            self.indexed_through = max(self.indexed_through, through)
            return self.entry_count - before

    def _index_row(self, row: Row) -> None:
        self.row_count += 1
        metadata_text = " ".join((row["sender"], *_flatten_metadata(msgspec.json.decode(row["metadata"]))))
        for name, text in (("content", row["content"]), ("metadata", metadata_text)):
            found_words = split_words(text)
            self._fields[name].add_words(found_words, row["sequence"])
            self.entry_count += len(found_words)

    def find_hits(
        self, query_word: str, min_score: float, fields: Sequence[str]
    ) -> list[tuple[WordHit, list[int]]]:
        with self._lock:
            return [
                (WordHit(query_word, word, score, name), self._fields[name].sequences_by_word[word])
                for name in fields
                for word, score in self._fields[name].find_similar_words(query_word, min_score).items()
            ]


class AudienceIndexCache:
    """The indexes in use, bounded in total; the least recently used are evicted first."""

    def __init__(self, max_entries: int = _MAX_CACHED_ENTRIES) -> None:
        self._max_entries = max_entries
        self._lock = threading.Lock()
        self._index_by_key: OrderedDict[tuple[str, str], AudienceIndex] = OrderedDict()

    def get_index(self, session: str, audience: str) -> AudienceIndex:
        with self._lock:
            index = self._index_by_key.setdefault((session, audience), AudienceIndex())
            self._index_by_key.move_to_end((session, audience))
            return index

    def drop_index(self, session: str, audience: str) -> None:
        with self._lock:
            self._index_by_key.pop((session, audience), None)

    def evict_oldest(self) -> None:
        with self._lock:
            total = sum(index.entry_count for index in self._index_by_key.values())
            while total > self._max_entries and self._index_by_key:
                total -= self._index_by_key.popitem(last=False)[1].entry_count

    def __len__(self) -> int:
        return len(self._index_by_key)


_index_cache = AudienceIndexCache()


async def load_audience_indexes(tx: Tx, view: store.MessageView, last_sequence: int) -> list[AudienceIndex]:
    """Return the indexes of the view's audiences, extended to the end of the session.

    A rename moves old messages to another audience, so an index that has too few of them is built again.
    """
    counts = await store.count_messages_by_audience(tx, view)
    indexes = []
    for audience in view.audiences:
        index = await _extend_index(tx, view, audience, last_sequence)
        if index.row_count < counts.get(audience, 0):
            _index_cache.drop_index(view.session, audience)
            index = await _extend_index(tx, view, audience, last_sequence)
        indexes.append(index)
    return indexes


async def _extend_index(tx: Tx, view: store.MessageView, audience: str, last_sequence: int) -> AudienceIndex:
    index = _index_cache.get_index(view.session, audience)
    while index.indexed_through < last_sequence:
        remaining = store.MessageView(view.project, view.session, [audience], after=index.indexed_through)
        rows = await store.list_searchable_texts(tx, remaining, _PAGE_ROWS)
        last_read = rows[-1]["sequence"] if rows else 0
        index.add_rows(rows, last_read if len(rows) == _PAGE_ROWS else max(last_read, last_sequence))
        _index_cache.evict_oldest()
    return index


def split_words(text: str) -> set[str]:
    """Return the words of a text, and the parts of snake_case words."""
    folded = text.casefold()
    found_words = set(_WORD.findall(folded))
    if "_" in folded:
        found_words.update(_WORD_PART.findall(folded))
    return found_words


def parse_query_words(query: str) -> list[str]:
    """Return the words of a query, longest first because they are the most selective."""
    return sorted(set(_WORD.findall(query.casefold())), key=lambda word: (-len(word), word))[
        :_MAX_QUERY_WORDS
    ]


def rank_messages(
    indexes: Sequence[AudienceIndex],
    query_words: Sequence[str],
    threshold: float,
    limit: int,
    fields: Sequence[str],
) -> list[FuzzyMatch]:
    """Return the best messages, scored by the mean similarity to each query word, weighted by word length."""
    min_score = max(_MIN_WORD_SCORE, min(threshold, _MAX_WORD_SCORE))
    best_hits = [_best_hit_by_message(indexes, word, min_score, fields) for word in query_words]
    total_length = sum(map(len, query_words))
    totals: dict[int, float] = {}
    for word, hits in zip(query_words, best_hits, strict=True):
        weight = len(word) / total_length
        for sequence, hit in hits.items():
            totals[sequence] = totals.get(sequence, 0.0) + weight * hit.score
    ranked = sorted(
        ((score, sequence) for sequence, score in totals.items() if score >= threshold - 1e-9), reverse=True
    )
    return [
        FuzzyMatch(sequence, round(score, 2), [hits[sequence] for hits in best_hits if sequence in hits])
        for score, sequence in ranked[:limit]
    ]


def _best_hit_by_message(
    indexes: Sequence[AudienceIndex], query_word: str, min_score: float, fields: Sequence[str]
) -> dict[int, WordHit]:
    """Return the best hit for each message: hits are sorted, so better ones overwrite."""
    hits = [hit for index in indexes for hit in index.find_hits(query_word, min_score, fields)]
    best: dict[int, WordHit] = {}
    for hit, messages in sorted(hits, key=lambda pair: pair[0].score):
        best.update(dict.fromkeys(messages, hit))
    return best


def render_preview(row: Row, hits: Sequence[WordHit]) -> str:
    """Return the part of the text around its best hit."""
    hit = max(hits, key=lambda hit: hit.score)
    text = row["content"] if hit.field == "content" else row["metadata"]
    match = re.search(re.escape(hit.word), text, re.IGNORECASE)
    start = max(0, (match.start() if match else 0) - _PREVIEW_CHARACTERS // 3)
    excerpt = " ".join(text[start : start + _PREVIEW_CHARACTERS].split())
    return ("…" if start else "") + excerpt + ("…" if start + _PREVIEW_CHARACTERS < len(text) else "")


def _flatten_metadata(metadata: dict[str, Any]) -> Iterator[str]:
    """Yield all names and values at any depth."""
    pending: list[Any] = [metadata]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            pending += value
        elif value is not None:
            yield str(value)
