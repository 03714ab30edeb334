"""Embeds queued entries in the background, a few at a time; the tables of vectors, of the queue, and of the model in use."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from commonplace import background
from commonplace.clock import MINUTE
from commonplace.freed_memory import return_freed_memory
from commonplace.search import postgres, sqlite, text
from commonplace.search.index import KINDS_WITHOUT_VECTORS
from commonplace.search.models import embed_each as each_vector
from commonplace.search.models import list_models, name_model
from commonplace.search.source import SearchItem
from commonplace.store.database import Row, Tx

_MODEL_IN_USE = "embeddings"
_NEXT_MODEL = "embeddings_next"
_WIDTH_PREFIX = "embeddings_width "
_DIALECTS = {"sqlite": sqlite, "postgresql": postgres}


async def load_model_in_use(tx: Tx) -> str | None:
    """The setting of the model whose vectors are compared; None while there are no vectors."""
    row = await tx.one(
        "select value from setting where name = $1 and exists (select 1 from embedding)", _MODEL_IN_USE
    )
    return str(row["value"]) if row else None


async def choose_model(tx: Tx, choice: str) -> None:
    """Make new vectors with this model; those of the former one stay in use until every entry has a new one."""
    current = await _load_setting(tx, _MODEL_IN_USE)
    following = await _load_setting(tx, _NEXT_MODEL)
    if current is None:
        await _save_setting(tx, _MODEL_IN_USE, choice)
    elif choice == current:
        await tx.run("delete from setting where name = $1", _NEXT_MODEL)
    elif choice != following:
        await _save_setting(tx, _NEXT_MODEL, choice)
        await queue_all_entries(tx)


async def load_vector_width(tx: Tx, model: str) -> int | None:
    """The length of this model's vectors; None while there are none."""
    width = await _load_setting(tx, _WIDTH_PREFIX + model)
    return int(width) if width else None


async def complete_model_change(tx: Tx, names: Sequence[str]) -> None:
    """When the queue is empty, use the vectors of the next models, which have these names, and delete the others."""
    following = await _load_setting(tx, _NEXT_MODEL)
    if following is None or await tx.one("select 1 as yes from embedding_queue limit 1"):
        return
    await _save_setting(tx, _MODEL_IN_USE, following)
    await tx.run("delete from setting where name = $1", _NEXT_MODEL)
    await tx.run("delete from embedding where not model = any($1)", list(names))


async def list_queued_entries(tx: Tx, now: int, window: int, limit: int) -> list[Row]:
    """The shortest of the oldest entries: notes do not wait behind long documents, and none waits for ever."""
    rows = await tx.all(
        "select queued.project, queued.n, entry.length from (select project, n, due_at from embedding_queue"
        " where due_at <= $1 order by due_at, project, n limit $2) as queued"
        " left join entry on entry.project = queued.project and entry.n = queued.n order by queued.due_at, queued.n",
        now,
        window,
    )
    return sorted(rows, key=lambda row: row["length"] or 0)[:limit]


async def claim_queued_entries(tx: Tx, project: str, numbers: list[int], now: int, until: int) -> list[Row]:
    """Claim entries for a time: other replicas skip them, and after a crash they are due again."""
    claimed = await tx.all(
        "update embedding_queue set due_at = $4, tries = tries + 1"
        " where project = $1 and n = any($2) and due_at <= $3 returning n",
        project,
        numbers,
        now,
        until,
    )
    return list(
        await tx.all(
            "select n, kind, id, title from entry where project = $1 and n = any($2)",
            project,
            [row["n"] for row in claimed],
        )
    )


async def list_embedded_entries(tx: Tx, project: str, model: str, numbers: Sequence[int]) -> set[int]:
    """Which of these entries have vectors of the model: another model was added, or takes its place."""
    rows = await tx.all(
        "select distinct n from embedding where project = $1 and model = $2 and n = any($3)",
        project,
        model,
        list(numbers),
    )
    return {row["n"] for row in rows}


async def store_vectors(
    tx: Tx, project: str, numbers: list[int], vectors_by_model: Mapping[str, Sequence[tuple[int, int, Any]]]
) -> None:
    """Store the vectors of entries that still exist, and remove all of them from the queue."""
    rows = await tx.all(
        "select e.n from embedding_queue q join entry e on e.project = q.project and e.n = q.n"
        " where q.project = $1 and q.n = any($2)",
        project,
        numbers,
    )
    existing = {row["n"] for row in rows}
    for model, vectors in vectors_by_model.items():
        if vectors:
            await _require_width(tx, model, len(vectors[0][2]))
        await tx.run(
            "delete from embedding where project = $1 and model = $2 and n = any($3)",
            project,
            model,
            sorted(existing & {n for n, _, _ in vectors}),
        )
        await _DIALECTS[tx.kind].insert_vectors(
            tx, project, model, [each for each in vectors if each[0] in existing]
        )
    await tx.run("delete from embedding_queue where project = $1 and n = any($2)", project, numbers)


async def _require_width(tx: Tx, model: str, width: int) -> None:
    """If the length changed, another model uses the same name: embed everything again."""
    former_width = await load_vector_width(tx, model)
    if former_width not in (None, width):
        await tx.run("delete from embedding where model = $1", model)
        await queue_all_entries(tx)
    if former_width != width:
        await _save_setting(tx, _WIDTH_PREFIX + model, str(width))


async def queue_all_entries(tx: Tx) -> None:
    """Let the background embed every entry again."""
    await tx.run(
        "insert into embedding_queue (project, n, due_at, tries) select project, n, 0, 0 from entry"
        " where not kind = any($1) on conflict (project, n) do nothing",
        list(KINDS_WITHOUT_VECTORS),
    )


async def _load_setting(tx: Tx, name: str) -> str | None:
    row = await tx.one("select value from setting where name = $1", name)
    return str(row["value"]) if row else None


async def _save_setting(tx: Tx, name: str, value: str) -> None:
    await tx.run(
        "insert into setting (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value",
        name,
        value,
    )


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
            await engine.database.write(lambda tx: choose_model(tx, engine.choice))
            self._chosen = True
        waiting = await engine.database.read(
            lambda tx: list_queued_entries(tx, now, _QUEUE_WINDOW_ENTRIES, _MAX_ENTRIES_AT_ONCE)
        )
        if not waiting:
            return 0
        by_project: dict[str, list[int]] = defaultdict(list)
        for row in waiting:
            by_project[row["project"]].append(row["n"])
        for project, numbers in by_project.items():
            await self._embed_entries(project, numbers, now)
        names = [name_model(model) for model in list_models(engine.choice)]
        await engine.database.write(lambda tx: complete_model_change(tx, names))
        return len(waiting)

    async def _embed_entries(self, project: str, numbers: list[int], now: int) -> None:
        engine = self._engine
        texts = await engine.database.write(lambda tx: self._claim_passages(tx, project, numbers, now))
        done = sorted({each.n for each in texts} | set(numbers))
        vectors = {}
        for choice in list_models(engine.choice):
            name = name_model(choice)
            embedded = await engine.database.read(
                partial(list_embedded_entries, project=project, model=name, numbers=done)
            )
            missing = [each for each in texts if each.n not in embedded]
            vectors[name] = await self._compute_vectors(project, missing, choice) if missing else []
        await engine.database.write(lambda tx: store_vectors(tx, project, done, vectors))

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
        rows = await claim_queued_entries(tx, project, numbers, now, now + _CLAIM_MICROSECONDS)
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
