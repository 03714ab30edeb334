"""Watch source trees inside the server: one thread per tree, whose calls run on the server's event loop."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from commonplace import access, background, errors
from commonplace.call import Calls
from commonplace.librarian.registry import CallOperation, FunctionRegistry, SyncOutcome
from commonplace.librarian.scan import TreeScan
from commonplace.librarian.source_tree import SourceTree
from commonplace.librarian.watch import TreeWatch

_log = logging.getLogger(__name__)

_STOP_CHECK_SECONDS = 0.5
_RETRY_SECONDS = 5.0


def parse_watched_trees(pairs: Sequence[str]) -> dict[str, Path]:
    """Parse the setting's project=path pairs."""
    trees: dict[str, Path] = {}
    for pair in pairs:
        name, separator, path = pair.partition("=")
        project = access.normalize_project_name(name)
        if not separator or not path or project in trees:
            raise errors.Invalid(
                f"librarian: '{pair}' is not a project=path pair, or its project is named twice.",
                hint="Set one folder per project, for example shop=/src/shop.",
            )
        trees[project] = Path(path)
    return trees


@contextlib.asynccontextmanager
async def watch_source_trees(calls: Calls, trees: Mapping[str, Path]) -> AsyncIterator[None]:
    """Watch these trees inside the context. A large tree is read in other processes, to keep calls fast."""
    scans = {project: TreeScan(SourceTree(path)) for project, path in trees.items()}
    stop = threading.Event()
    call = _make_thread_caller(calls, asyncio.get_running_loop(), stop)
    watches = [
        background.every(
            _RETRY_SECONDS,
            partial(_watch_in_thread, partial(_watch_tree, call, project, scan, stop), stop),
            name=f"librarian {project}",
            first_after=0,
        )
        for project, scan in scans.items()
    ]
    try:
        yield
    finally:
        stop.set()
        for watch in watches:
            await background.stop(watch)


async def _watch_in_thread(watch: Callable[[], None], stop: threading.Event) -> None:
    """Run in a thread until it fails or is stopped; the thread has ended when this ends."""
    thread = asyncio.get_running_loop().run_in_executor(None, watch)
    try:
        await asyncio.shield(thread)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait((thread,))
        raise


def _watch_tree(call: CallOperation, project: str, scan: TreeScan, stop: threading.Event) -> None:
    def log_outcome(outcome: SyncOutcome) -> None:
        _log.info("librarian: %s %s", project, outcome)

    TreeWatch(scan, FunctionRegistry(call, project), log_outcome).run(stop)


def _make_thread_caller(
    calls: Calls, loop: asyncio.AbstractEventLoop, stop: threading.Event
) -> CallOperation:
    """Return a function that calls operations from a thread and gives up when the server stops."""

    def call_operation(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        future = asyncio.run_coroutine_threadsafe(calls.run(name, arguments, access.OPERATOR), loop)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                reply: dict[str, Any] = msgspec.json.decode(future.result(_STOP_CHECK_SECONDS).to_text())
                return reply
        future.cancel()
        raise errors.Unavailable("The server is shutting down.")

    return call_operation
