"""A bar on a terminal; silence anywhere else."""

import contextlib
import sys
import time

_WIDTH = 24
_EVERY_SECONDS = 0.1


class Progress:
    """How many bytes of how many were dealt with."""

    def __init__(self, whole: int) -> None:
        self._whole, self._done, self._shown = max(whole, 1), 0, 0.0
        self._watched = sys.stderr.isatty()

    def add(self, size: int) -> None:
        self._done = min(self._done + size, self._whole)
        if self._watched and time.monotonic() - self._shown > _EVERY_SECONDS:
            self._shown = time.monotonic()
            self._show()

    def close(self) -> None:
        if self._watched and self._shown:
            self._show("\n")

    def _show(self, end: str = "") -> None:
        filled = _WIDTH * self._done // self._whole
        bar = "#" * filled + "." * (_WIDTH - filled)
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\rsending [{bar}] {self._done / 1e6:.1f} of {self._whole / 1e6:.1f} MB{end}")
            sys.stderr.flush()
