"""The hash chain over the audit rows of a project: digests of rows, seals, how seals follow on, and their SQL.

A seal lists rows with their digests and contains the hash of the seal before it, so no row and no seal can be changed,
removed or moved without a trace. `audit_sealing.py` makes seals, `audit_verification.py` checks them (decision 0020)."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from commonplace.arguments import MAX_INTEGER
from commonplace.events import LATE_ROWS_SETTING
from commonplace.store.database import Row, Tx

SealKind = Literal["rows", "redaction", "checkpoint"]
"""`rows` lists new rows; `redaction` lists rows whose detail was replaced; `checkpoint` names the last removed seal."""

RowKey = tuple[int, str]
"""The time and the id of an audit row."""

MAX_ROWS_OF_SEAL = 500
_ROW_COLUMNS = ("project", "at", "id", "operation", "outcome", "agent", "key_id", "role", "detail")


class AuditSeal(msgspec.Struct, frozen=True, kw_only=True):
    project: str
    n: int
    kind: SealKind
    at: int
    first_at: int
    last_at: int
    entries: str
    previous: str
    hash: str = ""

    def compute_hash(self) -> str:
        parts = (
            self.previous,
            self.project,
            self.n,
            self.kind,
            self.at,
            self.first_at,
            self.last_at,
            self.entries,
        )
        return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()

    def sign(self) -> "AuditSeal":
        return msgspec.structs.replace(self, hash=self.compute_hash())

    def digests(self) -> dict[RowKey, str]:
        """The digest of every row that the seal lists; of a checkpoint, nothing."""
        if self.kind == "checkpoint":
            return {}
        parts = (line.split(" ") for line in self.entries.splitlines())
        return {(int(at), row_id): digest for at, row_id, digest in parts}

    def removed(self) -> tuple[int, str]:
        """The number and the hash of the last seal that was removed, of a checkpoint."""
        n, _, last_hash = self.entries.partition(" ")
        return int(n), last_hash


class ChainEnd(msgspec.Struct, frozen=True):
    """The number and the hash of the newest seal of a project; before the first one, 0 and nothing."""

    n: int = 0
    hash: str = ""


def seal_from_row(row: Row) -> AuditSeal:
    return AuditSeal(**{name: row[name] for name in AuditSeal.__struct_fields__})


def digest_row(row: Row) -> str:
    return hashlib.sha256(msgspec.json.encode([row[name] for name in _ROW_COLUMNS])).hexdigest()


def seal_rows(
    project: str, end: ChainEnd, kind: SealKind, digests: Mapping[RowKey, str], now: int
) -> AuditSeal:
    """The seal of these rows that follows the end of the chain."""
    keys = sorted(digests)
    return AuditSeal(
        project=project,
        n=end.n + 1,
        kind=kind,
        at=now,
        first_at=keys[0][0],
        last_at=keys[-1][0],
        entries="\n".join(f"{at} {row_id} {digests[at, row_id]}" for at, row_id in keys),
        previous=end.hash,
    ).sign()


def seal_batches(project: str, end: ChainEnd, rows: Sequence[Row], now: int) -> list[AuditSeal]:
    """Seals of at most 500 rows each, in the order of the rows."""
    seals: list[AuditSeal] = []
    for start in range(0, len(rows), MAX_ROWS_OF_SEAL):
        batch = rows[start : start + MAX_ROWS_OF_SEAL]
        digests = {(row["at"], row["id"]): digest_row(row) for row in batch}
        seals.append(seal_rows(project, end, "rows", digests, now))
        end = ChainEnd(seals[-1].n, seals[-1].hash)
    return seals


def seal_checkpoint(project: str, end: ChainEnd, removed: ChainEnd, now: int) -> AuditSeal:
    """The seal that says up to which number seals were removed, with the hash that the next one continues."""
    return AuditSeal(
        project=project,
        n=end.n + 1,
        kind="checkpoint",
        at=now,
        first_at=now,
        last_at=now,
        entries=f"{removed.n} {removed.hash}",
        previous=end.hash,
    ).sign()


def find_broken_seals(seals: Iterable[AuditSeal], before: ChainEnd) -> list[str]:
    """What is wrong with seals that should follow on each other after `before`; one sentence each."""
    problems = []
    for seal in seals:
        if seal.n != before.n + 1:
            problems.append(f"Seals {before.n + 1} to {seal.n - 1} are missing.")
        elif seal.previous != before.hash:
            problems.append(f"Seal {seal.n} does not follow seal {before.n}: one of them was replaced.")
        if seal.hash != seal.compute_hash():
            problems.append(f"Seal {seal.n} was changed.")
        before = ChainEnd(seal.n, seal.hash)
    return problems


_SELECT_SEAL = "select project, n, kind, at, first_at, last_at, entries, previous, hash from audit_seal where project = $1"
_SELECT_ROW = (
    "select project, at, id, operation, outcome, agent, key_id, role, detail from audit where project = $1"
)
_SEALED_UNTIL = "audit_sealed_until"


async def load_sealed_until(tx: Tx) -> int:
    """Up to which time the last pass looked at every project; 0 before the first."""
    row = await tx.one("select value from setting where name = $1", _SEALED_UNTIL)
    return int(row["value"]) if row else 0


async def store_sealed_until(tx: Tx, at: int) -> None:
    await tx.run(
        "insert into setting (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
        _SEALED_UNTIL,
        str(at),
    )


async def list_late_notes(tx: Tx) -> dict[str, str]:
    """The notes of processes whose clock was set back (`events.note_late_row`): the time of a row, and a random word."""
    rows = await tx.all(
        "select name, value from setting where name like $1 order by name", f"{LATE_ROWS_SETTING}%"
    )
    return {row["name"]: row["value"] for row in rows}


def find_lowest_noted(notes: Mapping[str, str]) -> int:
    """The lowest time of these notes; far in the future if there is none."""
    return min((int(value.split(" ")[0]) for value in notes.values()), default=MAX_INTEGER)


async def delete_late_notes(tx: Tx, notes: Iterable[tuple[str, str]]) -> None:
    """Delete them unless they were written again since."""
    await tx.many("delete from setting where name = $1 and value = $2", list(notes))


async def list_projects_since(tx: Tx, since: int) -> list[str]:
    rows = await tx.all("select distinct project from audit where at >= $1 -- every project", since)
    return sorted(row["project"] for row in rows)


async def list_sealed_projects(tx: Tx) -> list[str]:
    rows = await tx.all("select distinct project from audit_seal -- every project")
    return sorted(row["project"] for row in rows)


async def list_some_projects_with_old_rows(tx: Tx, before: int, limit: int) -> set[str]:
    rows = await tx.all(
        "select project from audit where at < $1 order by at, id limit $2 -- every project", before, limit
    )
    return {row["project"] for row in rows}


async def count_audit_rows_before(tx: Tx, project: str, before: int) -> int:
    row = await tx.one("select count(*) as n from audit where project = $1 and at < $2", project, before)
    return int(row["n"]) if row else 0


async def load_chain_end(tx: Tx, project: str) -> ChainEnd:
    row = await tx.one("select n, hash from audit_seal where project = $1 order by n desc limit 1", project)
    return ChainEnd(row["n"], row["hash"]) if row else ChainEnd()


async def load_last_sealed_time(tx: Tx, project: str) -> int | None:
    """The time of the newest row that a seal lists."""
    row = await tx.one(
        "select last_at from audit_seal where project = $1 and kind = 'rows' order by last_at desc limit 1",
        project,
    )
    return row["last_at"] if row else None


async def load_last_time_up_to(tx: Tx, project: str, n: int) -> int:
    """The newest time of a row that the seals up to this number list; 0 if there is none."""
    row = await tx.one(
        "select coalesce(max(last_at), 0) as last_at from audit_seal"
        " where project = $1 and n <= $2 and kind = 'rows'",
        project,
        n,
    )
    return int(row["last_at"]) if row else 0


async def insert_seals(tx: Tx, seals: Iterable[AuditSeal]) -> None:
    await tx.many(
        "insert into audit_seal (project, n, kind, at, first_at, last_at, entries, previous, hash)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        [
            (seal.project, seal.n, seal.kind, seal.at, seal.first_at, seal.last_at, seal.entries, seal.previous, seal.hash)
            for seal in seals
        ],
    )  # fmt: skip


async def list_seals(tx: Tx, project: str, after: int, limit: int) -> list[AuditSeal]:
    rows = await tx.all(f"{_SELECT_SEAL} and n > $2 order by n limit $3", project, after, limit)
    return [seal_from_row(row) for row in rows]


async def list_oldest_seals(tx: Tx, project: str, n: int, limit: int) -> list[AuditSeal]:
    """The oldest seals up to this number, without checkpoints."""
    rows = await tx.all(
        f"{_SELECT_SEAL} and n <= $2 and kind <> 'checkpoint' order by n limit $3", project, n, limit
    )
    return [seal_from_row(row) for row in rows]


async def load_seal(tx: Tx, project: str, n: int) -> AuditSeal | None:
    row = await tx.one(f"{_SELECT_SEAL} and n = $2", project, n)
    return seal_from_row(row) if row else None


async def find_newest_checkpoint(tx: Tx, project: str) -> AuditSeal | None:
    row = await tx.one(f"{_SELECT_SEAL} and kind = 'checkpoint' order by n desc limit 1", project)
    return seal_from_row(row) if row else None


async def list_redactions(tx: Tx, project: str) -> list[AuditSeal]:
    rows = await tx.all(f"{_SELECT_SEAL} and kind = 'redaction' order by n", project)
    return [seal_from_row(row) for row in rows]


async def list_seals_of_times(tx: Tx, project: str, since: int, until: int) -> list[AuditSeal]:
    """The seals that may list rows of these times."""
    rows = await tx.all(
        f"{_SELECT_SEAL} and kind = 'rows' and last_at >= $2 and first_at <= $3 order by n",
        project,
        since,
        until,
    )
    return [seal_from_row(row) for row in rows]


async def find_last_removable(tx: Tx, project: str, before: int) -> int:
    """The number up to which every seal lists only rows before this time; a checkpoint lists none."""
    row = await tx.one(
        "select coalesce((select min(n) from audit_seal"
        "  where project = $1 and last_at >= $2 and kind <> 'checkpoint') - 1,"
        " (select max(n) from audit_seal where project = $1), 0) as n",
        project,
        before,
    )
    return int(row["n"]) if row else 0


async def delete_seals_up_to(tx: Tx, project: str, n: int) -> None:
    await tx.run("delete from audit_seal where project = $1 and n <= $2", project, n)


async def find_first_listed_time(tx: Tx, project: str) -> int | None:
    row = await tx.one(
        "select min(first_at) as first_at from audit_seal where project = $1 and kind = 'rows'", project
    )
    return row["first_at"] if row else None


async def list_row_keys(tx: Tx, project: str, after: RowKey, limit: int) -> list[RowKey]:
    rows = await tx.all(
        "select at, id from audit where project = $1 and (at, id) > ($2, $3) order by at, id limit $4",
        project,
        *after,
        limit,
    )
    return [(row["at"], row["id"]) for row in rows]


async def list_audit_rows_between(tx: Tx, project: str, after: int, until: int) -> Sequence[Row]:
    return await tx.all(f"{_SELECT_ROW} and at > $2 and at <= $3 order by at, id", project, after, until)


async def load_audit_rows(tx: Tx, project: str, keys: Sequence[RowKey]) -> list[Row]:
    """The rows of these keys, in their order; rows that do not exist are left out."""
    if not keys:
        return []
    times = [at for at, _ in keys]
    rows = await tx.all(
        f"{_SELECT_ROW} and at >= $2 and at <= $3 and id = any($4)",
        project,
        min(times),
        max(times),
        [row_id for _, row_id in keys],
    )
    found = {(row["at"], row["id"]): row for row in rows}
    return [found[key] for key in keys if key in found]


async def count_audit_rows_after(tx: Tx, project: str, at: int) -> int:
    row = await tx.one("select count(*) as n from audit where project = $1 and at > $2", project, at)
    return int(row["n"]) if row else 0


async def update_audit_details(tx: Tx, project: str, details: Iterable[tuple[RowKey, str]]) -> None:
    await tx.many(
        "update audit set detail = $4 where project = $1 and at = $2 and id = $3",
        [(project, at, row_id, detail) for (at, row_id), detail in details],
    )


async def delete_listed_rows(tx: Tx, project: str, keys: Sequence[RowKey]) -> int:
    times = [at for at, _ in keys]
    return await tx.run(
        "delete from audit where project = $1 and at >= $2 and at <= $3 and id = any($4)",
        project,
        min(times),
        max(times),
        [row_id for _, row_id in keys],
    )


async def delete_rows_before(tx: Tx, project: str, before: int, limit: int) -> int:
    return await tx.run(
        "delete from audit where project = $1 and (at, id) in"
        " (select at, id from audit where project = $1 and at < $2 order by at, id limit $3)",
        project,
        before,
        limit,
    )
