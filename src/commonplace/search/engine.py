"""The search engine of a running server: asks questions, keeps the models, and feeds the vectors in the background."""

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

from commonplace import background, errors
from commonplace.access import Caller
from commonplace.clock import Clock
from commonplace.config import Settings
from commonplace.search import bundled_model, embedded, index, postgres, sqlite
from commonplace.search.embedder import Embedder
from commonplace.search.find import Question, Vectors
from commonplace.search.model import Model, Rejected
from commonplace.search.source import Source
from commonplace.search.uses import Uses
from commonplace.store.database import Database, Tx

_REMEMBERED = 512
_USES_SECONDS = 1.0
_REST_SECONDS = 10.0
_OFF = "off"
_BUNDLED = "on"

InUse = tuple[str, int | None]
"""The setting whose vectors are compared, and how long they are where that is known."""


def model_name(choice: str) -> str:
    """What is stored with each vector, so that only like is compared with like."""
    return bundled_model.NAME if choice == _BUNDLED else choice


def asking(argument: str) -> Callable[[Any, Mapping[str, Any], Caller], Awaitable[Question]]:
    """What an operation prepares that searches for the text of one of its arguments."""
    return lambda calls, arguments, _caller: calls.search.ask(arguments[argument])


class Engine:
    """Opened by the server; without that, questions are answered from what is indexed and nothing is embedded."""

    def __init__(
        self, database: Database, settings: Settings, clock: Clock, sources: Sequence[Source]
    ) -> None:
        self.database, self.clock, self.sources = database, clock, {source.kind: source for source in sources}
        self.choice, self._key = settings.embeddings, settings.embeddings_key
        self.vectors: Vectors = sqlite.Vectors() if database.kind == "sqlite" else postgres.Vectors()
        self._models: dict[str, Model] = {}
        self._loading = asyncio.Lock()
        self._asked: OrderedDict[tuple[InUse, str], Question] = OrderedDict()
        self._threads = ThreadPoolExecutor(2, "embed-question")
        self._embedder = Embedder(self)
        self.uses = Uses()
        self._used: InUse | None = None
        self._used_at = 0.0
        self._rests_until = 0.0
        self._trouble = ""
        self._task: asyncio.Task[None] | None = None

    @cached_property
    def name(self) -> str:
        return model_name(self.choice)

    @property
    def embeds(self) -> bool:
        return self.choice != _OFF

    async def open(self) -> None:
        if self.choice == _BUNDLED:
            bundled_model.require_bundled_model()
        self._task = background.every(_USES_SECONDS, self.write_uses)
        if self.embeds:
            await self._embedder.open()

    async def close(self) -> None:
        if self._task:
            await background.stop(self._task)
            with contextlib.suppress(errors.Unavailable):
                await self.write_uses()
        await self._embedder.close()
        self._threads.shutdown(wait=True, cancel_futures=True)

    async def write_uses(self) -> None:
        """Write down what was shown since the last time."""
        uses = self.uses.take()
        if not uses:
            return

        async def write(tx: Tx) -> None:
            for kind in sorted({use.kind for use in uses}):
                if note := self.sources[kind].used:
                    await note(tx, [use for use in uses if use.kind == kind])

        await self.database.write(write)

    async def drain(self) -> None:
        """Embed everything that waits, now."""
        if self.embeds:
            await self._embedder.drain()

    @property
    def trouble(self) -> str:
        """Why vectors are not made at present; empty while they are."""
        return self._embedder.trouble or self._trouble

    async def pending(self, tx: Tx) -> int:
        """How many entries wait for their vectors; nothing waits where none are made."""
        return await index.pending(tx) if self.embeds else 0

    @property
    def without_vectors(self) -> int:
        return self._embedder.without_vectors

    async def ask(self, text: str) -> Question:
        """The question with its vector, if any vectors are there to compare it with. Never inside a transaction."""
        if not self.embeds or not text.strip():
            return Question(text)
        try:
            return await self._with_vector(text) or Question(text)
        except Rejected as without:
            self._trouble = without.message
        except errors.Unavailable as away:
            self._trouble = away.message
            self._rests_until = asyncio.get_running_loop().time() + _REST_SECONDS
        return Question(text)

    async def _with_vector(self, text: str) -> Question | None:
        """None if no vectors are there, or while the model rests after it was away."""
        used = await self._in_use()
        if used is None:
            return None
        if known := self._asked.get((used, text)):
            self._asked.move_to_end((used, text))
            return known
        if asyncio.get_running_loop().time() < self._rests_until:
            return None
        question = self._asked[used, text] = await self._embedded(text, used)
        self._trouble = ""
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return question

    async def _in_use(self) -> InUse | None:
        """Asked once a second at most, once there are vectors at all."""
        now = asyncio.get_running_loop().time()
        if self._used is None or now - self._used_at > 1:
            self._used, self._used_at = await self.database.read(_used), now
        return self._used

    async def _embedded(self, text: str, used: InUse) -> Question:
        choice, width = used
        model = await self.model(choice)
        vector = await self._vector(model, text)
        if len(vector) != (width or len(vector)):
            raise Rejected(f"Vectors of the model are {len(vector)} long now, not {width}.")
        return Question(text, model_name(choice), vector, model.floor)

    async def _vector(self, model: Model, text: str) -> Any:
        """An endpoint that is slow must not make everybody slow."""
        try:
            async with asyncio.timeout(model.patience):
                return await asyncio.get_running_loop().run_in_executor(self._threads, model.ask, text)
        except TimeoutError:
            raise errors.Unavailable(f"The model takes longer than {model.patience} s.") from None

    async def model(self, choice: str) -> Model:
        """Read once, by whoever needs it first, away from the loop."""
        async with self._loading:
            if choice not in self._models:
                self._models[choice] = await asyncio.to_thread(_load, choice, self._key)
            return self._models[choice]

    def forget_models(self) -> None:
        """Give the memory back; the next question reads the model again."""
        self._models.clear()


async def _used(tx: Tx) -> InUse | None:
    choice = await embedded.in_use(tx)
    return (choice, await embedded.width(tx, model_name(choice))) if choice else None


def _load(choice: str, key: str) -> Model:
    from commonplace.search import embed  # noqa: PLC0415 - numpy and onnxruntime are loaded by the first text

    return embed.load(choice, key)
