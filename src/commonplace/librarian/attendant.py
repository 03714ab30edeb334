"""The librarian inside the server: one thread for each watched tree, its calls on the server's own path."""

import asyncio
import contextlib
import logging
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from commonplace import access, errors
from commonplace.call import Calls
from commonplace.librarian.registry import Outcome, Registry
from commonplace.librarian.scan import Scan
from commonplace.librarian.source_tree import SourceTree
from commonplace.librarian.watch import Watch

_log = logging.getLogger(__name__)


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


class Attendant:
    """Watches until closed. Reading happens in other processes while a tree is large, so calls are not slowed."""

    def __init__(self, calls: Calls, trees: Mapping[str, Path]) -> None:
        self._calls = calls
        self._scans = {project: Scan(SourceTree(path), workers=2) for project, path in trees.items()}
        self._stop = threading.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def open(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks = [
            asyncio.create_task(asyncio.to_thread(self._watch, project, scan))
            for project, scan in self._scans.items()
        ]

    async def close(self) -> None:
        self._stop.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _watch(self, project: str, scan: Scan) -> None:
        def told(outcome: Outcome) -> None:
            _log.info("librarian: %s %s", project, outcome)

        try:
            Watch(scan, Registry(self._call, project), told).run(self._stop)
        except errors.Refusal as refusal:
            _log.error("librarian: %s is no longer watched: %s", project, refusal.message)  # noqa: TRY400 - a sentence

    def _call(self, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        running = asyncio.run_coroutine_threadsafe(
            self._calls.run(name, arguments, access.OPERATOR), self._loop
        )
        while not self._stop.is_set():
            with contextlib.suppress(TimeoutError):
                answer = running.result(timeout=0.5)
                reply: dict[str, Any] = msgspec.json.decode(answer.text())
                return reply
        running.cancel()
        raise errors.Unavailable("The server is shutting down.")
