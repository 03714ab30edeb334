"""Notices that the database file is damaged, deleted or replaced. From then on nothing is written, and readiness is red.

SQLite goes on writing into a file that was deleted or replaced under it, and into one that is partly damaged: every
acknowledged write would be lost.
"""

import logging
import os
from pathlib import Path
from typing import Final

import apsw

from commonplace import errors
from commonplace.store.sqlite_errors import format_restore_hint, sqlite_refusal

_log = logging.getLogger(__name__)

QUICK_BYTES: Final = 64 * 1024 * 1024
"""A file up to this size is checked before the server starts to serve; a larger one beside its work."""


class DatabaseGuard:
    def __init__(self, database: Path) -> None:
        self._database = database
        self._identity = _identify_file(database)
        self.damage: errors.Refusal | None = None
        """Why nothing is written any more."""

    def find_damage(self) -> errors.Refusal | None:
        """Why a write that was just committed is lost, if it is."""
        if self.damage is None and _identify_file(self._database) != self._identity:
            self._record_damage(
                errors.Damaged(
                    f"The database {self._database} was deleted or replaced while the server had it open.",
                    hint=format_restore_hint(self._database),
                )
            )
        return self.damage

    def record_error(self, refusal: errors.Refusal | None) -> None:
        """Remember that the file is damaged, if this refusal says so."""
        if isinstance(refusal, errors.Damaged):
            self._record_damage(refusal)

    def check_pages(self) -> None:
        """Read every page; raises Damaged. Takes about two seconds for each gigabyte."""
        try:
            connection = apsw.Connection(str(self._database), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                found = [str(row[0]) for row in connection.execute("pragma quick_check(3)")]
            finally:
                connection.close()
        except apsw.Error as error:
            refusal = sqlite_refusal(error, self._database)
            if refusal is None:
                raise
            self.record_error(refusal)
            raise refusal from error
        if found != ["ok"]:
            problems = "; ".join(line for text in found for line in text.splitlines()[:3])
            damage = errors.Damaged(
                f"The database {self._database} is damaged: {problems[:300]}.",
                hint=format_restore_hint(self._database),
            )
            self._record_damage(damage)
            raise damage

    @property
    def is_quick(self) -> bool:
        return self._database.stat().st_size <= QUICK_BYTES

    def _record_damage(self, refusal: errors.Refusal) -> None:
        if self.damage is None:
            _log.critical(
                "nothing is written any more", extra={"reason": refusal.message, "hint": refusal.hint}
            )
            self.damage = refusal


def _identify_file(path: Path) -> tuple[int, int] | None:
    try:
        status = os.stat(path)  # noqa: PTH116 - twice as fast, after every commit
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino
