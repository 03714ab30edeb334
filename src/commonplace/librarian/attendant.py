"""The librarian inside the server: one thread for each watched tree, its calls on the server's own path."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.librarian.registry import Call, Outcome, Registry
from commonplace.librarian.scan import Scan
from commonplace.librarian.source_tree import SourceTree
from commonplace.librarian.watch import Watch

_log = logging.getLogger(__name__)

_LOOK_SECONDS = 0.5


def read(given: Sequence[str]) -> dict[str, Path]:
    """name=path pairs as the setting has them."""
    trees: dict[str, Path] = {}
    for pair in given:
        name, sign, path = pair.partition("=")
        project = access.project_name(name)
        if not sign or not path or project in trees:
            raise errors.Invalid(
                f"librarian: '{pair}' is no project=path of its own.", hint="Give each project one folder."
            )
        trees[project] = Path(path)
    return trees


@contextlib.asynccontextmanager
async def attending(calls: Calls, trees: Mapping[str, Path]) -> AsyncIterator[None]:
    """Watches meanwhile. A large tree is read in other processes, so that calls are not slowed."""
    scans = {project: Scan(SourceTree(path)) for project, path in trees.items()}
    stop = threading.Event()
    call = _caller(calls, asyncio.get_running_loop(), stop)
    watches = [asyncio.to_thread(_watch, call, project, scan, stop) for project, scan in scans.items()]
    watching = asyncio.gather(*watches)
    try:
        yield
    finally:
        stop.set()
        await watching


def _watch(call: Call, project: str, scan: Scan, stop: threading.Event) -> None:
    def told(outcome: Outcome) -> None:
        _log.info("librarian: %s %s", project, outcome)

    try:
        Watch(scan, Registry(call, project), told).run(stop)
    except errors.Refusal as refusal:
        _log.error("librarian: %s is no longer watched: %s", project, refusal.message)


def _caller(calls: Calls, loop: asyncio.AbstractEventLoop, stop: threading.Event) -> Call:
    """Calls from a thread; none outlives the server."""

    def call(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        running = asyncio.run_coroutine_threadsafe(calls.run(name, arguments, access.OPERATOR), loop)
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                reply: dict[str, Any] = msgspec.json.decode(running.result(_LOOK_SECONDS).text())
                return reply
        running.cancel()
        raise errors.Unavailable("The server is shutting down.")

    return call
