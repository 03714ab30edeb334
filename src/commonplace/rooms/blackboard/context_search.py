"""Typo-tolerant search over a whole session, from words kept in memory.

Each audience of a session has its own shelf, so that a reader's search touches only shelves that the reader may
see. A shelf knows which words stand in which messages; RapidFuzz compares the words of the query with the words
of the shelf, which are few, instead of with the messages, which are many. Shelves read on from where they stopped.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from rapidfuzz import fuzz, process

from commonplace.rooms.blackboard import store
from commonplace.store.database import Row, Tx

_WORD = re.compile(r"\w{1,64}")
_PART = re.compile(r"[^\W_]{1,64}")
_QUERY_WORDS = 16
_PAGE = 200
_PREVIEW = 160
_MOST_ENTRIES = 6_000_000  # about 100 MB of lists
_EMPTY_SHELF = 200  # what a shelf without words costs, in entries
_BEGINS, _CONTAINS, _LEAST_PART = 90.0, 80.0, 3
_LOOSEST, _STRICTEST = 40.0, 70.0
_HIGH, _MEDIUM = 80, 60


@dataclass(frozen=True, slots=True)
class Hit:
    """A word of a message that is like a word of the query."""

    asked: str
    word: str
    score: float
    where: str

    def said(self) -> str:
        like = self.word if self.asked == self.word else f"{self.asked} ~ {self.word}"
        return f"{like} {self.score:.0f}" + (" (metadata)" if self.where == "metadata" else "")


@dataclass(frozen=True, slots=True)
class Match:
    sequence: int
    score: float
    hits: list[Hit]

    @property
    def relevance(self) -> str:
        return "high" if self.score >= _HIGH else "medium" if self.score >= _MEDIUM else "low"


class Words:
    """Which messages a word stands in."""

    __slots__ = ("_vocabulary", "messages")

    def __init__(self) -> None:
        self.messages: dict[str, list[int]] = {}
        self._vocabulary: list[str] = []

    def add(self, words: Iterable[str], sequence: int) -> None:
        messages = self.messages
        for word in words:
            there = messages.get(word)
            if there is None:
                messages[word] = [sequence]
            else:
                there.append(sequence)

    def like(self, asked: str, least: float) -> dict[str, float]:
        """The words that are like this one, with their scores."""
        if len(self._vocabulary) < len(self.messages):
            self._vocabulary = list(self.messages)
        near = process.extract(asked, self._vocabulary, scorer=fuzz.ratio, score_cutoff=least, limit=None)
        found = {word: score for word, score, _ in near}
        if len(asked) >= _LEAST_PART or not asked.isascii():
            for word in [word for word in self._vocabulary if asked in word]:
                score = _BEGINS if word.startswith(asked) else _CONTAINS
                found[word] = max(found.get(word, 0.0), score)
        return found


class Shelf:
    """The searchable words of one audience of one session, up to a message."""

    def __init__(self) -> None:
        self.through = 0
        self.entries = _EMPTY_SHELF
        self._lock = threading.Lock()
        self._fields = {"content": Words(), "metadata": Words()}

    def add(self, rows: Sequence[Row], through: int) -> int:
        """Take rows that are not here yet; two searches may have read the same ones. How many entries came."""
        with self._lock:
            before = self.entries
            for row in rows:
                if row["sequence"] > self.through:
                    self._take(row)
            self.through = max(self.through, through)
            return self.entries - before

    def _take(self, row: Row) -> None:
        beside = " ".join((row["sender"], *_leaves(msgspec.json.decode(row["metadata"]))))
        for name, text in (("content", row["content"]), ("metadata", beside)):
            found = words(text)
            self._fields[name].add(found, row["sequence"])
            self.entries += len(found)

    def hits(self, asked: str, least: float, fields: Sequence[str]) -> list[tuple[Hit, list[int]]]:
        with self._lock:
            return [
                (Hit(asked, word, score, name), self._fields[name].messages[word])
                for name in fields
                for word, score in self._fields[name].like(asked, least).items()
            ]


class Shelves:
    """The shelves in use, bounded together; what was not searched for longest goes first."""

    def __init__(self, most: int = _MOST_ENTRIES) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._shelves: OrderedDict[tuple[str, str], Shelf] = OrderedDict()

    def take(self, session: str, audience: str) -> Shelf:
        with self._lock:
            shelf = self._shelves.setdefault((session, audience), Shelf())
            self._shelves.move_to_end((session, audience))
            return shelf

    def trim(self) -> None:
        with self._lock:
            held = sum(shelf.entries for shelf in self._shelves.values())
            while held > self._most and self._shelves:
                held -= self._shelves.popitem(last=False)[1].entries

    def __len__(self) -> int:
        return len(self._shelves)


_shelves = Shelves()


async def shelves(tx: Tx, view: store.View, last_sequence: int) -> list[Shelf]:
    """The shelves of the view's audiences, read on to the end of the session."""
    found = []
    for audience in view.audiences:
        shelf = _shelves.take(view.session, audience)
        while shelf.through < last_sequence:
            rest = store.View(view.project, view.session, [audience], after=shelf.through)
            rows = await store.texts(tx, rest, _PAGE)
            read = rows[-1]["sequence"] if rows else 0
            shelf.add(rows, read if len(rows) == _PAGE else max(read, last_sequence))
            _shelves.trim()
        found.append(shelf)
    return found


def words(text: str) -> set[str]:
    """The words of a text; snake_case also by its parts."""
    folded = text.casefold()
    found = set(_WORD.findall(folded))
    if "_" in folded:
        found.update(_PART.findall(folded))
    return found


def asked_words(query: str) -> list[str]:
    """The words of a query, the longest first: they say most."""
    return sorted(set(_WORD.findall(query.casefold())), key=lambda word: (-len(word), word))[:_QUERY_WORDS]


def matches(
    shelves: Sequence[Shelf], asked: Sequence[str], threshold: float, limit: int, fields: Sequence[str]
) -> list[Match]:
    """The best messages. A message's score is the mean of its best likeness to each word, long words weighing more."""
    least = max(_LOOSEST, min(threshold, _STRICTEST))
    best = [_best(shelves, word, least, fields) for word in asked]
    whole = sum(map(len, asked))
    totals: dict[int, float] = {}
    for word, hits in zip(asked, best, strict=True):
        weight = len(word) / whole
        for sequence, hit in hits.items():
            totals[sequence] = totals.get(sequence, 0.0) + weight * hit.score
    ranked = sorted(
        ((score, sequence) for sequence, score in totals.items() if score >= threshold - 1e-9), reverse=True
    )
    return [
        Match(sequence, round(score, 2), [hits[sequence] for hits in best if sequence in hits])
        for score, sequence in ranked[:limit]
    ]


def _best(shelves: Sequence[Shelf], asked: str, least: float, fields: Sequence[str]) -> dict[int, Hit]:
    """For each message the hit that is most like the word: better ones come later and replace."""
    found = [hit for shelf in shelves for hit in shelf.hits(asked, least, fields)]
    best: dict[int, Hit] = {}
    for hit, messages in sorted(found, key=lambda pair: pair[0].score):
        best.update(dict.fromkeys(messages, hit))
    return best


def preview(row: Row, hits: Sequence[Hit]) -> str:
    """The part of the text around its best word."""
    hit = max(hits, key=lambda hit: hit.score)
    text = row["content"] if hit.where == "content" else row["metadata"]
    at = re.search(re.escape(hit.word), text, re.IGNORECASE)
    start = max(0, (at.start() if at else 0) - _PREVIEW // 3)
    cut = " ".join(text[start : start + _PREVIEW].split())
    return ("…" if start else "") + cut + ("…" if start + _PREVIEW < len(text) else "")


def _leaves(metadata: dict[str, Any]) -> Iterator[str]:
    """Names and values, however deep they lie."""
    left: list[Any] = [metadata]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            left += value
        elif value is not None:
            yield str(value)
