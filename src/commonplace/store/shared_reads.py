"""Run several works of one transaction side by side: what they ask at the same time travels in one message.

A boot pack asks every room. One after the other that is a round trip to PostgreSQL for each question; side by side it
is one for each depth of questions. On SQLite nothing travels, and the works run one after the other: they may hold a
lock of a thread while they read, which two of them in one thread could not.
"""

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from typing import Any, TypeVar, cast

from commonplace.store.database import Kind, Row, Statement, Tx, Value, Work

T = TypeVar("T")


class _Question:
    """What a work waits for: the rows of these reads."""

    def __init__(self, statements: Sequence[Statement]) -> None:
        self.statements = statements

    def __await__(self) -> Generator["_Question", list[Sequence[Row]], list[Sequence[Row]]]:
        return (yield self)


class _SharedTx:
    """The transaction as each work sees it. Reads wait for those of the others; changes go through at once."""

    def __init__(self, tx: Tx) -> None:
        self._tx = tx
        self.kind: Kind = tx.kind
        self.run, self.queue, self.many = tx.run, tx.queue, tx.many
        self.expect_no_row, self.claim_project = tx.expect_no_row, tx.claim_project
        self.clock_statement, self.clock_from_row = tx.clock_statement, tx.clock_from_row
        self.ask_clock = tx.ask_clock

    async def together(self, *statements: Statement) -> list[Sequence[Row]]:
        return await _Question(statements)

    async def all(self, sql: str, *values: Value) -> Sequence[Row]:
        return (await _Question([(sql, *values)]))[0]

    async def all_with_settings(self, settings: Mapping[str, str], sql: str, *values: Value) -> Sequence[Row]:
        """Ask at once: the settings are for this statement alone."""
        rows: Sequence[Row] = await cast(Any, self._tx).all_with_settings(settings, sql, *values)
        return rows

    async def one(self, sql: str, *values: Value) -> Row | None:
        rows = await self.all(sql, *values)
        return rows[0] if rows else None

    async def clock(self) -> int:
        return self.clock_from_row((await self.all(*self.clock_statement()))[0])


async def run_together(tx: Tx, works: Sequence[Work[T]]) -> list[T]:
    """The results of these works, in their order."""
    if tx.kind == "sqlite":
        return [await work(tx) for work in works]
    shared = _SharedTx(tx)
    results: list[Any] = [None] * len(works)
    answers: dict[int, list[Sequence[Row]] | None] = dict.fromkeys(range(len(works)))
    running = {place: _start(work, shared) for place, work in enumerate(works)}
    try:
        while running:
            questions: dict[int, _Question] = {}
            for place, coroutine in list(running.items()):
                question, results[place] = await _run_until_question(coroutine, answers[place])
                if question is None:
                    del running[place]
                else:
                    questions[place] = question
            answers.update(await _ask(tx, questions))
    finally:
        for coroutine in running.values():
            coroutine.close()
    return results


def _start(work: Callable[[Tx], Awaitable[T]], tx: Tx) -> Coroutine[Any, Any, T]:
    coroutine = work(tx)
    if not isinstance(coroutine, Coroutine):
        raise TypeError("a work is a coroutine function")
    return coroutine


async def _ask(tx: Tx, questions: dict[int, _Question]) -> dict[int, list[Sequence[Row]]]:
    statements = [statement for question in questions.values() for statement in question.statements]
    rows = iter(await tx.together(*statements) if statements else ())
    return {place: [next(rows) for _ in question.statements] for place, question in questions.items()}


@types.coroutine
def _run_until_question(
    coroutine: Coroutine[Any, Any, T], answer: list[Sequence[Row]] | None
) -> Generator[Any, Any, tuple[_Question | None, T | None]]:
    """Run a work until it asks or ends; whatever else it waits for is left to the event loop."""
    step: Callable[[], Any] = lambda: coroutine.send(answer)  # noqa: E731 - the first of several steps
    while True:
        try:
            waits_for = step()
        except StopIteration as end:
            return None, end.value
        if isinstance(waits_for, _Question):
            return waits_for, None
        try:
            received = yield waits_for
        except BaseException as error:  # noqa: BLE001 - belongs to the work that waited
            step = lambda error=error: coroutine.throw(error)  # type: ignore[misc]  # noqa: E731
        else:
            step = lambda received=received: coroutine.send(received)  # type: ignore[misc]  # noqa: E731
