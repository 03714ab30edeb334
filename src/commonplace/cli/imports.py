"""`commonplace import`: an export or a backup fills an empty store; notes of this machine become documents."""

import argparse
from pathlib import Path

from commonplace import errors
from commonplace.backup.contents import HEADER_NAME
from commonplace.cli import operation_call, restore
from commonplace.client.commands import import_notes

_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def run(arguments: argparse.Namespace) -> int:
    if arguments.path and _is_backup(Path(arguments.path).expanduser()):
        return restore.run_import(arguments)
    if not (arguments.path or arguments.everything or arguments.notes):
        raise errors.Invalid(
            "Say what to import.",
            hint="PATH of an export, a backup, Markdown or memory.jsonl; --notes for this repository's; or --everything.",
        )
    with operation_call.OperationCalls(arguments) as calls:
        return import_notes.run(arguments, calls.call_operation)


def _is_backup(path: Path) -> bool:
    if path.is_dir():
        return (path / HEADER_NAME).is_file()
    try:
        with path.open("rb") as file:
            return file.read(len(_ZSTD_MAGIC)) == _ZSTD_MAGIC
    except OSError:
        return False
