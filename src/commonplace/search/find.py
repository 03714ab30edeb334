"""Search by words and vectors: each proposes candidates, and the scores of both are fused."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from commonplace.search import postgres, sqlite, text
from commonplace.search.embedding_model import RelevanceScale
from commonplace.search.index import KINDS_WITHOUT_VECTORS, has_entries
from commonplace.search.query import (
    ENTRY_COLUMNS,
    WORDS_PER_PASSAGE,
    EntryFilter,
    QueryTerms,
    TermStatistics,
    list_distinct_tokens,
    load_term_statistics,
    split_question,
    weigh_terms,
)
from commonplace.search.question_kind import list_names, list_proper_names, measure_name_share
from commonplace.search.score_scale import (
    FIRST_VECTOR_WEIGHT,
    ScoreScale,
    measure_mean_and_deviation,
)
from commonplace.search.spelling import find_nearest_terms
from commonplace.store.database import Row, Statement, Tx
from commonplace.store.shared_reads import run_together

MAX_CANDIDATES = 100
# Vectors are worth more than words for short texts, and less for texts of many passages, of which one is near to
# almost anything. Chosen on samples of all sets of bench.retrieval; figures in docs/decisions/0008-search.md.
MAX_VECTOR_WEIGHT = 0.8
_MIN_VECTOR_WEIGHT = 0.35
_WEIGHT_OF_ONE_PASSAGE = 0.85
_WEIGHT_LOST_PER_PASSAGE = 0.15
_WEIGHED_HITS = 20
# The vector of a misspelt word is that of another word, and that of a name means little.
_WEIGHT_LOST_BY_REPAIR = 0.5
_NAMED_SHARE = 0.5
_VECTOR_WEIGHT_OF_NAMES = 0.4
# The vector of a name of a person or a product tells little of which one it is.
_MAX_VECTOR_WEIGHT_WITH_NAME = 0.65
# An entry whose words stand out keeps a place among the first, whatever its vector says.
_KEPT_PLACE = 5
_MAX_OUTSTANDING = 3
_OUTSTANDING_COVERAGE = 0.3
_OUTSTANDING_RATIO = 1.3
_LEAST_SHOWN_RELEVANCE = 0.01
_MAX_QUESTION_TERMS = 24
_MAX_TEXT_TERMS = 8
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}

VectorIndex = sqlite.SqliteVectors | postgres.PostgresVectors


@dataclass(frozen=True, slots=True)
class Question:
    """The text of a question, with its vector and model if there is one. The `known_words` are spelt correctly."""

    text: str
    model: str = ""
    vector: Any = None
    floor: float = 0.0
    relevance: RelevanceScale | None = None
    known_words: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Some kinds of entries of a project; each scope proposes candidates of its own."""

    project: str
    kinds: tuple[str, ...]
    reader: str = ""
    is_rare: bool = False
    """Do most projects have no entries of these kinds? A search through the words of all others would tell it late."""


@dataclass(slots=True)
class Hit:
    """`score` orders hits of one question, and so does `closeness`: 0 is as good as unrelated, 1 is a text that has every
    word of the question and its meaning. `unit` is the closeness of one standard deviation of the score."""

    row: Row
    terms: QueryTerms
    word_score: float
    similarity: float | None
    part: int
    score: float = 0.0
    closeness: float = 0.0
    unit: float = 0.0

    @property
    def project(self) -> str:
        return str(self.row["project"])

    @property
    def kind(self) -> str:
        return str(self.row["kind"])

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def coverage(self) -> float:
        """How much of the question's words the entry has: 1 is every word twice."""
        return self.word_score / (self.terms.best or 1.0)

    @property
    def passages(self) -> float:
        """About how many passages of a model's window the entry has."""
        return max(1.0, int(self.row["length"]) / WORDS_PER_PASSAGE)

    @property
    def relevance(self) -> float:
        return limit_relevance(self.closeness)

    @property
    def matched_words(self) -> list[str]:
        """The tokens of the question that matched, the rarest first."""
        return self.terms.list_matched_terms(self.row["counts"])


def limit_relevance(closeness: float) -> float:
    """The closeness as a reply shows it, from 0 to 1."""
    return min(1.0, max(0.0, closeness))


def show_relevance(closeness: float) -> float:
    """The relevance of a result in a reply. It is never 0: what is shown has a word or the meaning of the question."""
    return round(max(limit_relevance(closeness), _LEAST_SHOWN_RELEVANCE), 3)


async def find_entries(
    tx: Tx,
    vectors: VectorIndex,
    question: Question,
    projects: Sequence[str],
    entry_filter: EntryFilter,
    limit: int = MAX_CANDIDATES,
    max_vector_weight: float = MAX_VECTOR_WEIGHT,
) -> list[Hit]:
    """The entries of these projects that share a word or are near in meaning, the best first."""
    scopes = [SearchScope(project, entry_filter.kinds, entry_filter.reader) for project in projects]
    return await find_entries_in_scopes(tx, vectors, question, scopes, entry_filter, limit, max_vector_weight)


async def find_entries_in_scopes(
    tx: Tx,
    vectors: VectorIndex,
    question: Question,
    scopes: Sequence[SearchScope],
    entry_filter: EntryFilter,
    limit: int = MAX_CANDIDATES,
    max_vector_weight: float = MAX_VECTOR_WEIGHT,
) -> list[Hit]:
    """The same with up to `limit` candidates of each scope, ranked together; kinds and reader are those of the scope."""
    hits: list[Hit] = []
    readers = {scope.project: replace(entry_filter, reader=scope.reader).readers for scope in scopes}
    works = [partial(_load_terms, project, question, some) for project, some in readers.items()]
    terms_by_project = dict(zip(readers, await run_together(tx, works), strict=True))
    for scope in scopes:
        scope_filter = replace(entry_filter, kinds=scope.kinds, reader=scope.reader)
        terms = terms_by_project[scope.project]
        if terms is None or (scope.is_rare and not await has_entries(tx, scope.project, scope.kinds)):
            continue
        hits += await _find_in_scope(tx, vectors, question, scope.project, terms, scope_filter, limit)
    ranked = rank_hits(hits, question, max_vector_weight)
    return [hit for hit in ranked if hit.word_score or _is_near(hit, question)]


async def find_entries_by_words(
    tx: Tx, question: str, project: str, entry_filter: EntryFilter, limit: int
) -> list[Hit]:
    """The same by the rarest words of a question, without vectors."""
    terms = await _load_terms(project, Question(question), entry_filter.readers, tx, _MAX_TEXT_TERMS)
    return await _find_hits(tx, question, project, terms, entry_filter, limit) if terms else []


async def find_entries_like(
    tx: Tx, whole_text: str, project: str, entry_filter: EntryFilter, limit: int, *also: Statement
) -> tuple[list[Hit], Sequence[Sequence[Row]]]:
    """The entries that share the rarest words of a text: a write does not wait for a model.

    The rows of `also` are read before the entries, together with the statistics of the words.
    """
    words = split_question(whole_text)
    found, others = await load_term_statistics(
        tx, project, list_distinct_tokens(words), entry_filter.readers, *also
    )
    if found is None:
        return [], others
    terms = _weigh_terms(words, found, _MAX_TEXT_TERMS)
    return await _find_hits(tx, whole_text, project, terms, entry_filter, limit), others


async def list_entries_in_scopes(
    tx: Tx, scopes: Sequence[SearchScope], entry_filter: EntryFilter, limit: int
) -> list[Hit]:
    """The first entries of each scope, whatever the question: for one that asks for all of a kind."""
    no_terms = weigh_terms([], {}, 0, 0, 0, {})
    hits: list[Hit] = []
    for scope in scopes:
        scope_filter = replace(entry_filter, kinds=scope.kinds, reader=scope.reader)
        clause, values = scope_filter.build_clause(2)
        sql = f"select {ENTRY_COLUMNS} from entry e where e.project = $1{clause} order by e.id limit {limit}"
        hits += [_build_hit(row, no_terms, None, 0) for row in await tx.all(sql, scope.project, *values)]
    return hits


async def _find_hits(
    tx: Tx, question: str, project: str, terms: QueryTerms, entry_filter: EntryFilter, limit: int
) -> list[Hit]:
    rows = await _find_with_words(tx, project, terms, entry_filter, limit)
    return rank_hits([_build_hit(row, terms, None, 0) for row in rows], Question(question))


async def _find_in_scope(
    tx: Tx,
    vectors: VectorIndex,
    question: Question,
    project: str,
    terms: QueryTerms,
    entry_filter: EntryFilter,
    limit: int,
) -> list[Hit]:
    rows = {row["n"]: row for row in await _find_with_words(tx, project, terms, entry_filter, limit)}
    near: dict[int, tuple[float, int]] = {}
    if question.vector is not None and _may_have_vectors(entry_filter):
        nearest = await vectors.find_nearest(
            tx, project, question.model, question.vector, entry_filter, limit
        )
        unmeasured = list(rows.keys() - {row["n"] for row, _ in nearest})
        rows |= {row["n"]: row for row, _ in nearest}
        measured = (
            await vectors.measure_entries(tx, project, question.model, question.vector, unmeasured)
            if unmeasured
            else []
        )
        near = _pick_best_parts([*nearest, *measured])
    return [_build_hit(row, terms, *near.get(n, (None, 0))) for n, row in rows.items()]


def _may_have_vectors(entry_filter: EntryFilter) -> bool:
    return not entry_filter.kinds or not set(entry_filter.kinds) <= set(KINDS_WITHOUT_VECTORS)


async def _find_with_words(
    tx: Tx, project: str, terms: QueryTerms, entry_filter: EntryFilter, limit: int
) -> Sequence[Row]:
    if not terms.searched:
        return []
    find_words = _DIALECTS[tx.kind].find_by_words
    rows = await find_words(tx, project, terms, entry_filter, limit)
    return rows or (
        await find_words(tx, project, terms.loosened_terms, entry_filter, limit) if terms.has_groups else []
    )


async def _load_terms(
    project: str, question: Question, readers: Sequence[str], tx: Tx, max_terms: int = _MAX_QUESTION_TERMS
) -> QueryTerms | None:
    """None if the project has no entries for these readers. A misspelt word that no entry has stands for the nearest
    ones."""
    words = split_question(question.text)
    found, _ = await load_term_statistics(tx, project, list_distinct_tokens(words), readers)
    if found is None:
        return None
    unknown = [word[0] for word in words if found.frequencies.keys().isdisjoint(word)]
    correct = frozenset(text.tokenize(" ".join(question.known_words))) if unknown else frozenset()
    nearest = await find_nearest_terms(tx, project, unknown, correct) if unknown else {}
    known = found.frequencies.keys() | nearest.keys()
    has_known_name = _has_any_token(list_proper_names(question.text), found.frequencies.keys())
    names = list_names(question.text)
    has_only_unknown_names = bool(names) and not _has_any_token(names, known)
    if nearest:
        repaired, _ = await load_term_statistics(tx, project, list(nearest.values()), readers)
        words = [(nearest[word[0]],) if word[0] in nearest else word for word in words]
        found = found.add_terms(repaired) if repaired else found
    return replace(
        _weigh_terms(words, found, max_terms),
        repaired=len(nearest) / len(words) if nearest else 0.0,
        has_known_name=has_known_name,
        has_only_unknown_names=has_only_unknown_names,
    )


def _has_any_token(names: Sequence[str], tokens: Collection[str]) -> bool:
    return any(token in tokens for name in names for token in text.tokenize(name))


def _weigh_terms(words: list[tuple[str, ...]], found: TermStatistics, max_terms: int) -> QueryTerms:
    return weigh_terms(words, found.frequencies, found.entries, found.words, max_terms, found.tokens)


def _pick_best_parts(measured: Iterable[tuple[Row, float]]) -> dict[int, tuple[float, int]]:
    best: dict[int, tuple[float, int]] = {}
    for row, similarity in measured:
        if row["n"] not in best or similarity > best[row["n"]][0]:
            best[row["n"]] = (similarity, row["part"])
    return best


def _build_hit(row: Row, terms: QueryTerms, similarity: float | None, part: int) -> Hit:
    return Hit(row, terms, terms.score_entry(row["counts"], row["length"]), similarity, part)


def _is_near(hit: Hit, question: Question) -> bool:
    return hit.similarity is not None and hit.similarity >= question.floor


def rank_hits(hits: list[Hit], question: Question, max_vector_weight: float = MAX_VECTOR_WEIGHT) -> list[Hit]:
    """Normalise both scores over all candidates (z-score), then add them with their weights."""
    scale = _measure_scale(hits, question)
    weight = _choose_vector_weight(hits, scale, question.text, max_vector_weight)
    scale = replace(scale, vector_weight=weight)
    unrelated = scale.compute_score(0.0, question.floor)
    unit = scale.measure_unit(unrelated)
    for hit in hits:
        hit.score = scale.compute_score(hit.word_score, hit.similarity)
        hit.unit = unit
        # Without any vector the score is not a line, because that of the words is capped in it.
        hit.closeness = (hit.score - unrelated) * unit if scale.has_vectors else hit.word_score / scale.best
    ranked = sorted(hits, key=lambda hit: (-hit.score, -hit.row["changed_at"], hit.row["id"]))
    return _keep_outstanding(ranked) if scale.has_vectors else ranked


def _keep_outstanding(ranked: list[Hit]) -> list[Hit]:
    """Move the best entry by words up to the last of the first places, if up to three entries have clearly more of the
    question's words than all others, and this one is not among the first places yet."""
    by_words = sorted(ranked, key=lambda hit: -hit.word_score)
    others = by_words[_MAX_OUTSTANDING].word_score if len(by_words) > _MAX_OUTSTANDING else 0.0
    first = ranked[:_KEPT_PLACE]
    outstanding = (
        hit
        for hit in by_words[:_MAX_OUTSTANDING]
        if hit.coverage >= _OUTSTANDING_COVERAGE
        and hit.word_score >= _OUTSTANDING_RATIO * others
        and not any(hit is each for each in first)
    )
    moved = next(outstanding, None)
    if moved is None:
        return ranked
    moved.score, moved.closeness = first[-1].score, first[-1].closeness
    return [*first[:-1], moved, *(hit for hit in ranked[_KEPT_PLACE - 1 :] if hit is not moved)]


def _choose_vector_weight(hits: list[Hit], scale: ScoreScale, question: str, max_weight: float) -> float:
    """By the length of the best entries and the kind of the question: both can be known before the answer."""
    best = sorted(hits, key=lambda hit: -scale.compute_score(hit.word_score, hit.similarity))[:_WEIGHED_HITS]
    if not best:
        return FIRST_VECTOR_WEIGHT
    passages = sum(hit.passages for hit in best) / len(best)
    weight = _WEIGHT_OF_ONE_PASSAGE - _WEIGHT_LOST_PER_PASSAGE * (passages - 1)
    weight = min(max_weight, max(_MIN_VECTOR_WEIGHT, weight))
    if measure_name_share(question) >= _NAMED_SHARE:
        weight = min(weight, _VECTOR_WEIGHT_OF_NAMES)
    if any(hit.terms.has_known_name for hit in best):
        weight = min(weight, _MAX_VECTOR_WEIGHT_WITH_NAME)
    return weight * (1 - _WEIGHT_LOST_BY_REPAIR * max(hit.terms.repaired for hit in best))


def _measure_scale(hits: list[Hit], question: Question) -> ScoreScale:
    similarities = [hit.similarity for hit in hits if hit.similarity is not None]
    best = max((hit.terms.best for hit in hits), default=0.0) or 1.0
    return ScoreScale(
        *measure_mean_and_deviation([hit.word_score for hit in hits], best),
        *measure_mean_and_deviation(similarities, 1 - question.floor),
        best,
        question.floor,
        bool(similarities),
    )
