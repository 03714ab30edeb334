"""Keeps the registry in step with a tree: looks at what the files' stamps say, and reads only what changed."""

import contextlib
import threading
import time
from collections.abc import Callable

from commonplace import errors
from commonplace.librarian.registry import Outcome, Registry
from commonplace.librarian.scan import Progress, Scan

_EVERY = 1.0
_SHARE = 0.05
_AWAY = 5.0

Told = Callable[[Outcome], None]


class _Stopped(Exception):  # noqa: N818 - somebody's wish, not a fault
    """Leave the rest."""


class Watch:
    """Looking costs at most a twentieth of one core, however large the tree is."""

    def __init__(self, scan: Scan, registry: Registry, told: Told) -> None:
        self._scan, self._registry, self._told = scan, registry, told
        self._behind = True

    def run(self, stop: threading.Event, progress: Progress = lambda _done, _all: None) -> None:
        """Until told to stop, even in the middle of a large tree."""

        def watched(done: int, whole: int) -> None:
            if stop.is_set():
                raise _Stopped
            progress(done, whole)

        with contextlib.suppress(_Stopped):
            while not stop.is_set():
                stop.wait(self._step(watched))

    def _step(self, progress: Progress) -> float:
        """Look, and tell what changed; how long to wait before the next look."""
        started = time.monotonic()
        try:
            self._behind |= self._scan.refresh(progress)
            if not self._behind:
                return max(_EVERY, (time.monotonic() - started) / _SHARE)
            outcome = self._registry.tell(self._registry.difference(self._scan), progress)
        except errors.Unavailable:
            return _AWAY
        self._behind = False
        self._told(outcome)
        return 0.0
