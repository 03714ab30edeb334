"""`commonplace backup`: write everything into one verified file, while the server runs."""

import argparse
import asyncio
import sys
from pathlib import Path

from commonplace import config, errors
from commonplace.backup.container import create_backup_file
from commonplace.backup.dump import write_backup
from commonplace.backup.inspection import InspectedBackup, inspect_backup
from commonplace.backup.restore import verify_in_scratch
from commonplace.backup.rotation import delete_old_backups, name_backup
from commonplace.cli.backup_report import Progress, describe_counts, describe_damaged_rows, format_size
from commonplace.clock import read_wall_clock
from commonplace.config import Settings
from commonplace.data_folder import DATABASE
from commonplace.store.last_backup import describe_backup, write_last_backup
from commonplace.store.snapshot import Snapshot
from commonplace.transcripts.archive.frame_storage import open_frame_storage

_MAX_VERIFIED_BYTES = 256_000_000
_INCOMPLETE_EXIT_CODE = 1


def run(arguments: argparse.Namespace) -> int:
    settings = config.read_settings(vars(arguments))
    if bool(arguments.file) == bool(arguments.to):
        raise errors.Invalid("Name the FILE to write, or a folder with --to DIR.")
    if arguments.keep is not None and (not arguments.to or arguments.keep < 1):
        raise errors.Invalid("--keep N needs --to DIR, and N of at least 1.")
    path = Path(arguments.file).absolute() if arguments.file else name_backup(Path(arguments.to).absolute())
    backup = asyncio.run(make_backup(settings, path, arguments.verify, copies_bodies=arguments.with_archives))
    missing = backup.manifest.missing_bodies
    if arguments.keep:
        for old in delete_old_backups(path.parent, arguments.keep):
            print(f"deleted   {old.name}")
    if warning := describe_damaged_rows(backup):
        print(
            f"commonplace: {warning}\n  The backup has them as they are. Keep older backups.", file=sys.stderr
        )
    if missing and arguments.with_archives:
        print(
            f"commonplace: {len(missing)} archive bodies are missing in {settings.archives}, such as {missing[0]}.\n"
            "  The backup has everything else. Run `commonplace doctor`.",
            file=sys.stderr,
        )
    return _INCOMPLETE_EXIT_CODE if backup.damaged_rows or (missing and arguments.with_archives) else 0


async def make_backup(
    settings: Settings, path: Path, verify: bool | None, *, copies_bodies: bool = True
) -> InspectedBackup:
    """Write and check the file, then give it its name; returns what the check found."""
    progress = Progress("backup")
    snapshot = await open_snapshot(settings)
    with create_backup_file(path) as (writer, partial):
        try:
            storage = open_frame_storage(settings.archives)
            await write_backup(snapshot, writer, storage, progress, copies_bodies=copies_bodies)
        finally:
            await snapshot.close()
        backup = inspect_backup(partial)
        verifies = partial.stat().st_size <= _MAX_VERIFIED_BYTES if verify is None else verify
        if verifies:
            await verify_in_scratch(backup, read_wall_clock, Progress("verify"))
    progress.close()
    last = describe_backup(path, verified=verifies)
    await write_last_backup(settings.store, settings.data, last)
    _print_result(backup, path, is_verified=verifies)
    return backup


async def open_snapshot(settings: Settings) -> Snapshot:
    """The present state of the store that the settings name; only its driver is imported."""
    if settings.store == "sqlite":
        from commonplace.store.sqlite_snapshot import SqliteSnapshot  # see above

        return SqliteSnapshot(settings.data / DATABASE)
    from commonplace.store.postgres_snapshot import PostgresSnapshot  # see above

    return await PostgresSnapshot.open(settings.store)


def _print_result(backup: InspectedBackup, path: Path, *, is_verified: bool) -> None:
    how = (
        "restored into a scratch store and compared" if is_verified else "read back; not restored (--verify)"
    )
    print(f"backup    {path} ({format_size(path.stat().st_size)})")
    print(f"contents  {describe_counts(backup.manifest)}")
    print(f"verified  {how}")
