"""`commonplace restore` and `commonplace import`: put a backup or an export into a store; the old data is kept."""

import argparse
import asyncio
import sys
from pathlib import Path
from urllib.parse import urlsplit

from commonplace import config, errors
from commonplace.backup.container import require_backup
from commonplace.backup.inspection import InspectedBackup, inspect_backup
from commonplace.backup.restore import Restoration
from commonplace.backup.rotation import format_stamp
from commonplace.cli.backup import open_snapshot
from commonplace.cli.backup_report import (
    Progress,
    describe_counts,
    describe_damaged_rows,
    describe_origin,
    describe_rows,
    format_size,
    list_shown_tables,
)
from commonplace.clock import read_wall_clock
from commonplace.config import Settings
from commonplace.data_folder import DATABASE, find_holder

_YES = frozenset({"y", "yes"})


def run(arguments: argparse.Namespace) -> int:
    """Replace what is in the store."""
    settings = config.read_settings(vars(arguments))
    require_backup(Path(arguments.file))
    _require_stopped(settings)
    backup = _inspect(Path(arguments.file))
    old = asyncio.run(_describe_store(settings))
    print(f"replaces  {describe_place(settings)}: {old}" if old else f"creates   {describe_place(settings)}")
    if old and not arguments.yes:
        _require_consent("Replace it? The old data is kept.")
    kept = asyncio.run(put_in_place(settings, backup, keeps_leases=False))
    _print_result(settings, kept)
    return 0


def run_import(arguments: argparse.Namespace) -> int:
    """Fill an empty store."""
    settings = config.read_settings(vars(arguments))
    require_backup(Path(arguments.path))
    _require_stopped(settings)
    backup = _inspect(Path(arguments.path))
    if asyncio.run(_describe_store(settings)) not in ("", "nothing"):
        raise errors.Conflict(
            f"{describe_place(settings)} is not empty.",
            hint=f"Import into a new store, or replace this one: commonplace restore {arguments.path}",
        )
    asyncio.run(put_in_place(settings, backup, keeps_leases=True))
    print(f"imported  {describe_place(settings)}")
    if backup.header.store != _kind(settings):
        print("search    by words works at once; vectors are computed again in the background")
    return 0


async def put_in_place(settings: Settings, backup: InspectedBackup, *, keeps_leases: bool) -> str:
    """Restore into the store that the settings name; returns where its old data is, if any."""
    progress = Progress("restore")
    restoration = Restoration(
        backup=backup,
        archives=settings.archives,
        stamp=format_stamp(),
        clock=read_wall_clock,
        report=progress,
        keeps_leases=keeps_leases,
    )
    try:
        if settings.store == "sqlite":
            from commonplace.backup.replace_sqlite import replace_sqlite  # only its driver

            return str(await replace_sqlite(restoration, settings.data) or "")
        from commonplace.backup.replace_postgres import replace_postgres  # only its driver

        return await replace_postgres(restoration, settings.store) or ""
    finally:
        progress.close()


def describe_place(settings: Settings) -> str:
    """The store in words, without its password."""
    if settings.store == "sqlite":
        return str(settings.data / DATABASE)
    parts = urlsplit(settings.store)
    return f"{parts.path.lstrip('/')} on {parts.hostname or 'this machine'}"


def _kind(settings: Settings) -> str:
    return "sqlite" if settings.store == "sqlite" else "postgresql"


def _require_stopped(settings: Settings) -> None:
    if settings.store == "sqlite" and (pid := find_holder(settings.data)):
        raise errors.Conflict(
            f"A server (pid {pid}) uses the data folder {settings.data}.",
            hint="Stop it, then run this again.",
        )


def _inspect(path: Path) -> InspectedBackup:
    backup = inspect_backup(path)
    print(f"backup    {path}, {describe_origin(backup)}")
    print(f"contents  {describe_counts(backup.manifest)}")
    if missing := backup.manifest.missing_bodies:
        print(f"warning   {len(missing)} archive bodies were left out; their transcripts cannot be read")
    if warning := describe_damaged_rows(backup):
        print(f"warning   {warning}; an older backup may have them as they were written")
    return backup


async def _describe_store(settings: Settings) -> str:
    """What is in the store now; empty if there is none."""
    try:
        snapshot = await open_snapshot(settings)
    except errors.NotFound:
        return ""
    except errors.Damaged as damaged:
        return f"a damaged database ({damaged.message})"
    try:
        if not await snapshot.schema_version():
            return ""
        tables = {table.name for table in await snapshot.tables()}
        rows = {name: await snapshot.count(name) for name in list_shown_tables() if name in tables}
    except errors.Damaged as damaged:
        return f"a damaged database ({damaged.message})"
    finally:
        await snapshot.close()
    size = (
        f" ({format_size((settings.data / DATABASE).stat().st_size)})" if settings.store == "sqlite" else ""
    )
    return f"{describe_rows(rows)}{size if any(rows.values()) else ''}"


def _require_consent(question: str) -> None:
    if not sys.stdin.isatty():
        raise errors.Invalid(
            "Nothing was changed: restoring replaces the data.", hint="Run it again with --yes."
        )
    print(f"{question} [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in _YES:
        raise errors.Invalid("Nothing was changed.")


def _print_result(settings: Settings, kept: str) -> None:
    print(f"restored  {describe_place(settings)}")
    print("locks     leases of the backup have ended; new fencing tokens are higher than all before")
    if kept and settings.store == "sqlite":
        print(f"kept      the old data as {kept}; delete it when you no longer need it")
    elif kept:
        print(f"kept      the old tables in the schema {kept}; `drop schema {kept} cascade` deletes them")
