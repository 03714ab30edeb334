"""What an error of a database driver means for a caller: try again, the data is damaged, or a bug of ours.

Each adapter classifies every error of its driver (`postgres_errors.py`, `sqlite_errors.py`) into a `StoreFault` and
raises the refusal that `build_refusal` makes of it. A bug has no refusal: its error goes on as it is, the edge logs it
and answers `internal`. No driver is imported here.
"""

from dataclasses import dataclass
from enum import Enum, auto

from commonplace import errors


class StoreFault(Enum):
    CONFLICT = auto()
    """Another transaction was in the way; the same transaction may succeed at once."""
    BUSY = auto()
    """A lock, a connection, memory or time ran out."""
    AWAY = auto()
    """The server or the connection is gone: restart, failover, network."""
    READ_ONLY = auto()
    """Reads may work, writes do not: a standby, or a folder without permission."""
    FULL = auto()
    """No space is left."""
    DENIED = auto()
    """The operator's configuration does not let this server in: password, role, database name, grants."""
    BROKEN_IO = auto()
    """The operating system could not read or write the files."""
    DAMAGED = auto()
    """What is stored is not what was written."""
    BUG = auto()
    """Our SQL or our use of the driver is wrong."""


class TransactionConflict(errors.Unavailable):
    """Too many concurrent writes to the same rows."""


@dataclass(frozen=True, slots=True)
class FaultAdvice:
    message: str
    hint: str
    retry_seconds: int


_ADVICE = {
    StoreFault.CONFLICT: FaultAdvice("Too many concurrent writes to the same rows", "Try again.", 1),
    StoreFault.BUSY: FaultAdvice("The database is busy", "Try again in a moment.", 2),
    StoreFault.AWAY: FaultAdvice(
        "The database did not complete the transaction",
        "Try again; after a write, check first whether it was done.",
        2,
    ),
    StoreFault.READ_ONLY: FaultAdvice(
        "The database accepts no writes",
        "Try again later. Operator: check whether it is a standby, and the permissions of the data folder.",
        10,
    ),
    StoreFault.FULL: FaultAdvice(
        "The disk of the database is full; nothing was written",
        "Try again later. Operator: free disk space.",
        10,
    ),
    StoreFault.DENIED: FaultAdvice(
        "The database does not accept this server",
        "Try again later. Operator: check user, password, database and grants of --store.",
        10,
    ),
    StoreFault.BROKEN_IO: FaultAdvice(
        "The files of the database cannot be read or written",
        "Try again later. Operator: check the disk and the permissions of the data folder.",
        10,
    ),
}


def build_refusal(
    fault: StoreFault, error: BaseException, database: object, restore_hint: str
) -> errors.Refusal | None:
    """The refusal that a caller gets; None for a bug, which stays the error that it is."""
    reason = f"({type(error).__name__})"
    if fault is StoreFault.DAMAGED:
        return errors.Damaged(f"The database {database} is damaged {reason}: {error}.", hint=restore_hint)
    advice = _ADVICE.get(fault)
    if advice is None:
        return None
    refusal = TransactionConflict if fault is StoreFault.CONFLICT else errors.Unavailable
    return refusal(f"{advice.message} {reason}.", hint=advice.hint, retry_after=advice.retry_seconds)
