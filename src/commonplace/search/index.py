"""The search index: put, remove and change entries, inside the transaction of the write itself."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from commonplace.search import postgres, sqlite, text
from commonplace.search.query import ENTRY_COUNTER, WORD_COUNTER, build_counter_name
from commonplace.store.counters import advance_counter
from commonplace.store.database import Row, Tx, Value

NEVER_EXPIRES = 2**62
"""The expiry of entries that never expire; a number keeps the index query simple."""

BLACKBOARD_KIND = "blackboard"
TRANSCRIPT_KIND = "session"
MESSAGE_KIND = "message"
WORK_KIND = "work"
KINDS_WITHOUT_VECTORS = (BLACKBOARD_KIND, TRANSCRIPT_KIND, MESSAGE_KIND, WORK_KIND)
"""The kinds without vectors: too many, and too short-lived or too long, to be worth embedding. Entries with readers
have none, because vectors of all readers are compared together."""

_TITLE_WEIGHT = 2
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What can be found: `kind` and `id` name it, `body` is indexed but not stored, and `counted` are its words if they
    were counted before the transaction."""

    project: str
    kind: str
    id: str
    type: str
    title: str
    body: str
    changed_at: int
    status: str = "active"
    expires_at: int | None = None
    tags: tuple[str, ...] = ()
    counted: Counter[str] | None = None
    readers: tuple[str, ...] = ()


async def put_entries(tx: Tx, entries: Sequence[IndexEntry]) -> None:
    """Add or replace entries by kind and id; vectors follow in the background."""
    for project in sorted({entry.project for entry in entries}):
        project_entries = [entry for entry in entries if entry.project == project]
        last = await _reserve_numbers(tx, project, len(project_entries))
        for kind in sorted({entry.kind for entry in project_entries}):
            await remove_entries(
                tx, project, kind, [entry.id for entry in project_entries if entry.kind == kind]
            )
        await _insert_entries(tx, project, list(enumerate(project_entries, last - len(project_entries) + 1)))


async def remove_entries(tx: Tx, project: str, kind: str, ids: Sequence[str]) -> None:
    """Remove entries with their words and vectors, also from the queue."""
    removed = await tx.all(
        "delete from entry where project = $1 and kind = $2 and id = any($3) returning n, counts, length, readers",
        project,
        kind,
        list(ids),
    )
    if not removed:
        return
    numbers = [row["n"] for row in removed]
    await tx.run("delete from embedding where project = $1 and n = any($2)", project, numbers)
    await tx.run("delete from embedding_queue where project = $1 and n = any($2)", project, numbers)
    await _update_statistics(tx, project, [(parse_counts(row), parse_readers(row)) for row in removed], -1)


async def refresh_entries(
    tx: Tx, project: str, kind: str, ids: Sequence[str], entries: Sequence[IndexEntry]
) -> None:
    """Make these the entries of the ids; words and vectors of an entry whose text did not change stay."""
    stored = await tx.all(
        "select id, type, status, title, tags, counts, changed_at, expires_at, readers from entry"
        " where project = $1 and kind = $2 and id = any($3)",
        project,
        kind,
        list(ids),
    )
    row_by_id = {row["id"]: row for row in stored}
    counted = [replace(entry, counted=entry.counted or count_entry_words(entry)) for entry in entries]
    changed = [entry for entry in counted if not _has_text_of(row_by_id.get(entry.id), entry)]
    await put_entries(tx, changed)
    put_ids = {entry.id for entry in changed}
    await _update_states(tx, [entry for entry in counted if entry.id not in put_ids], row_by_id)
    gone = row_by_id.keys() - {entry.id for entry in entries}
    if gone:
        await remove_entries(tx, project, kind, sorted(gone))


def _has_text_of(row: Row | None, entry: IndexEntry) -> bool:
    """Does the stored entry have the words, the type and the readers of this one?"""
    return (
        row is not None
        and (row["type"], row["title"], row["tags"], row["readers"])
        == (
            entry.type,
            entry.title,
            _format_tags(entry),
            format_readers(entry.readers),
        )
        and parse_counts(row) == entry.counted
    )


async def _update_states(tx: Tx, entries: Sequence[IndexEntry], row_by_id: Mapping[str, Row]) -> None:
    """Update status and times where they differ."""
    states = [
        (entry.project, entry.kind, entry.id, entry.status, entry.changed_at, _expiry_of(entry))
        for entry in entries
    ]
    await tx.many(
        "update entry set status = $4, changed_at = $5, expires_at = $6"
        " where project = $1 and kind = $2 and id = $3",
        [
            state
            for state in states
            if tuple(row_by_id[state[2]][name] for name in ("status", "changed_at", "expires_at"))
            != state[3:]
        ],
    )


async def update_entry_status(tx: Tx, project: str, kind: str, ids: Sequence[str], status: str) -> None:
    """Change the status of entries without indexing them again."""
    await tx.run(
        "update entry set status = $4 where project = $1 and kind = $2 and id = any($3)",
        project,
        kind,
        list(ids),
        status,
    )


async def update_entry_expiry(tx: Tx, project: str, kind: str, identity: str, expires_at: int | None) -> None:
    await tx.run(
        "update entry set expires_at = $4 where project = $1 and kind = $2 and id = $3",
        project,
        kind,
        identity,
        NEVER_EXPIRES if expires_at is None else expires_at,
    )


async def has_entries(tx: Tx, project: str, kinds: Sequence[str]) -> bool:
    found = await tx.one(
        "select 1 as yes from entry where project = $1 and kind = any($2) limit 1", project, list(kinds)
    )
    return found is not None


async def count_queued_entries(tx: Tx) -> int:
    """The number of entries of all projects that wait for vectors."""
    row = await tx.one("select count(*) as n from embedding_queue")
    return int(row["n"]) if row else 0


async def load_last_number(tx: Tx, project: str) -> int:
    """The highest entry number so far; numbers of a project are given in the order of commits."""
    row = await tx.one(
        "select n from counter where project = $1 and name = 'entry'", _numbered_by(tx, project)
    )
    return int(row["n"]) if row else 0


async def list_entries_after(
    tx: Tx, project: str, kind: str, number: int, limit: int
) -> list[tuple[str, Counter[str]]]:
    """The ids and the words of active entries that were put after this number, the newest first."""
    rows = await tx.all(
        "select id, counts from entry where project = $1 and n > $2 and kind = $3 and status = 'active'"
        " order by n desc limit $4",
        project,
        number,
        kind,
        limit,
    )
    return [(row["id"], parse_counts(row)) for row in rows]


def _numbered_by(tx: Tx, project: str) -> str:
    """FTS5 has one row number for the whole file; PostgreSQL counts, and locks, within the project."""
    return "" if tx.kind == "sqlite" else project


async def _reserve_numbers(tx: Tx, project: str, n: int) -> int:
    return await advance_counter(tx, _numbered_by(tx, project), "entry", n)


async def _insert_entries(tx: Tx, project: str, numbered: list[tuple[int, IndexEntry]]) -> None:
    counts = {n: entry.counted or count_entry_words(entry) for n, entry in numbered}
    rows = [_build_row(n, entry, counts[n]) for n, entry in numbered]
    await _DIALECTS[tx.kind].insert_entries(
        tx, rows, [(n, scope_tokens(project, entry.readers, counts[n])) for n, entry in numbered]
    )
    await _update_statistics(tx, project, [(counts[n], entry.readers) for n, entry in numbered], 1)
    await tx.many(
        "insert into embedding_queue (project, n, due_at, tries) values ($1, $2, $3, 0)",
        [(project, n, 0) for n, entry in numbered if entry.kind not in KINDS_WITHOUT_VECTORS],
    )


async def _update_statistics(
    tx: Tx, project: str, counted: Iterable[tuple[Counter[str], Sequence[str]]], sign: int
) -> None:
    """Update what BM25 needs: the number of entries, their length, and how many have each term, for each reader of
    private entries apart. Counters are sorted, so that writers of one project cannot deadlock."""
    totals, terms = Counter[str](), Counter[str]()
    for counts, readers in counted:
        for reader in readers or ("",):
            totals[build_counter_name(ENTRY_COUNTER, reader)] += 1
            totals[build_counter_name(WORD_COUNTER, reader)] += counts.total()
            terms.update(text.build_term_key(token, reader) for token in counts)
    for name in sorted(totals):
        await advance_counter(tx, project, name, sign * totals[name])
    await _DIALECTS[tx.kind].update_term_counts(tx, project, terms, sign)


def count_entry_words(entry: IndexEntry, body_words: Counter[str] | None = None) -> Counter[str]:
    """Words of title and tags count double, except those of a title that is the beginning of the body.

    `body_words` are those of the body, where they were counted before.
    """
    words = text.count_tokens(entry.body) if body_words is None else body_words.copy()
    title = "" if text.starts_with_title(entry.body, entry.title) else entry.title
    for token, times in text.count_tokens(" ".join((title, *entry.tags))).items():
        words[token] += _TITLE_WEIGHT * times
    return words


def scope_tokens(project: str, readers: Sequence[str], counts: Counter[str]) -> dict[str, int]:
    """The tokens as the words of a store have them, with how often each occurs."""
    prefixes = [text.token_prefix(project, reader) for reader in readers or ("",)]
    return {prefix + token: times for prefix in prefixes for token, times in counts.items()}


def _build_row(n: int, entry: IndexEntry, counts: Counter[str]) -> tuple[Value, ...]:
    return (
        entry.project,
        n,
        entry.kind,
        entry.id,
        entry.type,
        entry.status,
        entry.title,
        _format_tags(entry),
        " " + " ".join(f"{token}:{times}" for token, times in counts.items()) + " ",
        counts.total(),
        entry.changed_at,
        _expiry_of(entry),
        format_readers(entry.readers),
    )


def _format_tags(entry: IndexEntry) -> str:
    return msgspec.json.encode(entry.tags).decode()


def _expiry_of(entry: IndexEntry) -> int:
    return NEVER_EXPIRES if entry.expires_at is None else entry.expires_at


def format_readers(readers: Sequence[str]) -> str:
    """The readers as they are stored: a JSON list, or an empty text for everyone."""
    return msgspec.json.encode(readers).decode() if readers else ""


def parse_readers(row: Row) -> Sequence[str]:
    return msgspec.json.decode(row["readers"], type=list[str]) if row["readers"] else ()


def parse_counts(row: Row) -> Counter[str]:
    """The words of a stored entry."""
    pairs = (pair.rpartition(":") for pair in row["counts"].split())
    return Counter({token: int(times) for token, _, times in pairs})
