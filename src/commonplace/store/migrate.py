"""Numbered SQL files, one statement at a time, forward only, checksummed, under a lock.

A file is one text for both stores with the words {int} {json} {blob} {tail}, and {order} after a text that is
compared by its bytes; where the stores differ there is
NNNN_name.sqlite.sql and NNNN_name.postgresql.sql instead. On a distributed database (`citus.py`) a new table is
distributed as soon as it is created.

A server applies additive migrations when it starts; `migration_kinds.py` tells which these are. Before one that changes
data, a SQLite database is copied (`sqlite_copies.py`), and on PostgreSQL an operator has to confirm it. The indexes of a
PostgreSQL database in use are built afterwards, beside the other work (`postgres_indexes.py`).
"""

import asyncio
import contextlib
import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib import resources
from typing import get_args

from commonplace import errors
from commonplace.store import migration_kinds
from commonplace.store.database import Database, Kind, Row, Tx
from commonplace.store.migration_kinds import MigrationKind
from commonplace.store.statistics import write_large_statistics

_WORDS = {
    "sqlite": {
        "int": "integer",
        "json": "text",
        "blob": "blob",
        "real": "real",
        "tail": "strict, without rowid",
        "order": "",
    },
    "postgresql": {
        "int": "bigint",
        "json": "jsonb",
        "blob": "bytea",
        "real": "double precision",
        "tail": "",
        "order": 'collate "C"',
    },
}
_TABLE = re.compile(r"create table (?:if not exists )?(\w+)", re.IGNORECASE)
_LEDGER = "create table if not exists schema_version (n {int} primary key, name text not null, checksum text not null)"
_FIND_LEDGER: dict[Kind, str] = {
    "sqlite": "select 1 as yes from sqlite_schema where name = 'schema_version'",
    "postgresql": "select 1 as yes from pg_tables where schemaname = current_schema() and tablename = 'schema_version'",
}


@dataclass(frozen=True)
class Migration:
    n: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        return hashlib.sha256(migration_kinds.remove_kind(self.text).encode()).hexdigest()[:16]

    def find_kind(self, kind: Kind) -> MigrationKind:
        return migration_kinds.read_kind(self.text) or migration_kinds.guess_kind(self.statements(kind))

    def statements(self, kind: Kind) -> list[str]:
        text = self.text
        for word, meaning in _WORDS[kind].items():
            text = text.replace("{" + word + "}", meaning)
        return [part.strip() for part in text.split(";\n") if part.strip()]


def list_migrations(kind: Kind) -> list[Migration]:
    folder = resources.files(__package__) / "migrations"
    found = []
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        stem, _, rest = file.name.partition(".")
        if rest in ("sql", f"{kind}.sql"):
            found.append(Migration(int(stem[:4]), stem[5:], file.read_text(encoding="utf-8")))
    return found


def newest_schema() -> int:
    """The highest number that this version knows. Both stores share the numbers, but some files are for one of them."""
    return max(migration.n for kind in get_args(Kind) for migration in list_migrations(kind))


def list_own_tables(kind: Kind) -> frozenset[str]:
    """The names of all tables that migrations create; a database may also have tables of others, such as Litestream's."""
    texts = (statement for migration in list_migrations(kind) for statement in migration.statements(kind))
    return frozenset(found[1] for text in texts if (found := _TABLE.search(text)))


@dataclass(frozen=True)
class MigrationPlan:
    """What a start of this version would do to a database; its schema is 0 if it is new."""

    schema: int
    pending: tuple[Migration, ...]
    changing: tuple[Migration, ...]
    """Those that change data. In a new database there is none to change."""


async def plan_migrations(database: Database) -> MigrationPlan:
    known = list_migrations(database.kind)
    done = await database.read(_read_ledger)
    _refuse_foreign(known, done)
    pending = tuple(migration for migration in known if migration.n not in done)
    changing = tuple(migration for migration in pending if migration.find_kind(database.kind) == "data")
    return MigrationPlan(max(done, default=0), pending, changing if done else ())


async def migrate(
    database: Database,
    *,
    is_confirmed: bool = False,
    without_copy: bool = False,
    without_vector_indexes: bool = False,
) -> int:
    """Migrate the schema to this code's version, also while other servers start; return the number of files applied.

    What changes data is confirmed by an operator on PostgreSQL (`is_confirmed`), and comes after a copy on SQLite. A
    server leaves indexes of vectors that are missing to `build_vector_indexes`, because it can answer before.
    """
    plan = await plan_migrations(database)
    if plan.changing and database.kind == "sqlite" and not without_copy:
        await _copy_database(database, plan.schema)
    elif plan.changing and database.kind == "postgresql" and not is_confirmed:
        raise _needs_confirmation(plan)
    applied = await apply_migration_files(database, without_vector_indexes=without_vector_indexes)
    if database.kind == "postgresql":
        from commonplace.store import citus  # noqa: PLC0415 - its driver is not needed on SQLite

        await citus.distribute_new_database(database)
    return applied


async def _copy_database(database: Database, schema: int) -> None:
    from commonplace.store.sqlite import Sqlite  # noqa: PLC0415 - its driver is not needed on PostgreSQL
    from commonplace.store.sqlite_copies import copy_before_migration  # noqa: PLC0415 - as above

    if isinstance(database, Sqlite):
        await asyncio.to_thread(copy_before_migration, database.folder.path, schema)


def _needs_confirmation(plan: MigrationPlan) -> errors.Unavailable:
    named = ", ".join(f"{migration.n:04} {migration.name}" for migration in plan.changing)
    return errors.Unavailable(
        f"This version has migrations that change what is stored: {named}. Nothing was changed.",
        hint="Back up (`commonplace backup FILE --store ...`), look at `commonplace admin migrate --dry-run --store ...`,"
        " then run it with --yes; or start the server once with --yes.",
    )


async def apply_migration_files(
    database: Database, last: int | None = None, without_vector_indexes: bool = False
) -> int:
    """Migrate without asking and without distributing a new database; with `last`, only up to this migration."""
    known = [each for each in list_migrations(database.kind) if last is None or each.n <= last]
    async with _open_without_time_limits(database) as store:
        applied = await store.write(lambda tx: _apply_migrations(tx, known))
    wanted = await _list_own_indexes(database, known)
    if without_vector_indexes:
        wanted = {name: text for name, text in wanted.items() if not migration_kinds.is_vector_index(text)}
    await _build_indexes(database, wanted)
    return applied


async def build_vector_indexes(database: Database) -> None:
    """Build the indexes of vectors that are missing, beside all other work."""
    await _build_indexes(database, await list_missing_vector_indexes(database))


async def list_missing_vector_indexes(database: Database) -> dict[str, str]:
    """The indexes of vectors, by name, that are not there or not complete, and their statements."""
    wanted = await _list_own_indexes(database, list_migrations(database.kind))
    of_vectors = {name: text for name, text in wanted.items() if migration_kinds.is_vector_index(text)}
    if not of_vectors:
        return {}
    from commonplace.store.postgres_indexes import list_valid_indexes  # noqa: PLC0415 - not needed on SQLite

    valid = await database.read(list_valid_indexes)
    return {name: text for name, text in of_vectors.items() if name not in valid}


async def _list_own_indexes(database: Database, known: list[Migration]) -> dict[str, str]:
    """The indexes of these migrations that are built here: on PostgreSQL, where Citus does not build its own."""
    if database.kind != "postgresql" or await database.read(_is_distributed):
        return {}
    texts = (statement for migration in known for statement in migration.statements("postgresql"))
    return {name: text for text in texts if (name := migration_kinds.find_index_name(text))}


async def _build_indexes(database: Database, wanted: Mapping[str, str]) -> None:
    if not wanted:
        return
    from commonplace.store.postgres import Postgres  # noqa: PLC0415 - its driver is not needed on SQLite
    from commonplace.store.postgres_indexes import build_missing_indexes  # noqa: PLC0415 - as above

    if isinstance(database, Postgres):
        await build_missing_indexes(database.dsn, wanted)


@contextlib.asynccontextmanager
async def _open_without_time_limits(database: Database) -> AsyncIterator[Database]:
    """The same database for statements that may take hours, such as an index on millions of rows."""
    if database.kind != "postgresql":
        yield database
        return
    from commonplace.store.postgres import Postgres  # noqa: PLC0415 - its driver is not needed on SQLite
    from commonplace.store.postgres_connection import MIGRATION_TIMEOUTS  # noqa: PLC0415 - as above

    if not isinstance(database, Postgres):
        raise TypeError("an unknown store")
    store = await Postgres.open(database.dsn, pool=1, timeouts=MIGRATION_TIMEOUTS)
    try:
        yield store
    finally:
        await store.close()


async def _apply_migrations(tx: Tx, known: list[Migration]) -> int:
    if tx.kind == "postgresql":
        await tx.run("set local statement_timeout = 0")
        await tx.run("select pg_advisory_xact_lock(7341900)")
        await _require_vector(tx)
    await tx.run(_LEDGER.replace("{int}", _WORDS[tx.kind]["int"]))
    done = await _read_ledger(tx)
    _refuse_foreign(known, done)
    distribute = await _find_distribution(tx)
    builds_indexes_later = tx.kind == "postgresql" and bool(done) and distribute is None
    pending = [migration for migration in known if migration.n not in done]
    for migration in pending:
        for statement in migration.statements(tx.kind):
            if builds_indexes_later and migration_kinds.find_index_name(statement):
                continue
            await tx.run(statement)
            if distribute and (table := _TABLE.search(statement)):
                await distribute(tx, table[1])
        await tx.run(
            "insert into schema_version values ($1, $2, $3)", migration.n, migration.name, migration.checksum
        )
    if pending and tx.kind == "sqlite":
        await write_large_statistics(tx)
    return len(pending)


async def _read_ledger(tx: Tx) -> dict[int, Row]:
    """The migrations that a database has had; none in a new one."""
    if not await tx.one(_FIND_LEDGER[tx.kind]):
        return {}
    return {row["n"]: row for row in await tx.all("select n, name, checksum from schema_version order by n")}


async def _require_vector(tx: Tx) -> None:
    if not await tx.one("select 1 as yes from pg_available_extensions where name = 'vector'"):
        raise errors.Unavailable(
            "This PostgreSQL has no pgvector, which the search needs.",
            hint="Install the extension (package postgresql-NN-pgvector, 0.8 or newer) on the database server.",
        )


def _refuse_foreign(known: list[Migration], done: Mapping[int, Row]) -> None:
    ours = {migration.n: migration for migration in known}
    newest = max(done, default=0)
    if newest > max(ours, default=0):
        raise errors.Unavailable(
            f"This database has schema {newest}; this version of Commonplace knows {max(ours, default=0)}.",
            hint="Upgrade Commonplace, or restore a backup that this version made.",
        )
    for n, row in done.items():
        if n in ours and row["checksum"] != ours[n].checksum:
            raise errors.Unavailable(
                f"Migration {n} of this database is not the one that this version knows.",
                hint="The database was made by another build; restore a backup or upgrade.",
            )


async def _find_distribution(tx: Tx) -> Callable[[Tx, str], Awaitable[object]] | None:
    """What to do with a new table in a distributed database."""
    if tx.kind != "postgresql" or not await _is_distributed(tx):
        return None
    from commonplace.store import citus  # noqa: PLC0415 - its driver is not needed on SQLite

    await citus.use_one_connection_per_node(tx)
    return citus.distribute_table


async def _is_distributed(tx: Tx) -> bool:
    from commonplace.store import citus  # noqa: PLC0415 - its driver is not needed on SQLite

    return await citus.is_distributed(tx)
