"""Backups in a folder, named by their time: the name of the next one, and which old ones go."""

import re
from datetime import UTC, datetime
from pathlib import Path

from commonplace.backup.container import PARTIAL_SUFFIX

_PREFIX, _SUFFIX = "commonplace-", ".tar.zst"
_NAME = re.compile(rf"{_PREFIX}\d{{8}}T\d{{6}}Z{re.escape(_SUFFIX)}")


def format_stamp(now: datetime | None = None) -> str:
    """A time in a name that sorts."""
    return (now or datetime.now(UTC)).strftime("%Y%m%dT%H%M%SZ")


def name_backup(folder: Path) -> Path:
    return folder / f"{_PREFIX}{format_stamp()}{_SUFFIX}"


def list_backups(folder: Path) -> list[Path]:
    """The backups that `--to` wrote here, the oldest first."""
    return sorted(path for path in folder.glob(f"{_PREFIX}*{_SUFFIX}") if _NAME.fullmatch(path.name))


def delete_old_backups(folder: Path, keep: int) -> list[Path]:
    """Delete all but the newest `keep` backups, and what killed runs left. Other files stay."""
    old = list_backups(folder)[: -max(keep, 1)]
    partial = [
        path
        for path in folder.glob(f"{_PREFIX}*{_SUFFIX}{PARTIAL_SUFFIX}")
        if _NAME.fullmatch(path.name.removesuffix(PARTIAL_SUFFIX))
    ]
    for path in (*old, *partial):
        path.unlink(missing_ok=True)
    return old
