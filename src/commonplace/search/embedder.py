"""Takes what waits for vectors off the queue, in the background, a few at a time."""

import asyncio
import contextlib
import logging
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from commonplace import errors
from commonplace.clock import MINUTE
from commonplace.search import embedded, text
from commonplace.store.database import Row, Tx

if TYPE_CHECKING:
    from commonplace.search.engine import Engine

_log = logging.getLogger(__name__)

_AT_ONCE = 16
_LOOK_SECONDS = 0.5
_AWAY_SECONDS = 5.0
_CLAIM = 2 * MINUTE
_IDLE_SECONDS = 600.0
_MOST_PASSAGES = 64


class Embedder:
    def __init__(self, engine: "Engine") -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, "embed-queue")
        self._task: asyncio.Task[None] | None = None
        self._chosen = False

    async def open(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        if self._task:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def drain(self) -> None:
        while await self._step():
            pass

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        used = loop.time()
        while True:
            try:
                worked = await self._step()
            except Exception as failed:  # noqa: BLE001 - nobody else hears it, and the queue must go on
                _log.warning("Embedding waits: %s", failed, exc_info=not isinstance(failed, errors.Refusal))
                await asyncio.sleep(_AWAY_SECONDS)
                continue
            if worked:
                used = loop.time()
            else:
                await asyncio.sleep(_LOOK_SECONDS)
            if loop.time() - used > _IDLE_SECONDS:
                self._engine.forget_models()
                used = loop.time()

    async def _step(self) -> int:
        """Embed the next few; how many there were."""
        engine = self._engine
        now = engine.clock()
        if not self._chosen:
            await engine.database.write(lambda tx: embedded.choose(tx, engine.choice))
            self._chosen = True
        waiting = await engine.database.read(lambda tx: embedded.waiting(tx, now, _AT_ONCE))
        if not waiting:
            return 0
        by_project: dict[str, list[int]] = defaultdict(list)
        for row in waiting:
            by_project[row["project"]].append(row["n"])
        for project, numbers in by_project.items():
            await self._embed(project, numbers, now)
        await engine.database.write(lambda tx: embedded.complete(tx, engine.name))
        return len(waiting)

    async def _embed(self, project: str, numbers: list[int], now: int) -> None:
        engine = self._engine
        texts = await engine.database.write(lambda tx: self._claimed(tx, project, numbers, now))
        found: list[tuple[int, int, object]] = []
        if texts:
            model = await engine.model(engine.choice)
            loop = asyncio.get_running_loop()
            vectors = await loop.run_in_executor(
                self._thread, model.embed, [passage for _, _, passage in texts]
            )
            found = [(n, part, vector) for (n, part, _), vector in zip(texts, vectors, strict=True)]
        done = sorted({n for n, _, _ in texts} | set(numbers))
        await engine.database.write(lambda tx: embedded.finish(tx, project, engine.name, done, found))

    async def _claimed(
        self, tx: Tx, project: str, numbers: list[int], now: int
    ) -> list[tuple[int, int, str]]:
        rows = await embedded.claim(tx, project, numbers, now, now + _CLAIM)
        texts: list[tuple[int, int, str]] = []
        for kind in sorted({row["kind"] for row in rows}):
            theirs = {row["id"]: row["n"] for row in rows if row["kind"] == kind}
            for loaded in await self._engine.sources[kind].load(tx, project, list(theirs)):
                texts += _passages(theirs[loaded["id"]], loaded)
        return texts


def _passages(n: int, loaded: Row) -> list[tuple[int, int, str]]:
    cuts = text.passages(loaded["text"])[:_MOST_PASSAGES]
    return [(n, part, text.titled(loaded["title"], cut)) for part, cut in enumerate(cuts)]
