"""Keeps the registry in step with a tree: file events say when to look, the files' stamps say what to read again."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator

import watchfiles

from commonplace import errors
from commonplace.librarian.registry import Outcome, Registry
from commonplace.librarian.scan import Progress, Scan

_SETTLE_MILLISECONDS = 200
_ANYWAY_MILLISECONDS = 4_000
"""Where events get lost (network folders, a server that was away) the tree is looked at all the same."""

Told = Callable[[Outcome], None]


class _Stopped(Exception):  # noqa: N818 - somebody's wish, not a fault
    """Leave the rest."""


class Watch:
    """One tree and its registry."""

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
            for _ in itertools.chain([None], self._events(stop)):
                self._look(watched)

    def _events(self, stop: threading.Event) -> Iterator[object]:
        return watchfiles.watch(
            self._scan.tree.folder,
            debounce=_SETTLE_MILLISECONDS,
            rust_timeout=_ANYWAY_MILLISECONDS,
            yield_on_timeout=True,
            stop_event=stop,
            raise_interrupt=False,
        )

    def _look(self, progress: Progress) -> None:
        """Tell what changed; what could not be told waits for the next look."""
        try:
            self._behind |= self._scan.refresh(progress)
            if not self._behind:
                return
            outcome = self._registry.tell(self._registry.difference(self._scan), progress)
        except errors.Unavailable:
            return
        self._behind = False
        self._told(outcome)
