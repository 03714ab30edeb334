"""python -m bench.writer: how long a write holds the only writer of SQLite, as a ratio to a heartbeat that writes.

Documents of 2.4 KB are cut from this repository's own pages. Operations take turns, a few calls each, so that all
meet the same machine. Measured is the CPU time of the writer's thread inside the transaction, and from its beginning to the
end of its commit, which does not depend on what else the machine does; the whole call is measured by the wall clock.
"""

import argparse
import asyncio
import statistics
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

from bench.retrieval import call_operation, close_product, open_product
from bench.tables import print_table
from commonplace import errors
from commonplace.call import Calls
from commonplace.config import Settings
from commonplace.store import sqlite

PAGES = Path(__file__).parent.parent
DOCUMENT_CHARACTERS = 2400
PROJECT = "bench"
HEARTBEAT = "memory_heartbeat"
CALLS_IN_TURN = 5
"""The first of them is not measured: it finds nothing of its own in the processor's caches."""
COUNTING = "term counts"
"""The name of the background work that adds the words of entries to the counts."""


@dataclass
class OperationTimes:
    """Milliseconds of every call, and the statements of the last one."""

    inside: list[float] = field(default_factory=list)
    held: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)
    statements: int = 0


class WriterTimer:
    """Stands in for `Database.write` and for the writer's commits, and notes how long each took."""

    def __init__(self, calls: Calls) -> None:
        self.times: dict[str, OperationTimes] = defaultdict(OperationTimes)
        self.is_warming = False
        self.is_counting = False
        """Are statements counted? Such a round is not timed."""
        self._label = ""
        self._writes_in_batch: list[str] = []
        self._write, self._commit = calls.database.write, sqlite._in_one_commit  # noqa: SLF001 - what holds the writer
        calls.database.write = self.write  # type: ignore[method-assign]
        sqlite._in_one_commit = self._time_commit  # noqa: SLF001

    @property
    def _is_timing(self) -> bool:
        return not self.is_warming and not self.is_counting

    async def call(self, label: str, call: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        """Run one call and note its times under this label."""
        self._label, began = label, perf_counter()
        try:
            return await call
        except errors.Duplicate:
            return {}
        finally:
            if self._is_timing:
                self.times[label].whole.append(1e3 * (perf_counter() - began))
            self._label = ""

    async def write(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        task = asyncio.current_task()
        label = COUNTING if task and task.get_name() == COUNTING else self._label

        async def timed_work(tx: Any) -> Any:
            self._writes_in_batch.append(label)
            began = thread_time()
            try:
                return await (self._count_statements(label, work, tx) if self.is_counting else work(tx))
            finally:
                if self._is_timing:
                    self.times[label].inside.append(1e3 * (thread_time() - began))

        return await self._write(timed_work)

    async def _count_statements(self, label: str, work: Callable[[Any], Awaitable[Any]], tx: Any) -> Any:
        self.times[label].statements = 0

        def count_statement(*_: object) -> bool:
            self.times[label].statements += 1
            return True

        connection = tx._connection  # noqa: SLF001 - what a statement is, SQLite knows
        connection.exec_trace = count_statement
        try:
            return await work(tx)
        finally:
            connection.exec_trace = None

    def _time_commit(self, jobs: Any, tx: Any) -> Any:
        self._writes_in_batch.clear()
        began = thread_time()
        outcomes = self._commit(jobs, tx)
        if len(self._writes_in_batch) == 1 and self._is_timing:
            self.times[self._writes_in_batch[0]].held.append(1e3 * (thread_time() - began))
        return outcomes


def cut_documents() -> list[tuple[str, str]]:
    """(title, content) of every piece of our pages."""
    pages = {page.stem: page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("docs/**/*.md"))}
    return [
        (f"{name} {start}", text[start : start + DOCUMENT_CHARACTERS])
        for name, text in pages.items()
        for start in range(0, len(text) - DOCUMENT_CHARACTERS, DOCUMENT_CHARACTERS)
    ]


@dataclass
class Writer:
    """An agent that writes the same documents in every way that there is."""

    calls: Calls
    timer: WriterTimer
    texts: list[tuple[str, str]] = field(default_factory=list)
    session: str = ""
    board: str = ""
    items: dict[int, str] = field(default_factory=dict)
    """The id of the backlog item of each round."""

    async def run(self, operation: str, label: str = "", **arguments: Any) -> dict[str, Any]:
        return await self.timer.call(label or operation, call_operation(self.calls, operation, **arguments))

    def cut(self, n: int) -> tuple[str, str]:
        return self.texts[n % len(self.texts)]

    async def start(self) -> None:
        self.session = (await self._start_session("writer"))["session_id"]
        await self._start_session("reader")
        board = await call_operation(
            self.calls, "create_session", purpose="Measure", agent_session=self.session
        )
        self.board = board["session_id"]
        place = {"machine": "bench", "tool": "bench", "project": PROJECT}
        await call_operation(self.calls, "register_workspace", **place, agent_session=self.session)

    async def _start_session(self, agent: str) -> dict[str, Any]:
        return await call_operation(
            self.calls, "memory_start_session", project=PROJECT, claude_instance=agent
        )

    async def beat(self, n: int) -> None:
        await self.run(HEARTBEAT, session_id=self.session, status="busy", current_task="ab"[n % 2])

    async def record_learning(self, n: int) -> None:
        title, content = self.cut(n)
        await self.run(
            "memory_record_learning",
            session_id=self.session,
            topic=f"{title} {n}",
            content=f"Note {n}. {content}",
        )

    async def store_decision(self, n: int) -> None:
        await self._store(n, "memory_store", f"Decision {n}. {self.cut(n + 1)[1]}")

    async def store_decision_again(self, n: int) -> None:
        content = f"Decision {n} changed. {self.cut(n + 1)[1]}"
        await self._store(n, "memory_store, next version", content, force_store=True)

    async def _store(self, n: int, label: str, content: str, **more: Any) -> None:
        title = f"{self.cut(n)[0]} {n}"
        mine: dict[str, Any] = {"session_id": self.session, "memory_type": "adr", **more}
        await self.run("memory_store", label, title=title, content=content, **mine)

    async def add_item(self, n: int) -> None:
        title, content = self.cut(n)
        item = await self.run(
            "memory_add_backlog_item",
            session_id=self.session,
            title=f"{title} {n}",
            description=f"Item {n}. {content}",
        )
        self.items[n] = item["id"]

    async def update_item(self, n: int) -> None:
        await self.run(
            "memory_update_backlog_item",
            session_id=self.session,
            item_id=self.items[n],
            description=self.cut(n + 1)[1],
        )

    async def send_message(self, n: int) -> None:
        message = f"Message {n}. {self.cut(n)[1]}"
        await self.run("memory_send_message", session_id=self.session, to_instance="reader", message=message)

    async def define_spec(self, n: int) -> None:
        await self._define_spec(n, "memory_define_spec", self.cut(n)[1])

    async def define_spec_again(self, n: int) -> None:
        await self._define_spec(n, "memory_define_spec, next version", self.cut(n + 1)[1])

    async def _define_spec(self, n: int, label: str, content: str) -> None:
        await self.run(
            "memory_define_spec", label, session_id=self.session, name=f"spec-{n}", content=content
        )

    async def post_message(self, n: int) -> None:
        await self.run(
            "add_message", session_id=self.board, agent_session=self.session, content=self.cut(n)[1]
        )

    async def write_file(self, n: int) -> None:
        await self._write_file(n, "write_knowledge", self.cut(n)[1])

    async def write_file_again(self, n: int) -> None:
        await self._write_file(n, "write_knowledge, other text", self.cut(n + 1)[1])

    async def _write_file(self, n: int, label: str, content: str) -> None:
        await self.run(
            "write_knowledge", label, path=f"notes/{n}.md", content=content, agent_session=self.session
        )

    async def end_session(self, n: int) -> None:
        session = (await self._start_session("leaver"))["session_id"]
        await self.run(
            "memory_end_session",
            session_id=session,
            summary=f"Done {n}.",
            learnings=f"Lesson {n}. {self.cut(n)[1]}",
        )

    @property
    def steps(self) -> list[Callable[[int], Awaitable[None]]]:
        return [
            self.beat,
            self.record_learning,
            self.store_decision,
            self.store_decision_again,
            self.add_item,
            self.update_item,
            self.send_message,
            self.define_spec,
            self.define_spec_again,
            self.post_message,
            self.write_file,
            self.write_file_again,
            self.end_session,
        ]


async def print_ratios(rounds: int) -> None:
    async with open_product("sqlite", replace(Settings(), embeddings="off")) as calls:
        timer = WriterTimer(calls)
        writer = Writer(calls, timer, cut_documents())
        await calls.search.open()
        await writer.start()
        for first in range(0, rounds, CALLS_IN_TURN):
            for step in writer.steps:
                for n in range(first, first + CALLS_IN_TURN):
                    timer.is_warming = n == first
                    timer.is_counting = n == rounds - 1
                    await step(n)
        timer.times.pop("", None)
        await close_product(calls)
    base = timer.times[HEARTBEAT]
    print_table(
        f"CPU of SQLite's writer, {DOCUMENT_CHARACTERS} characters, {rounds} rounds, medians",
        (
            "operation",
            "inside, ms",
            "x heartbeat",
            "with commit, ms",
            "x heartbeat",
            "statements",
            "whole, ms",
        ),
        [_format_row(name, times, base) for name, times in timer.times.items() if times.held],
    )


def _format_row(name: str, times: OperationTimes, base: OperationTimes) -> tuple[str, ...]:
    inside, held = statistics.median(times.inside), statistics.median(times.held)
    return (
        name,
        f"{inside:.3f}",
        f"{inside / statistics.median(base.inside):.1f}",
        f"{held:.3f}",
        f"{held / statistics.median(base.held):.1f}",
        str(times.statements or "-"),
        f"{statistics.median(times.whole):.1f}" if times.whole else "-",
    )


def main() -> None:
    parser = argparse.ArgumentParser("bench.writer", description=__doc__)
    parser.add_argument("--rounds", type=int, default=150, help="calls of each operation")
    asyncio.run(print_ratios(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
