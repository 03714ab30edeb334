"""The hash chain over the audit rows of a project, without a store: digests of rows, seals, and how seals follow on.

A seal lists rows with their digests and contains the hash of the seal before it, so no row and no seal can be changed,
removed or moved without a trace. `sealing.py` makes seals, `audit_verification.py` checks them (decision 0020).
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

from commonplace.store.database import Row

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
