"""Classifies every error that apsw raises, by its class and SQLite's extended result code."""

from pathlib import Path

import apsw

from commonplace import errors
from commonplace.store.faults import StoreFault, build_refusal

_BY_EXTENDED_CODE = {
    apsw.SQLITE_IOERR_CORRUPTFS: StoreFault.DAMAGED,
    apsw.SQLITE_IOERR_DATA: StoreFault.DAMAGED,
    apsw.SQLITE_READONLY_DBMOVED: StoreFault.DAMAGED,  # the file was moved or deleted while it was open
}
_BY_CLASS: dict[type[BaseException], StoreFault] = {
    apsw.AbortError: StoreFault.BUSY,
    apsw.BusyError: StoreFault.BUSY,
    apsw.CantOpenError: StoreFault.BROKEN_IO,
    apsw.ConnectionClosedError: StoreFault.AWAY,
    apsw.CorruptError: StoreFault.DAMAGED,
    apsw.FormatError: StoreFault.DAMAGED,
    apsw.FullError: StoreFault.FULL,
    apsw.InterruptError: StoreFault.BUSY,
    apsw.IOError: StoreFault.BROKEN_IO,
    apsw.LockedError: StoreFault.BUSY,
    apsw.NoLFSError: StoreFault.FULL,
    apsw.NoMemError: StoreFault.BUSY,
    apsw.NotADBError: StoreFault.DAMAGED,
    apsw.PermissionsError: StoreFault.READ_ONLY,
    apsw.ProtocolError: StoreFault.BUSY,
    apsw.ReadOnlyError: StoreFault.READ_ONLY,
    apsw.SchemaChangeError: StoreFault.BUSY,
    MemoryError: StoreFault.BUSY,
}


def classify_sqlite_error(error: BaseException) -> StoreFault:
    extended = getattr(error, "extendedresult", 0)
    return _BY_EXTENDED_CODE.get(extended) or _BY_CLASS.get(type(error), StoreFault.BUG)


def sqlite_refusal(error: BaseException, database: Path) -> errors.Refusal | None:
    """The refusal for this error; None if it is a bug."""
    return build_refusal(classify_sqlite_error(error), error, database, format_restore_hint(database))


def format_restore_hint(database: Path) -> str:
    """How to put a backup in the place of a damaged file."""
    return f"Operator: stop the server, then run: commonplace restore BACKUP --data {database.parent}"
