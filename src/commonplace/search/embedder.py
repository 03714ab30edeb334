"""Embeds queued entries in the background, a few at a time."""

import asyncio
import logging
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from commonplace import background
from commonplace.clock import MINUTE
from commonplace.freed_memory import return_freed_memory
from commonplace.search import embedding_queue, text
from commonplace.search.embedding_model import embed_each as each_vector
from commonplace.search.model_choice import list_models, name_model
from commonplace.search.source import SearchItem
from commonplace.store.database import Tx

if TYPE_CHECKING:
    from commonplace.search.engine import SearchEngine

_log = logging.getLogger(__name__)

_MAX_ENTRIES_AT_ONCE = 16
_POLL_SECONDS = 0.5
_CLAIM_MICROSECONDS = 2 * MINUTE
_IDLE_SECONDS = 600.0
_MAX_PASSAGES = 64
_MAX_EMBEDDED_FILES = 5
_QUEUE_WINDOW_ENTRIES = 64
_MAX_PASSAGES_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of the text of entry `n`, as the model reads it."""

    n: int
    id: str
    part: int
    text: str


class Embedder:
    def __init__(self, engine: "SearchEngine") -> None:
        self._engine = engine
        self._thread = ThreadPoolExecutor(1, "embed-queue")
        self._embedding: background.BackgroundWork | None = None
        self._used_at = 0.0
        self._chosen = False
        self._has_worked = False
        self.last_error = ""
        """Why the last attempt failed; empty after a success."""
        self.without_vectors = 0
        """The number of texts that the model rejected since the start; they are found by words only."""

    async def open(self) -> None:
        self._used_at = time.monotonic()
        self._embedding = background.every(_POLL_SECONDS, self._run_round, name="embedder", first_after=0)

    async def close(self) -> None:
        await background.stop(self._embedding)
        self._thread.shutdown(wait=True, cancel_futures=True)

    async def drain_queue(self) -> None:
        while await self._embed_next():
            pass

    async def _run_round(self) -> bool:
        """Embed the next entries; True if there were some."""
        try:
            has_worked = await self._embed_next() > 0
        except Exception as failed:
            self.last_error = str(failed) or type(failed).__name__
            raise
        now = time.monotonic()
        if has_worked:
            self._used_at, self.last_error = now, ""
        elif self._has_worked:
            await asyncio.to_thread(return_freed_memory)
        elif now - self._used_at > _IDLE_SECONDS:
            self._engine.unload_models()
            await asyncio.to_thread(return_freed_memory)
            self._used_at = now
        self._has_worked = has_worked
        return has_worked

    async def _embed_next(self) -> int:
        """Embed the next entries; return their number."""
        engine = self._engine
        now = engine.clock()
        if not self._chosen:
            await engine.database.write(lambda tx: embedding_queue.choose_model(tx, engine.choice))
            self._chosen = True
        waiting = await engine.database.read(
            lambda tx: embedding_queue.list_queued_entries(
                tx, now, _QUEUE_WINDOW_ENTRIES, _MAX_ENTRIES_AT_ONCE
            )
        )
        if not waiting:
            return 0
        by_project: dict[str, list[int]] = defaultdict(list)
        for row in waiting:
            by_project[row["project"]].append(row["n"])
        for project, numbers in by_project.items():
            await self._embed_entries(project, numbers, now)
        names = [name_model(model) for model in list_models(engine.choice)]
        await engine.database.write(lambda tx: embedding_queue.complete_model_change(tx, names))
        return len(waiting)

    async def _embed_entries(self, project: str, numbers: list[int], now: int) -> None:
        engine = self._engine
        texts = await engine.database.write(lambda tx: self._claim_passages(tx, project, numbers, now))
        done = sorted({each.n for each in texts} | set(numbers))
        vectors = {}
        for choice in list_models(engine.choice):
            name = name_model(choice)
            embedded = await engine.database.read(
                partial(embedding_queue.list_embedded_entries, project=project, model=name, numbers=done)
            )
            missing = [each for each in texts if each.n not in embedded]
            vectors[name] = await self._compute_vectors(project, missing, choice) if missing else []
        await engine.database.write(lambda tx: embedding_queue.store_vectors(tx, project, done, vectors))

    async def _compute_vectors(
        self, project: str, texts: list[Passage], choice: str
    ) -> list[tuple[int, int, object]]:
        """(entry, part, vector) of each text that the model accepts, in requests of limited size."""
        model = await self._engine.load_model(choice)
        loop = asyncio.get_running_loop()
        texts = await loop.run_in_executor(
            self._thread, lambda: [each for each in texts if model.can_read(each.text)]
        )
        vectors: list[object] = []
        for start in range(0, len(texts), _MAX_PASSAGES_AT_ONCE):
            some = [each.text for each in texts[start : start + _MAX_PASSAGES_AT_ONCE]]
            vectors += await loop.run_in_executor(self._thread, each_vector, model, some)
        made = list(zip(texts, vectors, strict=True))
        if refused := sorted({each.id for each, vector in made if vector is None}):
            self.without_vectors += len(refused)
            _log.warning("The model rejected these entries of %s: %s", project, ", ".join(refused))
        return [(each.n, each.part, vector) for each, vector in made if vector is not None]

    async def _claim_passages(self, tx: Tx, project: str, numbers: list[int], now: int) -> list[Passage]:
        rows = await embedding_queue.claim_queued_entries(
            tx, project, numbers, now, now + _CLAIM_MICROSECONDS
        )
        texts: list[Passage] = []
        for kind in sorted({row["kind"] for row in rows}):
            numbers_by_id = {row["id"]: row["n"] for row in rows if row["kind"] == kind}
            for item in await self._engine.sources[kind].load(tx, project, list(numbers_by_id)):
                texts += _split_passages(numbers_by_id[item.id], item)
        return texts


def _split_passages(n: int, item: SearchItem) -> list[Passage]:
    cuts = text.split_passages(item.text)[:_MAX_PASSAGES]
    title = " ".join([item.title, *item.files[:_MAX_EMBEDDED_FILES]])
    return [Passage(n, item.id, part, text.prepend_title(title, cut)) for part, cut in enumerate(cuts)]
