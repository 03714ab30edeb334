"""Which messages of a long session are shown: the most similar to a query, or what matters most within a token budget."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.store.database import Row

_WORD = re.compile(r"\w{1,64}")
_WORD_PART = re.compile(r"[^\W_]{1,64}")
_MAX_QUERY_WORDS = 16
_PREVIEW_CHARACTERS = 160
_PREFIX_SCORE, _SUBSTRING_SCORE, _MIN_SUBSTRING_CHARACTERS = 90.0, 80.0, 3
_MIN_WORD_SCORE, _MAX_WORD_SCORE = 40.0, 70.0
_HIGH_RELEVANCE_SCORE, _MEDIUM_RELEVANCE_SCORE = 80, 60
_CHARACTERS_PER_TOKEN = 4
_MESSAGE_OVERHEAD_CHARACTERS = 200  # characters that a message costs besides its own: names, ids, times


@dataclass(frozen=True, slots=True)
class WordHit:
    """A word of a message that is similar to a word of the query."""

    query_word: str
    word: str
    score: float

    def describe_match(self) -> str:
        match = self.word if self.query_word == self.word else f"{self.query_word} ~ {self.word}"
        return f"{match} {self.score:.0f}"


@dataclass(frozen=True, slots=True)
class FuzzyMatch:
    row: Row
    score: float
    hits: list[WordHit]

    @property
    def relevance(self) -> str:
        if self.score >= _HIGH_RELEVANCE_SCORE:
            return "high"
        return "medium" if self.score >= _MEDIUM_RELEVANCE_SCORE else "low"


def parse_query_words(query: str) -> list[str]:
    """The words of a query, longest first because they are the most selective."""
    words = sorted(set(_WORD.findall(query.casefold())), key=lambda word: (-len(word), word))
    return words[:_MAX_QUERY_WORDS]


def rank_messages(
    rows: Sequence[Row], query_words: Sequence[str], threshold: float, *, with_metadata: bool
) -> list[FuzzyMatch]:
    """The messages that are similar enough: the mean similarity to each query word, weighted by word length.

    RapidFuzz compares the words of the query with the distinct words of the messages, which are few. Splitting at spaces
    is several times faster than a pattern, which therefore sees each distinct chunk once.
    """
    chunks_of_rows = [_split_chunks(row, with_metadata=with_metadata) for row in rows]
    chunks_by_word: dict[str, list[str]] = {}
    for chunk in set().union(*chunks_of_rows):
        for word in _split_words(chunk):
            chunks_by_word.setdefault(word, []).append(chunk)
    min_score = max(_MIN_WORD_SCORE, min(threshold, _MAX_WORD_SCORE))
    hits_of_words = [_find_hits(query_word, chunks_by_word, min_score) for query_word in query_words]
    total_length = sum(map(len, query_words))
    matches = []
    for row, chunks in zip(rows, chunks_of_rows, strict=True):
        hits = [
            max((hit_by_chunk[chunk] for chunk in similar), key=lambda hit: (hit.score, hit.word))
            for hit_by_chunk in hits_of_words
            if (similar := hit_by_chunk.keys() & chunks)
        ]
        score = sum(len(hit.query_word) * hit.score for hit in hits) / total_length
        if hits and score >= threshold - 1e-9:
            matches.append(FuzzyMatch(row, round(score, 2), hits))
    return matches


def _split_chunks(row: Row, *, with_metadata: bool) -> set[str]:
    text = f"{row['sender']} {row['content']} {row['metadata']}" if with_metadata else row["content"]
    return set(text.casefold().split())


def _split_words(chunk: str) -> set[str]:
    """The words of a chunk, and the parts of snake_case words."""
    words = set(_WORD.findall(chunk))
    if "_" in chunk:
        words.update(_WORD_PART.findall(chunk))
    return words


def _find_hits(
    query_word: str, chunks_by_word: Mapping[str, Sequence[str]], min_score: float
) -> dict[str, WordHit]:
    """The best hit in each chunk."""
    hit_by_chunk: dict[str, WordHit] = {}
    scores = _score_words(query_word, list(chunks_by_word), min_score)
    for word, score in sorted(scores.items(), key=lambda item: (item[1], item[0])):  # better ones overwrite
        hit_by_chunk |= dict.fromkeys(chunks_by_word[word], WordHit(query_word, word, score))
    return hit_by_chunk


def _score_words(query_word: str, vocabulary: Sequence[str], min_score: float) -> dict[str, float]:
    from rapidfuzz import fuzz, process  # noqa: PLC0415 - few servers search a blackboard

    matches = process.extract(query_word, vocabulary, scorer=fuzz.ratio, score_cutoff=min_score, limit=None)
    score_by_word = {word: score for word, score, _ in matches}
    if len(query_word) >= _MIN_SUBSTRING_CHARACTERS or not query_word.isascii():
        for word in vocabulary:
            if query_word in word:
                score = _PREFIX_SCORE if word.startswith(query_word) else _SUBSTRING_SCORE
                score_by_word[word] = max(score_by_word.get(word, 0.0), score)
    return score_by_word


def render_preview(row: Row, hits: Sequence[WordHit]) -> str:
    """The part of the content, or else of the metadata, around the best hit."""
    word = re.escape(max(hits, key=lambda hit: hit.score).word)
    text, match = row["content"], re.search(word, row["content"], re.IGNORECASE)
    if match is None and (match := re.search(word, row["metadata"], re.IGNORECASE)):
        text = row["metadata"]
    start = max(0, (match.start() if match else 0) - _PREVIEW_CHARACTERS // 3)
    excerpt = " ".join(text[start : start + _PREVIEW_CHARACTERS].split())
    return ("…" if start else "") + excerpt + ("…" if start + _PREVIEW_CHARACTERS < len(text) else "")


def select_messages(candidates: Sequence[Row], max_tokens: int) -> set[int]:
    """Take decisions and open questions up to half the budget, the most answered up to 3/4, then the newest."""
    newest = sorted(candidates, key=lambda row: -row["sequence"])
    most_answered = sorted(newest, key=lambda row: -row["replies"])
    budget = max_tokens * _CHARACTERS_PER_TOKEN
    cost_by_sequence: dict[int, int] = {}
    _add_while_fitting(cost_by_sequence, (row for row in newest if row["mark"] == "decision"), budget // 2)
    _add_while_fitting(cost_by_sequence, (row for row in newest if is_open_question(row)), budget // 2)
    _add_while_fitting(
        cost_by_sequence, (row for row in most_answered if row["replies"] > 0), budget * 3 // 4
    )
    _add_while_fitting(cost_by_sequence, newest, budget)
    return set(cost_by_sequence)


def is_open_question(row: Row) -> bool:
    return bool(row["mark"] == "question" and row["replies"] == 0)


def _add_while_fitting(cost_by_sequence: dict[int, int], ranked: Iterable[Row], budget: int) -> None:
    """Add what still fits, in this order; a message that is too long is skipped, not truncated."""
    remaining = budget - sum(cost_by_sequence.values())
    for row in ranked:
        cost = row["size"] + _MESSAGE_OVERHEAD_CHARACTERS
        if row["sequence"] not in cost_by_sequence and cost <= remaining:
            cost_by_sequence[row["sequence"]] = cost
            remaining -= cost
