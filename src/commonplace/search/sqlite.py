"""The index on SQLite: FTS5 for words; for vectors, codes of one bit per dimension held in memory."""

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from commonplace.search.query import ENTRY_COLUMNS, EntryFilter, QueryTerms
from commonplace.store.counters import advance_counter
from commonplace.store.database import Row, Tx, Value

if TYPE_CHECKING:
    from commonplace.search.bit_codes import BitCodes

_INSERT_ENTRY = (
    "insert into entry (project, n, kind, id, type, status, title, tags, counts, length, changed_at, expires_at,"
    " readers) values ($1, (select n - $2 from counter where project = $14 and name = 'entry'),"
    " $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
)
# An INSERT with a SELECT of rows opens a savepoint, at which FTS5 writes what it holds as a segment of its own.
QUEUE_EMBEDDING = (
    "insert into embedding_queue (project, n, due_at, tries)"
    " values ($1, (select n - $2 from counter where project = '' and name = 'entry'), 0, 0)"
)
_INSERT_WORDS = (
    "insert into words (rowid, tokens)"
    " values ((select n - $1 from counter where project = $3 and name = 'entry'), $2)"
)
_COUNT_TERMS = (
    "insert into term (project, term, n) select $1, key, value from json_each($2) where true"
    " on conflict (project, term) do update set n = term.n + excluded.n"
)
_CODES_PER_PAGE = 20_000
_WIDENING_FACTOR = 8
_OVERSAMPLING = 3


async def insert_entries(
    tx: Tx, numbered_by: str, rows: Sequence[tuple[Value, ...]], tokens: Sequence[Value]
) -> None:
    await tx.many(_INSERT_ENTRY, [(*row, numbered_by) for row in rows])
    await tx.many(
        _INSERT_WORDS,
        [(row[1], text, numbered_by) for row, text in zip(rows, tokens, strict=True)],
    )


async def update_term_counts(tx: Tx, project: str, terms: Mapping[str, int]) -> None:
    """Kept apart, because FTS5 counts a term by reading every row that has it. One statement for hundreds of terms:
    the interpreter's lock is given away and asked for again around each."""
    await tx.queue(_COUNT_TERMS, project, msgspec.json.encode(terms).decode())


async def find_by_words(
    tx: Tx, project: str, terms: QueryTerms, entry_filter: EntryFilter, limit: int
) -> Sequence[Row]:
    clause, values = entry_filter.build_clause(4)
    order = "words.rowid desc" if terms.common else "words.rank"
    return await tx.all(
        f"select {ENTRY_COLUMNS} from words cross join entry e on e.project = $1 and e.n = words.rowid"
        f" where words match $2{clause} order by {order} limit $3",
        project,
        " OR ".join(
            f"({' AND '.join(_format_term(terms.tokens[term]) for term in group)})"
            for group in terms.searched
        ),
        limit,
        *values,
    )


def _format_term(tokens: Sequence[str]) -> str:
    return tokens[0] if len(tokens) == 1 else f"({' OR '.join(tokens)})"


class SqliteVectors:
    """The codes of each project and model, loaded when first needed and updated by every query."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], BitCodes] = {}
        self._lock = threading.Lock()

    async def find_nearest(
        self, tx: Tx, project: str, model: str, question: Any, entry_filter: EntryFilter, limit: int
    ) -> Sequence[tuple[Row, float]]:
        """The nearest entries that pass the filter; searches wider while there are too few."""
        codes = await self._load_codes(tx, project, model, len(question))
        width = limit * _OVERSAMPLING
        while True:
            nearest = await self._measure_codes(
                tx, project, model, question, codes.find_nearest(question, width)
            )
            entries = await _load_entries(tx, project, nearest, entry_filter, limit)
            if len(entries) >= limit or width >= codes.size:
                return entries
            width *= _WIDENING_FACTOR

    async def measure_entries(
        self, tx: Tx, project: str, model: str, question: Any, numbers: Sequence[int]
    ) -> Sequence[tuple[Row, float]]:
        """The similarity of these entries to the question."""
        rows = await tx.all(
            "select v.n, v.part, v.value from json_each($2) asked cross join embedding v indexed by embedding_entry"
            " on v.project = $1 and v.n = asked.value where v.model = $3 and length(v.value) = $4",
            project,
            list(numbers),
            model,
            len(question),
        )
        return _measure_rows(question, rows)

    async def _measure_codes(
        self, tx: Tx, project: str, model: str, question: Any, chosen: list[int]
    ) -> Sequence[tuple[Row, float]]:
        rows = await tx.all(
            "select v.n, v.part, v.value from json_each($3) asked cross join embedding v"
            " on v.project = $1 and v.model = $2 and v.at = asked.value",
            project,
            model,
            chosen,
        )
        return sorted(_measure_rows(question, rows), key=lambda pair: -pair[1])

    async def _load_codes(self, tx: Tx, project: str, model: str, dimensions: int) -> "BitCodes":
        from commonplace.search.bit_codes import BitCodes  # noqa: PLC0415 - numpy is loaded by the first search

        with self._lock:
            codes = self._codes.get((project, model))
            if codes is None or codes.is_outgrown or codes.dimensions != dimensions:
                codes = self._codes[project, model] = BitCodes(dimensions)
        with codes.lock:
            while rows := await tx.all(
                "select at, value from embedding where project = $1 and model = $2 and at > $3"
                " and length(value) = $5 order by at limit $4",
                project,
                model,
                codes.last,
                _CODES_PER_PAGE,
                dimensions,
            ):
                codes.add_rows([(row["at"], row["value"]) for row in rows])
            codes.built_at = codes.built_at or codes.size
        return codes


async def _load_entries(
    tx: Tx, project: str, nearest: Sequence[tuple[Row, float]], entry_filter: EntryFilter, limit: int
) -> list[tuple[Row, float]]:
    """The nearest that pass the filter, loaded page by page."""
    loaded: list[tuple[Row, float]] = []
    clause, values = entry_filter.build_clause(3)
    for start in range(0, len(nearest), limit):
        some = nearest[start : start + limit]
        rows = await tx.all(
            f"select {ENTRY_COLUMNS} from entry e where e.project = $1 and e.n = any($2){clause}",
            project,
            list({row["n"] for row, _ in some}),
            *values,
        )
        entries = {row["n"]: row for row in rows}
        loaded += [
            ({**entries[row["n"]], "part": row["part"]}, near) for row, near in some if row["n"] in entries
        ]
        if len(loaded) >= limit:
            break
    return loaded[:limit]


def _measure_rows(question: Any, rows: Sequence[Row]) -> Sequence[tuple[Row, float]]:
    from commonplace.search.bit_codes import measure_similarities  # noqa: PLC0415 - as above

    return list(zip(rows, measure_similarities(question, (row["value"] for row in rows)), strict=True))


async def insert_vectors(tx: Tx, project: str, model: str, vectors: Sequence[tuple[int, int, Any]]) -> None:
    """(entry, part, vector) each; numbered in the order of arrival, so that readers see what is added."""
    from commonplace.search.bit_codes import pack_vector  # noqa: PLC0415 - as above

    last = await advance_counter(tx, project, "embedding", len(vectors))
    await tx.many(
        "insert into embedding (project, model, at, n, part, value) values ($1, $2, $3, $4, $5, $6)",
        [
            (project, model, at, n, part, pack_vector(vector))
            for at, (n, part, vector) in enumerate(vectors, last - len(vectors) + 1)
        ],
    )
