"""Every error of a driver is a refusal that can be retried, `damaged`, or a bug; none is forgotten."""

import asyncio
import shutil
from pathlib import Path

import apsw
import asyncpg
import pytest

from commonplace import errors
from commonplace.store.database import Database, Tx
from commonplace.store.faults import StoreFault
from commonplace.store.postgres import Postgres
from commonplace.store.postgres_errors import classify_postgres_error, postgres_refusal
from commonplace.store.sqlite import Sqlite
from commonplace.store.sqlite_errors import classify_sqlite_error, sqlite_refusal
from team import create_database

# What each class of SQLSTATE means, and the states that mean something else.
STATE_CLASSES = {
    "AWAY": "08 57",
    "DENIED": "28 F0",
    "CONFLICT": "40",
    "BUSY": "53",
    "BROKEN_IO": "58",
    "BUG": "03 09 0A 0B 0F 0L 0P 0Z 10 20 21 22 23 24 25 26 27 2B 2D 2F 34 38 39 3B 3D 3F 42 44 54 55 72 HV P0 XX",
}
STATES = {
    "AWAY": "26000 42P05 40003 55000",
    "READ_ONLY": "25006",
    "BUSY": "25P03 25P04 55006 55P03 57014",
    "DENIED": "0P000 3D000 42501",
    "FULL": "53100",
    "CONFLICT": "72000",
    "DAMAGED": "58P01 XX001 XX002",
    "BROKEN_IO": "58030",
    "BUG": "40002",
}
CLIENT_ERRORS = {
    "InterfaceError": "AWAY",
    "ClientConfigurationError": "AWAY",
    "UnsupportedClientFeatureError": "AWAY",
    "UnsupportedServerFeatureError": "AWAY",
    "InternalClientError": "AWAY",
    "ProtocolError": "AWAY",
    "OutdatedSchemaCacheError": "CONFLICT",
    "InvalidCachedStatementError": "CONFLICT",
    "TargetServerAttributeNotMatched": "READ_ONLY",
    "PostgresError": "BUG",
    "FatalPostgresError": "BUG",
    "UnknownPostgresError": "BUG",
}
SQLITE_ERRORS = {
    "BUSY": "AbortError BusyError InterruptError LockedError NoMemError ProtocolError SchemaChangeError",
    "AWAY": "ConnectionClosedError",
    "BROKEN_IO": "CantOpenError IOError",
    "FULL": "FullError NoLFSError",
    "READ_ONLY": "PermissionsError ReadOnlyError",
    "DAMAGED": "CorruptError FormatError NotADBError",
    "BUG": "AuthError BindingsError ConnectionNotClosedError ConstraintError CursorClosedError EmptyError Error"
    " ExecTraceAbort ExecutionCompleteError ExtensionLoadingError ForkingViolationError IncompleteExecutionError"
    " InternalError InvalidContextError MismatchError MisuseError NoFTS5Error NotFoundError RangeError SQLError"
    " ThreadingViolationError TooBigError VFSFileClosedError VFSNotImplementedError",
}
RETRYABLE = set(StoreFault) - {StoreFault.BUG, StoreFault.DAMAGED}


def spread(table: dict[str, str]) -> dict[str, StoreFault]:
    return {key: StoreFault[name] for name, keys in table.items() for key in keys.split()}


def list_postgres_errors() -> list[type[Exception]]:
    kinds = [getattr(asyncpg.exceptions, name) for name in asyncpg.exceptions.__all__]
    return [kind for kind in kinds if issubclass(kind, Exception) and not issubclass(kind, Warning)]


def list_sqlite_errors() -> list[type[Exception]]:
    kinds = [kind for kind in vars(apsw).values() if isinstance(kind, type)]
    return [kind for kind in kinds if issubclass(kind, apsw.Error)]


def expected_fault(kind: type[Exception]) -> StoreFault:
    if kind.__name__ in CLIENT_ERRORS:
        return StoreFault[CLIENT_ERRORS[kind.__name__]]
    state = kind.sqlstate  # type: ignore[attr-defined]  # asyncpg is untyped
    return spread(STATES).get(state) or spread(STATE_CLASSES)[state[:2]]


def test_every_error_of_asyncpg_has_a_place_in_the_table():
    kinds = list_postgres_errors()
    assert len(kinds) > 250
    wrong = {kind.__name__ for kind in kinds if classify_postgres_error(kind("x")) != expected_fault(kind)}
    assert wrong == set()


def test_every_error_of_apsw_has_a_place_in_the_table():
    table = spread(SQLITE_ERRORS)
    assert {kind.__name__: classify_sqlite_error(kind("x")) for kind in list_sqlite_errors()} == table


@pytest.mark.parametrize(
    ("code", "fault"),
    [
        (apsw.SQLITE_IOERR_CORRUPTFS, StoreFault.DAMAGED),
        (apsw.SQLITE_READONLY_DBMOVED, StoreFault.DAMAGED),
        (apsw.SQLITE_IOERR_FSYNC, StoreFault.BROKEN_IO),
        (apsw.SQLITE_READONLY_DIRECTORY, StoreFault.READ_ONLY),
    ],
)
def test_extended_code_of_sqlite_decides_where_it_says_more(code: int, fault: StoreFault):
    assert classify_sqlite_error(apsw.exception_for(code)) is fault


@pytest.mark.parametrize("error", [ConnectionResetError(), TimeoutError(), OSError("no route to host")])
def test_lost_network_can_be_retried(error: OSError):
    assert classify_postgres_error(error) is StoreFault.AWAY


def test_misuse_of_asyncpg_is_a_bug_and_not_an_outage():
    misuse = asyncpg.InterfaceError("the server expects 2 arguments for this query, 1 was passed")
    assert postgres_refusal(misuse, "postgresql://localhost/team") is None


def test_refusals_say_when_to_retry_and_damage_says_what_to_restore():
    refusals = [
        postgres_refusal(kind("x"), "postgresql://me:secret@db/team") for kind in list_postgres_errors()
    ]
    refusals += [sqlite_refusal(kind("x"), Path("/d/commonplace.db")) for kind in list_sqlite_errors()]
    for refusal in filter(None, refusals):
        assert (refusal.status, isinstance(refusal, errors.Unavailable)) == (503, True)
        if refusal.code == "damaged":
            assert "retry_after" not in refusal.details
            assert "team" in (refusal.hint or "") or "commonplace restore BACKUP --data /d" in (
                refusal.hint or ""
            )
        else:
            assert refusal.code == "unavailable"
            assert refusal.details["retry_after"] > 0
        assert "secret" not in f"{refusal.message}{refusal.hint}"


# The same through the stores


async def _grow(tx: Tx) -> None:
    for n in range(2000):
        await tx.run("insert into setting (name, value) values ($1, $2)", f"big{n}", "x" * 4000)


async def _put(tx: Tx) -> None:
    await tx.run("insert into setting (name, value) values ('a', 'b')")


async def test_full_disk_refuses_the_whole_batch_and_the_writer_goes_on(sqlite_store: Sqlite):
    connection = await sqlite_store.write(_get_connection)
    connection.pragma("max_page_count", connection.pragma("page_count") + 5)
    outcomes = await asyncio.gather(*(sqlite_store.write(_grow) for _ in range(3)), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [errors.Unavailable] * 3
    connection.pragma("max_page_count", 1_000_000)
    await sqlite_store.write(_put)


async def _read_settings(folder: Path) -> None:
    store = Sqlite(folder, lambda: 0)
    try:
        await store.read(lambda tx: tx.all("select * from setting"))
    finally:
        await store.close()


@pytest.mark.parametrize("damage", [b"", b"\0", b"\xff"])
async def test_damaged_file_is_refused_as_damaged(sqlite_store: Sqlite, damage: bytes):
    path = sqlite_store.folder.database
    await sqlite_store.write(_grow)
    await sqlite_store.close()
    stored = path.read_bytes()
    path.write_bytes(stored[: len(stored) // 2] + damage * (len(stored) // 2))
    with pytest.raises(errors.Damaged) as refusal:
        await _read_settings(path.parent)
    assert str(path) in refusal.value.message
    assert f"commonplace restore BACKUP --data {path.parent}" in (refusal.value.hint or "")


async def test_bug_stays_the_error_that_it_is(database: Database):
    with pytest.raises((apsw.SQLError, asyncpg.PostgresError)):
        await database.write(lambda tx: tx.run("insert into nowhere values (1)"))
    with pytest.raises((apsw.BindingsError, asyncpg.InterfaceError)):
        await database.read(lambda tx: tx.one("select $1", 1, 2))


async def test_dropped_database_is_a_refusal_with_retry_after(postgres_server: str):
    async with create_database(postgres_server) as dsn:
        store = await Postgres.open(dsn, pool=1)
    with pytest.raises(errors.Unavailable) as refusal:
        await store.read(lambda tx: tx.one("select 1 as n"))
    assert refusal.value.details["retry_after"] > 0
    await store.close()


async def _get_connection(tx: Tx) -> apsw.Connection:
    return tx._connection  # type: ignore[attr-defined]


@pytest.fixture
async def sqlite_store(tmp_path: Path, sqlite_template: Path, clock):
    shutil.copytree(sqlite_template, tmp_path / "data")
    store = Sqlite(tmp_path / "data", clock)
    yield store
    await store.close()
