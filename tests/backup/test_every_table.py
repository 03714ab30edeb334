"""A row of every table moves from SQLite to PostgreSQL and back: no migration of one store alone breaks that unseen."""

import itertools
from pathlib import Path

from full_store import digest_store, fill_empty_tables, settings_of

from commonplace.backup.contents import INDEX_TABLES
from commonplace.backup.inspection import inspect_backup
from commonplace.cli.backup import make_backup
from commonplace.cli.restore import put_in_place
from commonplace.config import Settings
from commonplace.store.migrate import migrate
from commonplace.store.sqlite import Sqlite
from team import HandClock, create_database

# A restore raises the epoch of tokens, which is a setting.
NOT_COMPARED = INDEX_TABLES | {"setting"}


async def test_row_of_every_table_moves_to_postgresql_and_back(
    postgres_server: str, clock: HandClock, tmp_path: Path
):
    store = Sqlite(tmp_path / "first", clock)
    await migrate(store)
    await fill_empty_tables(store, Settings(data=tmp_path / "first"))
    await store.close()
    before = await digest_store(Settings(data=tmp_path / "first"))
    assert {name for name, digest in before.items() if not digest.rows} <= INDEX_TABLES
    async with create_database(postgres_server) as dsn:
        places = [
            Settings(data=tmp_path / "first"),
            settings_of(dsn, tmp_path),
            Settings(data=tmp_path / "last"),
        ]
        for number, (source, target) in enumerate(itertools.pairwise(places)):
            file = tmp_path / f"{number}.tar.zst"
            await make_backup(source, file, verify=False)
            await put_in_place(target, inspect_backup(file), keeps_leases=True)
            after = await digest_store(target)
            assert set(after) == set(before)
            assert {name for name in set(before) - NOT_COMPARED if before[name] != after[name]} == set()
