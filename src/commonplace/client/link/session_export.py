"""Sessions that an agent keeps in a database, exported to files that only grow, because sync sends files.

A record is one line; one that changes later is appended again. What was exported before is read from the file itself, so
a run that was interrupted, or is repeated, adds nothing twice. The time of an export says how far it got.
"""

import json
import os
import re
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

_RETENTION_SECONDS = 30 * 86_400
_LINE_HEAD = re.compile(rb'\{"\w+":"(\w+)","id":"([^"\\]+)"')


class ExportedRecord(NamedTuple):
    """A line of an export: `key` is its kind and id."""

    key: tuple[bytes, bytes]
    line: bytes


def build_record(tool: str, kind: str, identity: str, fields: dict[str, Any]) -> ExportedRecord:
    record = {tool: kind, "id": identity} | {name: fields[name] for name in fields if name != "id"}
    line = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
    return ExportedRecord((kind.encode(), identity.encode()), line)


def is_current(export: Path, stamp: int) -> bool:
    return export.is_file() and export.stat().st_mtime_ns == stamp


def append_new_records(export: Path, records: Iterable[ExportedRecord], stamp: int) -> None:
    """Append the records that are not in the export, and set its time to `stamp` in nanoseconds."""
    exported, length = _read_export(export)
    lines = [record.line for record in records if exported.get(record.key) != hash(record.line)]
    export.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(export, os.O_RDWR | os.O_CREAT, 0o600)
    with open(descriptor, "r+b") as file:  # noqa: PTH123 - of a descriptor
        file.seek(length)
        file.write(b"".join(lines))
        file.truncate()
    os.utime(export, ns=(stamp, stamp))


def delete_old_exports(folder: Path, sessions: set[str]) -> None:
    """Delete exports of sessions that their user deleted a while ago."""
    oldest = time.time() - _RETENTION_SECONDS
    for export in folder.glob("*.jsonl"):
        if export.stem not in sessions and export.stat().st_mtime < oldest:
            export.unlink(missing_ok=True)


def _read_export(export: Path) -> tuple[dict[tuple[bytes, bytes], int], int]:
    """A hash of the last line of each record, and the length of the whole lines."""
    exported: dict[tuple[bytes, bytes], int] = {}
    length = 0
    try:
        with export.open("rb") as lines:
            for line in lines:
                if line.endswith(b"\n"):
                    length += len(line)
                    if head := _LINE_HEAD.match(line):
                        exported[head[1], head[2]] = hash(line)
    except FileNotFoundError:
        pass
    return exported, length
