"""Progress of long work on a terminal; nothing elsewhere, so that logs of timers stay short."""

import contextlib
import sys
import time

_BAR_CHARACTERS = 24
_REDRAW_SECONDS = 0.1


def format_count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def print_progress(what: str, number: int, whole: int) -> None:
    """One line that counts up, on a terminal."""
    if sys.stderr.isatty():
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\r{what}: {number} of {whole}{chr(10) if number == whole else ''}")
            sys.stderr.flush()


class ByteProgress:
    """Bytes processed out of a total."""

    def __init__(self, whole: int) -> None:
        self._whole, self._done, self._shown = max(whole, 1), 0, 0.0
        self._is_terminal = sys.stderr.isatty()
        if self._is_terminal and whole:
            self._draw_bar()

    def add_bytes(self, size: int) -> None:
        self._done = min(self._done + size, self._whole)
        if self._is_terminal and time.monotonic() - self._shown > _REDRAW_SECONDS:
            self._shown = time.monotonic()
            self._draw_bar()

    def close(self) -> None:
        if self._is_terminal and self._shown:
            self._draw_bar("\n")

    def _draw_bar(self, end: str = "") -> None:
        filled = _BAR_CHARACTERS * self._done // self._whole
        bar = "#" * filled + "." * (_BAR_CHARACTERS - filled)
        with contextlib.suppress(OSError):
            sys.stderr.write(f"\rsending [{bar}] {self._done / 1e6:.1f} of {self._whole / 1e6:.1f} MB{end}")
            sys.stderr.flush()
