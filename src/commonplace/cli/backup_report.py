"""What the commands of backups print: progress on a terminal, counts, sizes."""

import contextlib
import sys
import time
from collections.abc import Mapping

from commonplace.backup.contents import BackupManifest
from commonplace.backup.inspection import InspectedBackup

_REDRAW_SECONDS = 0.1
_LINE_COLUMNS = 60
_SHOWN_ROWS = 10
_SHOWN_TABLES = {
    "project": "projects",
    "document": "documents",
    "message": "messages",
    "backlog": "backlog items",
    "archive": "archived sessions",
    "api_key": "keys",
}


class Progress:
    """One line that changes on a terminal; nothing elsewhere."""

    def __init__(self, act: str) -> None:
        self._act, self._shown_at = act, 0.0
        self._is_terminal = sys.stderr.isatty()

    def __call__(self, text: str) -> None:
        if self._is_terminal and time.monotonic() - self._shown_at > _REDRAW_SECONDS:
            self._shown_at = time.monotonic()
            self._draw(f"{self._act:9} {text}")

    def close(self) -> None:
        if self._is_terminal and self._shown_at:
            self._draw("")

    def _draw(self, text: str) -> None:
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\r{text:{_LINE_COLUMNS}.{_LINE_COLUMNS}}\r")
            sys.stderr.flush()


def format_size(size: int) -> str:
    for unit, factor in (("GB", 10**9), ("MB", 10**6), ("KB", 10**3)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} bytes"


def describe_rows(rows: Mapping[str, int]) -> str:
    """Counts of what a person knows by name; `rows` has them by table."""
    shown = [
        f"{rows[table]} {words.removesuffix('s') if rows[table] == 1 else words}"
        for table, words in _SHOWN_TABLES.items()
        if rows.get(table)
    ]
    return ", ".join(shown) or "nothing"


def describe_counts(manifest: BackupManifest) -> str:
    known = describe_rows({name: table.rows for name, table in manifest.tables.items()})
    bodies = f", {manifest.archive_bodies} archive bodies" if manifest.archive_bodies else ""
    return f"{known}; {manifest.rows} rows in all{bodies}"


def describe_damaged_rows(backup: InspectedBackup) -> str:
    """Which rows were not those that had been written, already when they were backed up; empty if there are none."""
    rows = backup.damaged_rows
    if not rows:
        return ""
    more = f" and {len(rows) - _SHOWN_ROWS} more" if len(rows) > _SHOWN_ROWS else ""
    return f"{len(rows)} rows are damaged in the store: {', '.join(rows[:_SHOWN_ROWS])}{more}"


def describe_origin(backup: InspectedBackup) -> str:
    header = backup.header
    return f"made {header.created_at} by Commonplace {header.commonplace} from {header.store}, schema {header.schema}"


def list_shown_tables() -> tuple[str, ...]:
    return tuple(_SHOWN_TABLES)
