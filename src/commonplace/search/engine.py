"""The search engine of a running server: builds questions, holds the models, and runs the embedder."""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from commonplace import background, errors
from commonplace.access import Caller
from commonplace.clock import Clock
from commonplace.config import Settings
from commonplace.search import embedder, index, models, postgres, refresh, sqlite
from commonplace.search.embedder import Embedder
from commonplace.search.find import VectorIndex
from commonplace.search.index import add_next_changes
from commonplace.search.models import EmbeddingModel, TextRejected, is_foreign
from commonplace.search.score import Question
from commonplace.search.source import SearchSource, UseLog
from commonplace.search.text import REMEMBERED_CHARACTERS, count_tokens
from commonplace.store.database import Database, Tx
from commonplace.store.migrate import build_vector_indexes, list_missing_vector_indexes

_MAX_REMEMBERED_QUESTIONS = 512
_WRITE_USES_SECONDS = 1.0
_REFRESH_SECONDS = 5.0
_COUNT_SECONDS = 1.0
_MAX_UNCOUNTED_WRITES = 64
_REST_SECONDS = 10.0
_MAX_UNFINISHED_SHARE = 0.99
"""PostgreSQL has read all rows before an index is valid: it still waits for older transactions."""

ModelInUse = tuple[str, int | None]
"""The setting of the model in use, and the length of the vectors of its main model if known."""


def prepare_question(argument: str) -> Callable[[Any, Mapping[str, Any], Caller], Awaitable[Question]]:
    """The `prepare` of an operation that searches for the text of one argument."""
    return lambda calls, arguments, _caller: calls.search.build_question(arguments[argument])


def prepare_words(*names: str) -> Callable[[Any, Mapping[str, Any], Caller], Awaitable[None]]:
    """The `prepare` of an operation that indexes the texts of these arguments: their words are counted, and remembered,
    before the transaction, because SQLite has one writer."""

    async def count_words(_calls: Any, arguments: Mapping[str, Any], _caller: Caller) -> None:
        texts = [arguments[name] or "" for name in names]
        for text in texts:
            if len(text) in REMEMBERED_CHARACTERS:
                count_tokens(text)

    return count_words


class SearchEngine:
    """Without `open` it answers from the index and embeds nothing."""

    def __init__(
        self, database: Database, settings: Settings, clock: Clock, sources: Sequence[SearchSource]
    ) -> None:
        self.database, self.clock, self.sources = database, clock, {source.kind: source for source in sources}
        self.choice, self._key = settings.embeddings, settings.embeddings_key
        self.vectors: VectorIndex = (
            sqlite.SqliteVectors() if database.kind == "sqlite" else postgres.PostgresVectors()
        )
        self._models: dict[str, EmbeddingModel] = {}
        self._loading = asyncio.Lock()
        self._asked: OrderedDict[tuple[ModelInUse, str], Question] = OrderedDict()
        self._threads = ThreadPoolExecutor(2, "embed-question")
        self._embedder = Embedder(self)
        self.uses = UseLog()
        self._used: ModelInUse | None = None
        self._used_at = 0.0
        self._rests_until = 0.0
        self._last_error = ""
        self.foreign_questions = 0
        """The number of questions in other languages that an English model was asked since the start."""
        self._writing_uses: background.BackgroundWork | None = None
        self._refreshing: background.BackgroundWork | None = None
        self._counting: background.BackgroundWork | None = None
        self._writes_since_count = 0
        self._building_indexes: background.BackgroundWork | None = None

    @property
    def has_embeddings(self) -> bool:
        return self.choice != models.OFF

    async def open(self) -> None:
        if models.ENGLISH in models.list_models(self.choice):
            models.require_bundled_model()
        self._writing_uses = background.every(_WRITE_USES_SECONDS, self.write_uses, name="search uses")
        self._refreshing = background.every(
            _REFRESH_SECONDS,
            self.run_requested_refreshes,
            name="search index",
            first_after=_WRITE_USES_SECONDS,
        )
        self._counting = background.every(_COUNT_SECONDS, self.count_next_terms, name="term counts")
        if self.has_embeddings:
            await self._embedder.open()
            await self._open_vector_indexes()

    async def _open_vector_indexes(self) -> None:
        """A server answers while an index of vectors that is missing is built."""
        if isinstance(self.vectors, postgres.PostgresVectors):
            self.vectors.is_index_missing = bool(await list_missing_vector_indexes(self.database))
            if self.vectors.is_index_missing:
                self._building_indexes = background.every(
                    _REFRESH_SECONDS, self.build_vector_indexes, name="vector indexes", first_after=0
                )

    async def build_vector_indexes(self) -> None:
        """Build those that are missing; another server may do it, then wait for that one."""
        if isinstance(self.vectors, postgres.PostgresVectors) and self.vectors.is_index_missing:
            await build_vector_indexes(self.database)
            self.vectors.is_index_missing = False

    async def measure_vector_index(self, tx: Tx) -> float:
        """How much of the index of vectors is built; 1 only when questions use it."""
        if not isinstance(self.vectors, postgres.PostgresVectors) or not self.vectors.is_index_missing:
            return 1.0
        from commonplace.store.postgres_indexes import measure_build_progress  # noqa: PLC0415 - not for SQLite

        return min(await measure_build_progress(tx), _MAX_UNFINISHED_SHARE)

    async def close(self) -> None:
        await background.stop(self._building_indexes)
        await background.stop(self._refreshing)
        await background.stop(self._counting)
        await background.stop(self._writing_uses, finish=self.write_uses)
        await self._embedder.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def write_uses(self) -> None:
        """Write the uses since the last time."""
        uses = self.uses.take_uses()
        if not uses:
            return

        async def write(tx: Tx) -> None:
            for kind in sorted({use.kind for use in uses}):
                if note := self.sources[kind].used:
                    await note(tx, [use for use in uses if use.kind == kind])

        await self.database.write(write)

    async def refresh_items(
        self,
        tx: Tx,
        changed: Mapping[tuple[str, str], Mapping[str, index.IndexEntry | None]],
        new_entries: Sequence[index.IndexEntry] = (),
    ) -> None:
        """Index what a call changed: entries, or ids, by project and kind. Sorted, so that writers cannot deadlock.

        A new item that the call has changed since is among `changed`, and is read again.
        """
        for project, kind in sorted(changed):
            items = changed[project, kind]
            known = [entry for entry in items.values() if entry is not None]
            if known:
                await index.refresh_entries(tx, project, kind, [entry.id for entry in known], known)
            if unknown := [identity for identity, entry in items.items() if entry is None]:
                await refresh.refresh_items(tx, self.sources[kind], project, unknown)
        unchanged = [
            entry for entry in new_entries if entry.id not in changed.get((entry.project, entry.kind), ())
        ]
        await index.put_new_entries(tx, unchanged)

    async def run_requested_refreshes(self) -> None:
        """Index the rows that are not indexed yet, in batches."""
        await refresh.run_requested_refreshes(self.database, self.sources)
        self._writes_since_count += 1  # other replicas, and work in the background, may have left changes too

    async def note_write(self) -> None:
        """A call wrote something, so that counts of terms may have to follow; a process without `open` adds them here."""
        self._writes_since_count += 1
        if self._counting is None and self._writes_since_count >= _MAX_UNCOUNTED_WRITES:
            await self.count_terms()

    async def count_next_terms(self) -> bool:
        """Add the next changes to the counts of terms, if something was written; whether more may wait."""
        if not self._writes_since_count:
            return False
        self._writes_since_count = 0
        if not await add_next_changes(self.database):
            return False
        self._writes_since_count += 1
        return True

    async def count_terms(self) -> None:
        """Add all changes to the counts of terms now."""
        self._writes_since_count = 0
        while await add_next_changes(self.database):
            pass

    async def drain_queue(self) -> None:
        """Embed all queued entries now."""
        if self.has_embeddings:
            await self._embedder.drain_queue()

    @property
    def last_error(self) -> str:
        """Why embedding fails at present, or an empty text."""
        return self._embedder.last_error or self._last_error

    async def count_queued_entries(self, tx: Tx) -> int:
        """The number of entries that wait for vectors; 0 without embeddings."""
        return await index.count_queued_entries(tx) if self.has_embeddings else 0

    @property
    def without_vectors(self) -> int:
        return self._embedder.without_vectors

    async def build_question(self, text: str) -> Question:
        """The question, with its vector if there are vectors to compare. Never call it inside a transaction."""
        if not self.has_embeddings or not text.strip():
            return Question(text)
        try:
            return await self._build_vector_question(text) or Question(text)
        except TextRejected as without:
            self._last_error = without.message
        except errors.Unavailable as away:
            self._last_error = away.message
            self._rests_until = asyncio.get_running_loop().time() + _REST_SECONDS
        return Question(text)

    async def _build_vector_question(self, text: str) -> Question | None:
        """None if there are no vectors, or for some seconds after the model was unavailable."""
        used = await self._load_in_use()
        if used is None:
            return None
        if known := self._asked.get((used, text)):
            self._asked.move_to_end((used, text))
            return known
        if asyncio.get_running_loop().time() < self._rests_until:
            return None
        question = self._asked[used, text] = await self._embed_question(text, used)
        self._last_error = ""
        if len(self._asked) > _MAX_REMEMBERED_QUESTIONS:
            self._asked.popitem(last=False)
        return question

    async def _load_in_use(self) -> ModelInUse | None:
        """Read from the store at most once a second."""
        now = asyncio.get_running_loop().time()
        if self._used is None or now - self._used_at > 1:
            self._used, self._used_at = await self.database.read(_load_model_in_use), now
        return self._used

    async def _embed_question(self, text: str, used: ModelInUse) -> Question:
        choice, width = used
        main, *others = models.list_models(choice)
        model = await self.load_model(main)
        can_read = model.can_read(text)
        asked_in_english = can_read and not is_foreign(text)
        if not asked_in_english:
            self.foreign_questions += choice == models.ENGLISH
            if others:
                main, width = others[0], None
                model = await self.load_model(main)
                can_read = model.can_read(text)
        if not can_read:
            return Question(text)
        vector = await self._compute_vector(model, text)
        if len(vector) != (width or len(vector)):
            raise TextRejected(f"The model's vectors have {len(vector)} dimensions now, not {width}.")
        # The thresholds of the scale are those of English questions.
        relevance = model.relevance if asked_in_english else None
        known_words = model.list_known_words(text)
        return Question(text, models.name_model(main), vector, model.floor, relevance, known_words)

    async def _compute_vector(self, model: EmbeddingModel, text: str) -> Any:
        """A slow endpoint must not slow down every search."""
        try:
            async with asyncio.timeout(model.patience):
                return await asyncio.get_running_loop().run_in_executor(
                    self._threads, model.embed_question, text
                )
        except TimeoutError:
            raise errors.Unavailable(f"The embedding model took longer than {model.patience} s.") from None

    async def load_model(self, choice: str) -> EmbeddingModel:
        """Load the model once, in a thread."""
        async with self._loading:
            if choice not in self._models:
                self._models[choice] = await asyncio.to_thread(_load_model, choice, self._key)
            return self._models[choice]

    def unload_models(self) -> None:
        """Free the memory; the next question loads the model again."""
        self._models.clear()


async def _load_model_in_use(tx: Tx) -> ModelInUse | None:
    choice = await embedder.load_model_in_use(tx)
    return (choice, await embedder.load_vector_width(tx, models.name_model(choice))) if choice else None


def _load_model(choice: str, key: str) -> EmbeddingModel:
    from commonplace.search import embed  # noqa: PLC0415 - numpy and onnxruntime are loaded by the first text

    return embed.load_model(choice, key)
