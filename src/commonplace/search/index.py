"""The search index: put, remove and change entries, inside the transaction of the write itself."""

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from commonplace.search import postgres, sqlite, text
from commonplace.search.words import (
    MAX_TERMS_PER_BATCH,
    EntryWords,
    WrittenWords,
    insert_term_changes,
    insert_term_steps,
    sum_plain_statistics,
    sum_statistics,
    sum_steps,
    write_words,
)
from commonplace.store.counters import add_to_counters, lock_project_at_end
from commonplace.store.database import Database, Row, Statement, Tx, Value

NEVER_EXPIRES = 2**62
"""The expiry of entries that never expire; a number keeps the index query simple."""

BLACKBOARD_KIND = "blackboard"
TRANSCRIPT_KIND = "session"
PROMPT_KIND = "prompt"
MESSAGE_KIND = "message"
WORK_KIND = "work"
KINDS_WITHOUT_VECTORS = (BLACKBOARD_KIND, TRANSCRIPT_KIND, MESSAGE_KIND, WORK_KIND)
"""The kinds without vectors: too many, and too short-lived or too long, to be worth embedding. Entries with readers
have none, because vectors of all readers are compared together."""

_TITLE_WEIGHT = 2
_MAX_PLAIN_ENTRIES = 2
"""The words of so many new entries that everyone may read are not added up before they are written."""
_STORED_COLUMNS = "n, id, type, status, title, tags, counts, length, changed_at, expires_at, readers"
_STORED_TERM = re.compile(r"(\S+):\d+ ")
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """What can be found: `kind` and `id` name it, `body` is indexed but not stored. `counted` and `written` are its words
    if they were counted, and written for an entry that everyone may read, before the transaction."""

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
    written: WrittenWords | None = None


async def put_entries(tx: Tx, entries: Sequence[IndexEntry]) -> None:
    """Add or replace entries by kind and id; vectors follow in the background."""
    for (project, kind), group in group_entries(entries).items():
        stored = await _load_stored_entries(tx, project, kind, [entry.id for entry in group])
        await _replace_entries(tx, project, kind, stored, group)


async def put_new_entries(tx: Tx, entries: Sequence[IndexEntry]) -> None:
    """Add entries whose ids were never in the index."""
    for (project, _), group in group_entries(entries).items():
        await _insert_entries(tx, project, group, [])


def group_entries(entries: Sequence[IndexEntry]) -> dict[tuple[str, str], list[IndexEntry]]:
    """By project and kind, sorted, so that writers cannot deadlock."""
    groups: dict[tuple[str, str], list[IndexEntry]] = {}
    for entry in sorted(entries, key=lambda entry: (entry.project, entry.kind)):
        groups.setdefault((entry.project, entry.kind), []).append(entry)
    return groups


async def remove_entries(tx: Tx, project: str, kind: str, ids: Sequence[str]) -> None:
    """Remove entries with their words and vectors, also from the queue."""
    stored = await _load_stored_entries(tx, project, kind, ids)
    if stored:
        await _expect_stored(tx, project, kind, [row["id"] for row in stored], stored)
        await _delete_rows(tx, project, stored)
        statistics = sum_statistics([], _list_stored_words(stored))
        await add_to_counters(tx, statistics.list_counter_steps(project))
        await insert_term_steps(tx, project, statistics.terms)


async def _load_stored_entries(tx: Tx, project: str, kind: str, ids: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"select {_STORED_COLUMNS} from entry where project = $1 and kind = $2 and id = any($3)",
        project,
        kind,
        list(ids),
    )


async def _replace_entries(
    tx: Tx, project: str, kind: str, stored: Sequence[Row], entries: Sequence[IndexEntry]
) -> None:
    await _expect_stored(tx, project, kind, [entry.id for entry in entries], stored)
    await _insert_entries(tx, project, entries, stored)


async def _expect_stored(tx: Tx, project: str, kind: str, ids: Sequence[str], stored: Sequence[Row]) -> None:
    """Nobody else replaced these entries since they were read."""
    await _lock_numbers(tx, project)
    await tx.expect_no_row(
        "select held from (select count(*) as held, coalesce(sum(n), 0) as numbers from entry"
        " where project = $1 and kind = $2 and id = any($3)) as found where held <> $4 or numbers <> $5",
        project,
        kind,
        list(ids),
        len(stored),
        sum(row["n"] for row in stored),
    )


async def _delete_rows(tx: Tx, project: str, stored: Sequence[Row]) -> None:
    numbers = [row["n"] for row in stored]
    for table in ("entry", "embedding", "embedding_queue") if numbers else ():
        await tx.queue(f"delete from {table} where project = $1 and n = any($2)", project, numbers)


async def refresh_entries(
    tx: Tx, project: str, kind: str, ids: Sequence[str], entries: Sequence[IndexEntry]
) -> None:
    """Make these the entries of the ids; words and vectors of an entry whose text did not change stay."""
    stored = await _load_stored_entries(tx, project, kind, ids)
    row_by_id = {row["id"]: row for row in stored}
    counted = [replace(entry, counted=entry.counted or count_entry_words(entry)) for entry in entries]
    changed = [entry for entry in counted if not _has_text_of(row_by_id.get(entry.id), entry)]
    put_ids = {entry.id for entry in changed}
    if changed:
        await _replace_entries(tx, project, kind, [row for row in stored if row["id"] in put_ids], changed)
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
        and entry.counted is not None
        and row["length"] == entry.counted.total()
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
    await tx.queue(
        "update entry set status = $4 where project = $1 and kind = $2 and id = any($3)",
        project,
        kind,
        list(ids),
        status,
    )


async def update_entry_expiry(tx: Tx, project: str, kind: str, identity: str, expires_at: int | None) -> None:
    await tx.queue(
        "update entry set expires_at = $4 where project = $1 and kind = $2 and id = $3",
        project,
        kind,
        identity,
        NEVER_EXPIRES if expires_at is None else expires_at,
    )


async def has_entries(tx: Tx, project: str, kinds: Sequence[str]) -> bool:
    """In the order of the index: for any of several kinds in any order, PostgreSQL's generic plan expects to meet one
    soon and reads a whole project that has none."""
    first = "select id from entry where project = $1 and kind = $2 order by id limit 1"
    return any(await tx.together(*((first, project, kind) for kind in kinds)))


async def has_entries_of_type(tx: Tx, project: str, kind: str, type_: str) -> bool:
    first = "select id from entry where project = $1 and kind = $2 and type = $3 order by id limit 1"
    return await tx.one(first, project, kind, type_) is not None


async def count_queued_entries(tx: Tx) -> int:
    """The number of entries of all projects that wait for vectors."""
    row = await tx.one("select count(*) as n from embedding_queue")
    return int(row["n"]) if row else 0


def last_number_statement(tx: Tx, project: str) -> Statement:
    """Reads the highest entry number so far as `n`; numbers of a project are given in the order of commits."""
    return "select n from counter where project = $1 and name = 'entry'", _numbered_by(tx, project)


def entries_after_statement(project: str, kind: str, number: int, limit: int) -> Statement:
    """Reads the numbers, ids and words of active entries that were put after this number, the newest first."""
    # The bare kind makes SQLite read all entries of the kind by another index.
    return (
        (
            "select n, id, counts from entry where project = $1 and n > $2 and kind || '' = $3 and status = 'active'"
            " order by n desc limit $4"
        ),
        project,
        number,
        kind,
        limit,
    )


async def expect_no_related_entry(
    tx: Tx, project: str, kind: str, number: int, words: Collection[str], similarity: float
) -> None:
    """At commit, nobody has put an entry after this number whose words are as similar to these.

    On SQLite nobody else writes between a transaction's own look and its commit.
    """
    if tx.kind == "postgresql":
        prefix = text.token_prefix(project, "")
        tokens = [prefix + word for word in words]
        await postgres.expect_no_related_entry(tx, project, kind, number, tokens, similarity)


def _numbered_by(tx: Tx, project: str) -> str:
    """FTS5 has one row number for the whole file; PostgreSQL counts, and locks, within the project."""
    return "" if tx.kind == "sqlite" else project


async def _lock_numbers(tx: Tx, project: str) -> None:
    """Whoever changes entries of a project waits here until the one before has committed."""
    await lock_project_at_end(tx, _numbered_by(tx, project), "entry")


async def _insert_entries(
    tx: Tx, project: str, entries: Sequence[IndexEntry], replaced: Sequence[Row]
) -> None:
    """Insert entries, in the place of those in `replaced`. Numbers are taken from the counter by the statements."""
    numbered_by = _numbered_by(tx, project)
    counts = [entry.counted or count_entry_words(entry) for entry in entries]
    written = [_get_written_words(tx, project, *each) for each in zip(entries, counts, strict=True)]
    later = range(len(entries) - 1, -1, -1)
    added = [
        EntryWords(counted.keys(), words.total, entry.readers)
        for entry, counted, words in zip(entries, counts, written, strict=True)
    ]
    is_plain = (
        len(entries) <= _MAX_PLAIN_ENTRIES and not replaced and not any(entry.readers for entry in entries)
    )
    statistics = (
        sum_plain_statistics(written) if is_plain else sum_statistics(added, _list_stored_words(replaced))
    )
    await add_to_counters(tx, [(numbered_by, "entry", len(entries)), *statistics.list_counter_steps(project)])
    await _delete_rows(tx, project, replaced)
    await _DIALECTS[tx.kind].insert_entries(
        tx,
        numbered_by,
        [_build_row(*each) for each in zip(later, entries, written, strict=True)],
        [words.tokens for words in written],
    )
    if is_plain:
        await insert_term_changes(tx, project, [terms for words in written for terms in words.joined_terms])
    else:
        await insert_term_steps(tx, project, statistics.terms)
    await tx.many(
        _DIALECTS[tx.kind].QUEUE_EMBEDDING,
        [
            (project, after)
            for after, entry in zip(later, entries, strict=True)
            if entry.kind not in KINDS_WITHOUT_VECTORS
        ],
    )


def _list_stored_words(rows: Sequence[Row]) -> list[EntryWords]:
    return [
        EntryWords(_STORED_TERM.findall(row["counts"]), row["length"], parse_readers(row)) for row in rows
    ]


def _get_written_words(tx: Tx, project: str, entry: IndexEntry, counts: Counter[str]) -> WrittenWords:
    """Those that were written before the transaction, if they were written for this project."""
    if entry.written is not None and entry.written.project == project and not entry.readers:
        return entry.written
    return write_words(tx.kind, project, entry.readers, counts)


def count_entry_words(entry: IndexEntry, body_words: Counter[str] | None = None) -> Counter[str]:
    """Words of title and tags count double, except those of a title that is the beginning of the body.

    `body_words` are those of the body, where they were counted before.
    """
    words = text.count_tokens(entry.body) if body_words is None else body_words.copy()
    title = "" if text.starts_with_title(entry.body, entry.title) else entry.title
    for token, times in text.count_tokens(" ".join((title, *entry.tags))).items():
        words[token] += _TITLE_WEIGHT * times
    return words


def _build_row(later: int, entry: IndexEntry, words: WrittenWords) -> tuple[Value, ...]:
    """`later` is how many entries of the same statement follow."""
    return (
        entry.project,
        later,
        entry.kind,
        entry.id,
        entry.type,
        entry.status,
        entry.title,
        _format_tags(entry),
        words.counts,
        words.total,
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


_MAX_ROWS_PER_BATCH = 100


class _ChangesTaken(Exception):
    """Another replica added some of these changes: roll back."""


@dataclass(frozen=True, slots=True)
class _Batch:
    project: str
    ids: list[str]
    steps: dict[str, int]


async def add_next_changes(database: Database) -> bool:
    """Add one batch of changes to the counts; False if none waits."""
    batch = await database.read(_load_batch)
    if batch is None:
        return False
    with contextlib.suppress(_ChangesTaken):
        await database.write(lambda tx: _add_batch(tx, batch))
    return True


async def _load_batch(tx: Tx) -> _Batch | None:
    """The next batch, with what is computed from it: none of that holds the writer."""
    first = await tx.one("select project from term_change limit 1")
    return await _load_project_batch(tx, first["project"]) if first else None


async def _load_project_batch(tx: Tx, project: str) -> _Batch | None:
    rows = await tx.all(
        "select id, step, terms from term_change where project = $1 order by id limit $2",
        project,
        _MAX_ROWS_PER_BATCH,
    )
    chosen = list(_list_until_full(rows))
    return _Batch(project, [row["id"] for row in chosen], _sum_steps(chosen)) if chosen else None


def _list_until_full(rows: Sequence[Row]) -> Iterator[Row]:
    """The first rows that have no more terms together than a batch may have; at least one."""
    together: set[str] = set()
    for row in rows:
        has_some = bool(together)
        together.update(row["terms"].split(" "))
        if has_some and len(together) > MAX_TERMS_PER_BATCH:
            return
        yield row


def _sum_steps(rows: Sequence[Row]) -> dict[str, int]:
    """Sorted, so that replicas cannot deadlock."""
    steps = sum_steps(rows)
    return {term: steps[term] for term in sorted(steps) if steps[term]}


async def _add_batch(tx: Tx, batch: _Batch) -> None:
    deleted = await tx.run(
        "delete from term_change where project = $1 and id = any($2)", batch.project, batch.ids
    )
    if deleted != len(batch.ids):
        raise _ChangesTaken
    if batch.steps:
        await _DIALECTS[tx.kind].update_term_counts(tx, batch.project, batch.steps)


async def add_project_changes(tx: Tx, project: str) -> None:
    """Add all changes of a project that wait, in this transaction."""
    rows = await tx.all("delete from term_change where project = $1 returning step, terms", project)
    if steps := _sum_steps(rows):
        await _DIALECTS[tx.kind].update_term_counts(tx, project, steps)
