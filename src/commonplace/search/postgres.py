"""The index on PostgreSQL: a tsvector with GIN for words, pgvector with HNSW for vectors."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, cast

from commonplace.search.query import ENTRY_COLUMNS, EntryFilter, QueryTerms
from commonplace.store.counters import add_to_counter
from commonplace.store.database import Row, Tx, Value
from commonplace.store.postgres_literals import quote_text

_INSERT_ENTRY = (
    "insert into entry (project, n, kind, id, type, status, title, tags, counts, length, changed_at, expires_at,"
    " readers, words) select project, n - $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, array_to_tsvector($14)"
    " from counter where project = $1 and name = 'entry'"
)
QUEUE_EMBEDDING = (
    "insert into embedding_queue (project, n, due_at, tries)"
    " select project, n - $2, 0, 0 from counter where project = $1 and name = 'entry'"
)
_INDEXED_DIMENSIONS = (384, 512)
"""The lengths of vectors that have a graph: those of the models that come with Commonplace."""
# Up to here all vectors of a project are compared: exact, and faster than a graph with a filter.
_MAX_EXACT_VECTORS = 8_000
# A scan for 1.5 times as many finds 99 of the 100 nearest of 100,000, as one for twice as many does.
_OVERSAMPLING = 1.5
_WIDENING_FACTOR = 8
# In a subquery, because a cast parameter would be parsed again for every row.
_QUESTION_VECTOR = "(select cast(cast($2 as text) as halfvec))"
_EXACT_DISTANCE = f"value <#> {_QUESTION_VECTOR}"
# Common words differ in what they have in common; a plan for any words would read and sort all that have them.
_PLAN_FOR_THESE_WORDS = {"plan_cache_mode": "force_custom_plan"}
_MAX_SCANNED_CANDIDATES = 1000
"""The largest hnsw.ef_search that pgvector accepts."""


async def insert_entries(
    tx: Tx, _numbered_by: str, rows: Sequence[tuple[Value, ...]], tokens: Sequence[Value]
) -> None:
    await tx.many(_INSERT_ENTRY, [(*row, listed) for row, listed in zip(rows, tokens, strict=True)])


async def update_term_counts(tx: Tx, project: str, terms: Mapping[str, int]) -> None:
    await tx.queue(
        "insert into term (project, term, n) select $1, each.term, each.n"
        " from unnest(cast($2 as text[]), cast($3 as bigint[])) as each (term, n)"
        " on conflict (project, term) do update set n = term.n + excluded.n",
        project,
        list(terms),
        list(terms.values()),
    )


async def expect_no_related_entry(
    tx: Tx, project: str, kind: str, number: int, tokens: Sequence[str], similarity: float
) -> None:
    """No entry after this number shares so many of these tokens: shared / (own + theirs - shared).

    There are few such entries, so each is looked at.
    """
    await tx.expect_no_row(
        "select n from entry where project = $1 and n > $2 and kind = $3 and status = 'active'"
        " and (select count(*) from unnest(tsvector_to_array(words)) as word where word = any($4))"
        " * cast($5 as double precision) >= length(words) + cast($6 as bigint)",
        project,
        number,
        kind,
        list(tokens),
        (1 + similarity) / similarity,
        len(tokens),
    )


async def find_by_words(
    tx: Tx, project: str, terms: QueryTerms, entry_filter: EntryFilter, limit: int
) -> Sequence[Row]:
    """GIN finds the entries; the weight of their matching terms for their length orders the candidates."""
    order, worth = ("e.n desc", []) if terms.common else _order_by_worth(terms, 2)
    clause, values = entry_filter.build_clause(2 + len(worth))
    statement = (
        f"select {ENTRY_COLUMNS} from entry e where e.project = {_write_project(project)}"
        f" and e.words @@ cast(cast($1 as text) as tsquery){clause} order by {order} limit {limit}"
    )
    query = " | ".join(
        "(" + " & ".join(_format_term(terms.tokens[term]) for term in group) + ")" for group in terms.searched
    )
    if terms.common:
        return await cast(SettingsTx, tx).all_with_settings(_PLAN_FOR_THESE_WORDS, statement, query, *values)
    return await tx.all(statement, query, *worth, *values)


def _write_project(project: str) -> str:
    """As a literal: a plan for any project expects one of ordinary size, and reads all of a large one."""
    return quote_text(project)


def _format_term(tokens: Sequence[str]) -> str:
    return "(" + " | ".join(f"'{token}'" for token in tokens) + ")"


def _order_by_worth(terms: QueryTerms, first: int) -> tuple[str, list[Value]]:
    """An `order by` expression and its parameters from `$first` on."""
    terms_searched = [term for group in terms.searched for term in group]
    has = " + ".join(
        f"case when e.words @@ (select cast(cast(${first + 1 + 2 * n} as text) as tsquery))"
        f" then cast(${first + 2 + 2 * n} as double precision) else 0 end"
        for n in range(len(terms_searched))
    )
    worth = [
        part for term in terms_searched for part in (_format_term(terms.tokens[term]), terms.worth[term])
    ]
    return f"({has}) / (1 + e.length / cast(${first} as double precision)) desc, e.n", [
        terms.mean_length,
        *worth,
    ]


class SettingsTx(Tx, Protocol):
    """A transaction of PostgreSQL, which can run a statement under settings of its own."""

    async def all_with_settings(
        self, settings: Mapping[str, str], sql: str, *values: Value
    ) -> Sequence[Row]: ...


class PostgresVectors:
    """Vectors in pgvector; nothing is held in memory."""

    def __init__(self) -> None:
        self.is_index_missing = False
        """While the graph is built, entries of large projects are found by words, and only those are compared."""

    async def find_nearest(
        self, tx: Tx, project: str, model: str, question: Any, entry_filter: EntryFilter, limit: int
    ) -> Sequence[tuple[Row, float]]:
        """The nearest entries that pass the filter; searches wider while there are too few."""
        clause, values = entry_filter.build_clause(3)
        row = await tx.one("select n from counter where project = $1 and name = 'embedding'", project)
        stored = row["n"] if row else 0
        is_indexed = len(question) in _INDEXED_DIMENSIONS and stored > _MAX_EXACT_VECTORS
        if is_indexed and self.is_index_missing:
            return []
        distance = _format_indexed_distance(len(question)) if is_indexed else _EXACT_DISTANCE
        width = math.ceil(limit * _OVERSAMPLING)
        while True:
            rows = await cast(SettingsTx, tx).all_with_settings(
                _choose_scan_settings(width) if is_indexed else {},
                _format_nearest(_write_project(project), distance, len(question), width, clause, limit),
                model,
                _format_vector(question),
                *values,
            )
            if len(rows) >= limit or width >= stored:
                return [(row, row["near"]) for row in rows]
            width *= _WIDENING_FACTOR

    async def measure_entries(
        self, tx: Tx, project: str, model: str, question: Any, numbers: Sequence[int]
    ) -> Sequence[tuple[Row, float]]:
        rows = await tx.all(
            f"select n, part, 0 - ({_EXACT_DISTANCE}) as near from embedding"
            f" where model = $1 and project = $3 and n = any($4) and dimensions = {len(question)}",
            model,
            _format_vector(question),
            project,
            list(numbers),
        )
        return [(row, row["near"]) for row in rows]


def _format_nearest(project: str, distance: str, dimensions: int, width: int, clause: str, limit: int) -> str:
    """Both limits are written out: a plan for any limit expects a tenth of the table and reads all of it. The vectors
    are put in order before the join, which then ends with the limit."""
    return (
        f"select {ENTRY_COLUMNS}, v.part, v.near from (select n, part, near from (select n, part, 0 - ({distance}) as near"
        f" from embedding where project = {project} and model = $1 and dimensions = {dimensions}"
        f" order by {distance} limit {width}) as scanned order by near desc) v"
        f" join entry e on e.project = {project} and e.n = v.n{clause} order by v.near desc limit {limit}"
    )


def _format_indexed_distance(dimensions: int) -> str:
    return f"cast(value as halfvec({dimensions})) <#> cast({_QUESTION_VECTOR} as halfvec({dimensions}))"


def _choose_scan_settings(width: int) -> dict[str, str]:
    """pgvector looks at ef_search candidates at first, and at more while the limit is not reached."""
    return {
        "hnsw.iterative_scan": "relaxed_order",
        "hnsw.ef_search": str(min(width, _MAX_SCANNED_CANDIDATES)),
    }


async def insert_vectors(tx: Tx, project: str, model: str, vectors: Sequence[tuple[int, int, Any]]) -> None:
    """(entry, part, vector) each."""
    await add_to_counter(tx, project, "embedding", len(vectors))
    await tx.many(
        "insert into embedding (project, model, n, part, dimensions, value)"
        " values ($1, $2, $3, $4, $5, cast(cast($6 as text) as halfvec))"
        " on conflict (project, model, n, part) do update set value = excluded.value",
        [(project, model, n, part, len(vector), _format_vector(vector)) for n, part, vector in vectors],
    )


def _format_vector(vector: Any) -> str:
    return f"[{','.join(f'{value:.5f}' for value in vector.tolist())}]"
