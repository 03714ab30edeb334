"""Keep the registry in step with a tree: file events trigger a scan, file stamps decide what is read again."""

import contextlib
import itertools
import threading
from collections.abc import Callable, Iterator

import watchfiles

from commonplace import errors
from commonplace.librarian.registry import FunctionRegistry, SyncOutcome
from commonplace.librarian.scan import ProgressCallback, TreeScan

_DEBOUNCE_MILLISECONDS = 200
_POLL_MILLISECONDS = 4_000
"""Scan at this interval even without events, which get lost on network folders."""

OutcomeCallback = Callable[[SyncOutcome], None]


class _WatchStopped(Exception):
    """Leave the rest."""


class TreeWatch:
    """One tree and its registry."""

    def __init__(self, scan: TreeScan, registry: FunctionRegistry, on_outcome: OutcomeCallback) -> None:
        self._scan, self._registry, self._on_outcome = scan, registry, on_outcome
        self._is_out_of_date = True

    def run(self, stop: threading.Event, progress: ProgressCallback = lambda _done, _all: None) -> None:
        """Watch until `stop` is set; a running scan stops too."""

        def check_stop(done: int, total: int) -> None:
            if stop.is_set():
                raise _WatchStopped
            progress(done, total)

        with contextlib.suppress(_WatchStopped):
            for _ in itertools.chain([None], self._wait_for_changes(stop)):
                self._sync_changes(check_stop)

    def _wait_for_changes(self, stop: threading.Event) -> Iterator[object]:
        return watchfiles.watch(
            self._scan.tree.folder,
            debounce=_DEBOUNCE_MILLISECONDS,
            rust_timeout=_POLL_MILLISECONDS,
            yield_on_timeout=True,
            stop_event=stop,
            raise_interrupt=False,
        )

    def _sync_changes(self, progress: ProgressCallback) -> None:
        """Send what changed; if the server is unavailable, retry at the next scan."""
        try:
            self._is_out_of_date |= self._scan.refresh_files(progress)
            if not self._is_out_of_date:
                return
            outcome = self._registry.apply_difference(self._registry.compute_difference(self._scan), progress)
        except errors.Unavailable:
            return
        self._is_out_of_date = False
        self._on_outcome(outcome)
