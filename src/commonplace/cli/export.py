"""`commonplace export`: everything as JSON lines, Markdown and transcripts in a folder."""

import argparse
import asyncio
from pathlib import Path

from commonplace import config
from commonplace.backup.container import create_export_folder
from commonplace.backup.dump import write_backup
from commonplace.backup.inspection import inspect_backup
from commonplace.backup.pages import write_pages
from commonplace.cli.backup import open_snapshot
from commonplace.cli.backup_report import Progress, describe_counts
from commonplace.config import Settings
from commonplace.transcripts.archive.frame_storage import open_frame_storage


def run(arguments: argparse.Namespace) -> int:
    settings = config.read_settings(vars(arguments))
    asyncio.run(export_store(settings, Path(arguments.folder).absolute()))
    return 0


async def export_store(settings: Settings, folder: Path) -> None:
    """Write the folder and read it back."""
    progress = Progress("export")
    snapshot = await open_snapshot(settings)
    storage = open_frame_storage(settings.archives)
    try:
        with create_export_folder(folder) as writer:
            await write_backup(snapshot, writer, storage, progress)
            pages = await write_pages(snapshot, writer, storage)
    finally:
        await snapshot.close()
        progress.close()
    exported = inspect_backup(folder)
    print(f"export    {folder}")
    print(f"contents  {describe_counts(exported.manifest)}")
    print(f"pages     {pages} under {folder / 'markdown'}")
