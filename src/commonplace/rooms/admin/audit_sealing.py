"""Seal new audit rows in the background, redact rows, and remove old ones with a checkpoint.

A call pays nothing for the chain: it inserts its audit row as before, and this work lists the rows that no seal has
yet. With replicas every one of them tries; the chain's end is compared under a lock, so one seals at a time.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from commonplace import errors
from commonplace.arguments import MAX_INTEGER
from commonplace.call import Calls
from commonplace.clock import LATE_COMMIT_MICROSECONDS, MINUTE, SECOND
from commonplace.rooms.admin import audit_chain
from commonplace.rooms.admin.audit_chain import AuditSeal, ChainEnd, RowKey
from commonplace.store.counters import lock_project
from commonplace.store.database import Tx

_log = logging.getLogger(__name__)

SEAL_INTERVAL_SECONDS = 15
_ROUNDS_OF_NOTES = 2 * LATE_COMMIT_MICROSECONDS // (SEAL_INTERVAL_SECONDS * SECOND)
_MAX_ROWS_AT_ONCE = 4 * audit_chain.MAX_ROWS_OF_SEAL
_LOG_INTERVAL = 10 * MINUTE
_LOCK = "audit"


class AuditSealer:
    """`seal_new_rows` is run periodically."""

    def __init__(self, calls: Calls) -> None:
        self._database, self._clock = calls.database, calls.clock
        self._logged_at: dict[str, int] = {}
        self._rounds_of_notes: dict[tuple[str, str], int] = {}

    async def open(self) -> None:
        """Learn what is sealed: rows that this process writes with earlier stamps must be noted from the first on."""
        self._clock.know_later(await self._database.read(audit_chain.load_sealed_until))

    async def seal_new_rows(self) -> None:
        """Seal what every project has new, unless another replica just did.

        Rows that this process wrote while its clock was set back are older than what is sealed, and new all the same.
        So are those of others, which they note in case that they are killed before they seal them.
        """
        lowest, now = self._clock.end_round(), self._clock()
        sealed_until = await self._database.read(audit_chain.load_sealed_until)
        self._clock.know_later(sealed_until)
        lowest = min(lowest, await self._find_lowest_noted())
        if now - SEAL_INTERVAL_SECONDS * SECOND // 2 < sealed_until <= min(now, lowest):
            return
        since = min(sealed_until, now, lowest) - LATE_COMMIT_MICROSECONDS
        projects = await self._database.read(lambda tx: audit_chain.list_projects_since(tx, since))
        sealed = [await self._seal_project(project, now, lowest) for project in projects]
        if any(sealed):
            await self._database.write(lambda tx: audit_chain.store_sealed_until(tx, now))

    async def _find_lowest_noted(self) -> int:
        """The lowest time of rows that were noted; a note is deleted when its row must have been committed and sealed."""
        notes = await self._database.read(audit_chain.list_late_notes)
        rounds = {note: self._rounds_of_notes.get(note, 0) + 1 for note in notes.items()}
        over = [note for note, seen in rounds.items() if seen > _ROUNDS_OF_NOTES]
        if over:
            await self._database.write(lambda tx: audit_chain.delete_late_notes(tx, over))
        self._rounds_of_notes = rounds
        return audit_chain.find_lowest_noted(notes)

    async def _seal_project(self, project: str, now: int, lowest: int) -> bool:
        """Whether there were new rows. One look at what is sealed already serves all seals of this run."""
        last: AuditSeal | None = None
        unsealed = await self._database.read(lambda tx: find_unsealed(tx, project, min(now, lowest)))
        while seals := await self._database.read(lambda tx: list_next_seals(tx, unsealed, now)):
            if not await self._database.write(lambda tx, seals=seals: append_seals(tx, seals)):  # type: ignore[misc]
                break
            last = seals[-1]
        if last is not None:
            self._log_end(last, now)
        return last is not None

    def _log_end(self, seal: AuditSeal, now: int) -> None:
        """The log is a second place: who changes the whole chain in the store cannot change what was logged.

        Each seal contains the hash of the one before, so that one line vouches for all earlier ones.
        """
        if now - self._logged_at.get(seal.project, 0) >= _LOG_INTERVAL:
            self._logged_at[seal.project] = now
            _log.info("audit sealed", extra={"project": seal.project, "seal": seal.n, "hash": seal.hash})


@dataclass(slots=True)
class UnsealedRows:
    """Where to look for rows of a project that no seal lists: after `position`, but for those in `sealed`."""

    project: str
    position: RowKey
    sealed: set[RowKey]


async def find_unsealed(tx: Tx, project: str, now: int) -> UnsealedRows:
    """`now` is the lowest time that new rows may have; some are a little older, because they commit later."""
    newest = await audit_chain.load_last_sealed_time(tx, project)
    if newest is None:
        return UnsealedRows(project, (-1, ""), set())
    since = min(newest, now) - LATE_COMMIT_MICROSECONDS
    seals = await audit_chain.list_seals_of_times(tx, project, since, newest)
    return UnsealedRows(project, (since, ""), {key for seal in seals for key in seal.digests()})


async def list_next_seals(
    tx: Tx, unsealed: UnsealedRows, now: int, before: int = MAX_INTEGER
) -> list[AuditSeal]:
    """Seals of the next rows, of those before a time; none if every row is sealed. Goes on after them the next time."""
    new: list[RowKey] = []
    while len(new) < _MAX_ROWS_AT_ONCE and unsealed.position[0] < before:
        keys = await audit_chain.list_row_keys(tx, unsealed.project, unsealed.position, _MAX_ROWS_AT_ONCE)
        if not keys:
            break
        wanted = [key for key in keys if key not in unsealed.sealed and key[0] < before]
        new += wanted[: _MAX_ROWS_AT_ONCE - len(new)]
        unsealed.position = keys[-1] if len(new) < _MAX_ROWS_AT_ONCE else new[-1]
    rows = await audit_chain.load_audit_rows(tx, unsealed.project, new)
    end = await audit_chain.load_chain_end(tx, unsealed.project)
    return audit_chain.seal_batches(unsealed.project, end, rows, now)


async def list_due_seals(tx: Tx, project: str, now: int, before: int = MAX_INTEGER) -> list[AuditSeal]:
    """Seals of rows before a time that no seal lists; what was sealed long after it is not looked at."""
    newest = await audit_chain.load_last_sealed_time(tx, project)
    if newest is not None and min(newest, now) - LATE_COMMIT_MICROSECONDS >= before:
        return []
    return await list_next_seals(tx, await find_unsealed(tx, project, now), now, before)


async def append_seals(tx: Tx, seals: list[AuditSeal]) -> bool:
    """Store the seals if they still follow the end of the chain; False if another replica was faster."""
    first = seals[0]
    await lock_project(tx, first.project, _LOCK)
    if await audit_chain.load_chain_end(tx, first.project) != ChainEnd(first.n - 1, first.previous):
        return False
    await audit_chain.insert_seals(tx, seals)
    return True


async def redact_audit_rows(tx: Tx, project: str, details: Mapping[RowKey, str], now: int) -> None:
    """Replace the detail of these rows, for example to remove a secret, and record it in the chain.

    `commonplace audit verify` then reports the rows as redacted instead of changed.
    """
    if not details:
        return
    await lock_project(tx, project, _LOCK)
    await audit_chain.update_audit_details(tx, project, details.items())
    rows = await audit_chain.load_audit_rows(tx, project, sorted(details))
    if len(rows) != len(details):
        raise errors.NotFound("Not every audit row to redact exists.", hint="Read the rows again.")
    digests = {(row["at"], row["id"]): audit_chain.digest_row(row) for row in rows}
    end = await audit_chain.load_chain_end(tx, project)
    await audit_chain.insert_seals(tx, [audit_chain.seal_rows(project, end, "redaction", digests, now)])


async def remove_oldest_audit_rows(tx: Tx, project: str, before: int, now: int, limit: int) -> int:
    """Remove the oldest seals that list only rows before a time, and those rows; return how many rows went.

    A checkpoint keeps the rest verifiable. `limit` bounds the work of one transaction, to the next whole seal.
    """
    await lock_project(tx, project, _LOCK)
    await audit_chain.insert_seals(tx, await list_due_seals(tx, project, now, before))
    last = await audit_chain.find_last_removable(tx, project, before)
    seals = -(-limit // audit_chain.MAX_ROWS_OF_SEAL)
    removed = await audit_chain.list_oldest_seals(tx, project, last, seals)
    rows = 0
    if removed:
        rows = await _remove_seals(tx, project, removed, now)
    first_listed = await audit_chain.find_first_listed_time(tx, project)
    unlisted_before = before if first_listed is None else min(before, first_listed)
    return rows + await audit_chain.delete_rows_before(tx, project, unlisted_before, limit)


async def _remove_seals(tx: Tx, project: str, removed: list[AuditSeal], now: int) -> int:
    rows = sum(
        [
            await audit_chain.delete_listed_rows(tx, project, list(seal.digests()))
            for seal in removed
            if seal.kind == "rows"
        ]
    )
    last = removed[-1]
    end = await audit_chain.load_chain_end(tx, project)
    checkpoint = audit_chain.seal_checkpoint(project, end, ChainEnd(last.n, last.hash), now)
    await audit_chain.insert_seals(tx, [checkpoint])
    await audit_chain.delete_seals_up_to(tx, project, last.n)
    return rows
