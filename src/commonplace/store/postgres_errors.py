"""Classifies every error that asyncpg raises, by its SQLSTATE or, on the client's side, by its class."""

from urllib.parse import urlsplit

import asyncpg

from commonplace import errors
from commonplace.store.faults import StoreFault, build_refusal

DRIVER_ERRORS = (OSError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""Everything that asyncpg raises for a statement or a connection; a TimeoutError is an OSError."""

_BY_STATE = {
    "0P000": StoreFault.DENIED,
    "25006": StoreFault.READ_ONLY,
    "25P03": StoreFault.BUSY,  # idle_in_transaction_session_timeout
    "25P04": StoreFault.BUSY,  # transaction_timeout
    "26000": StoreFault.AWAY,  # a pooler gave the session, with its prepared statements, to somebody else
    "42P05": StoreFault.AWAY,  # the same
    "3D000": StoreFault.DENIED,
    "40002": StoreFault.BUG,
    "40003": StoreFault.AWAY,
    "42501": StoreFault.DENIED,
    "53100": StoreFault.FULL,
    "55000": StoreFault.AWAY,  # the database accepts no connections, or recovers
    "55006": StoreFault.BUSY,
    "55P03": StoreFault.BUSY,
    "57014": StoreFault.BUSY,
    "58030": StoreFault.BROKEN_IO,
    "58P01": StoreFault.DAMAGED,  # a file of a table is missing
    "72000": StoreFault.CONFLICT,
    "XX001": StoreFault.DAMAGED,
    "XX002": StoreFault.DAMAGED,
}
_BY_STATE_CLASS = {
    "08": StoreFault.AWAY,
    "28": StoreFault.DENIED,
    "40": StoreFault.CONFLICT,
    "53": StoreFault.BUSY,
    "57": StoreFault.AWAY,
    "58": StoreFault.BROKEN_IO,
    "F0": StoreFault.DENIED,
}
# asyncpg tells its misuse from a lost connection only by these words.
_MISUSES = ("the server expects", "query arguments cannot exceed", "another operation is in progress")


def classify_postgres_error(error: BaseException) -> StoreFault:
    if isinstance(error, asyncpg.InvalidCachedStatementError | asyncpg.OutdatedSchemaCacheError):
        return StoreFault.CONFLICT  # another server has just migrated; asyncpg has dropped the old plan
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return StoreFault.READ_ONLY
    if isinstance(error, asyncpg.PostgresError):
        state = getattr(error, "sqlstate", None) or ""
        return _BY_STATE.get(state) or _BY_STATE_CLASS.get(state[:2], StoreFault.BUG)
    if isinstance(error, asyncpg.InterfaceError):
        return StoreFault.BUG if any(words in str(error) for words in _MISUSES) else StoreFault.AWAY
    is_client_fault = isinstance(error, OSError | asyncpg.InternalClientError)
    return StoreFault.AWAY if is_client_fault else StoreFault.BUG


def postgres_refusal(error: BaseException, dsn: str) -> errors.Refusal | None:
    """The refusal for this error; None if it is a bug."""
    database = urlsplit(dsn).path.lstrip("/") or "of the default name"
    hint = (
        f"Operator: promote a healthy standby, or stop the servers and restore {database} from a backup:"
        " commonplace restore BACKUP --store postgresql://..."
    )
    return build_refusal(classify_postgres_error(error), error, database, hint)
