"""Search by words and vectors: each proposes candidates, and the scores of both are fused."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from commonplace.search import postgres, sqlite, text
from commonplace.search.index import KINDS_WITHOUT_VECTORS, has_entries
from commonplace.search.query import (
    EntryFilter,
    QueryTerms,
    TermStatistics,
    list_distinct_tokens,
    load_term_statistics,
    split_question,
    weigh_terms,
)
from commonplace.search.score import MAX_VECTOR_WEIGHT, Hit, Question, list_code_names, rank_hits
from commonplace.search.spelling import find_nearest_terms
from commonplace.store.database import Row, Statement, Tx
from commonplace.store.shared_reads import run_together

MAX_CANDIDATES = 100
_MAX_EXACT_ENTRIES = 3
_MAX_QUESTION_TERMS = 24
_MAX_TEXT_TERMS = 8
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}

VectorIndex = sqlite.SqliteVectors | postgres.PostgresVectors


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Some kinds of entries of a project; each scope proposes candidates of its own."""

    project: str
    kinds: tuple[str, ...]
    reader: str = ""
    is_rare: bool = False
    """Do most projects have no entries of these kinds? A search through the words of all others would tell it late."""


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
    ranked = await find_entries_in_scopes(
        tx, vectors, question, scopes, entry_filter, limit, max_vector_weight
    )
    return [hit for hit in ranked if hit.word_score or (hit.similarity or 0.0) >= question.floor]


async def find_entries_in_scopes(
    tx: Tx,
    vectors: VectorIndex,
    question: Question,
    scopes: Sequence[SearchScope],
    entry_filter: EntryFilter,
    limit: int = MAX_CANDIDATES,
    max_vector_weight: float = MAX_VECTOR_WEIGHT,
) -> list[Hit]:
    """The same with up to `limit` candidates of each scope, ranked together, however far they are; kinds and reader are
    those of the scope."""
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
    return rank_hits(hits, question, max_vector_weight)


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
    if nearest:
        repaired, _ = await load_term_statistics(tx, project, list(nearest.values()), readers)
        words = [(nearest[word[0]],) if word[0] in nearest else word for word in words]
        found = found.add_terms(repaired) if repaired else found
    exact = tuple(
        name
        for name in dict.fromkeys(list_code_names(question.text))
        if 0 < found.frequencies.get(name, 0) <= _MAX_EXACT_ENTRIES
    )
    return replace(_weigh_terms(words, found, max_terms), exact=exact)


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
