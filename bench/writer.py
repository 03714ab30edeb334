"""python -m bench.writer: how long a write holds the only writer of SQLite, as a ratio to a heartbeat.

Documents of 2.4 KB are cut from this repository's own pages. Measured is the CPU time of the writer's thread inside
the transaction, which does not depend on what else the machine does; the whole call is measured by the wall clock.
"""

import argparse
import asyncio
import statistics
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

PAGES = Path(__file__).parent.parent
DOCUMENT_CHARACTERS = 2400


@dataclass
class Timer:
    """Stands in for `Database.write` and notes how long each transaction took."""

    write: Callable[..., Awaitable[Any]]
    inside: list[float] = field(default_factory=list)
    statements: int = 0
    """Of the last transaction, which is not measured."""
    counts: bool = False

    async def __call__(self, work: Callable[[Any], Awaitable[Any]]) -> Any:
        def count_statement(*_: object) -> bool:
            self.statements += 1
            return True

        async def counted_work(tx: Any) -> Any:
            self.statements, connection = 0, tx._connection  # noqa: SLF001 - what a statement is, SQLite knows
            connection.exec_trace = count_statement
            try:
                return await work(tx)
            finally:
                connection.exec_trace = None

        async def timed_work(tx: Any) -> Any:
            began = thread_time()
            try:
                return await work(tx)
            finally:
                self.inside.append(1e3 * (thread_time() - began))

        return await self.write(counted_work if self.counts else timed_work)


def cut_documents() -> list[tuple[str, str]]:
    """(title, content) of every piece of our pages."""
    pages = {page.stem: page.read_text(encoding="utf-8") for page in sorted(PAGES.glob("docs/**/*.md"))}
    return [
        (f"{name} {start}", text[start : start + DOCUMENT_CHARACTERS])
        for name, text in pages.items()
        for start in range(0, len(text) - DOCUMENT_CHARACTERS, DOCUMENT_CHARACTERS)
    ]


async def measure_operation(
    calls: Calls, operation: str, arguments: list[dict[str, Any]]
) -> tuple[float, float, int]:
    """Milliseconds inside the transaction (CPU) and of the whole call (wall clock), at the median; and its statements."""
    timer = Timer(calls.database.write)
    calls.database.write = timer  # type: ignore[method-assign]
    whole = []
    for place, given in enumerate(arguments, 1):
        timer.counts = place == len(arguments)
        began = perf_counter()
        try:
            await call_operation(calls, operation, **given)
        except errors.Duplicate:
            continue
        whole.append(1e3 * (perf_counter() - began))
    calls.database.write = timer.write  # type: ignore[method-assign]
    return statistics.median(timer.inside), statistics.median(whole), timer.statements


async def print_ratios(rounds: int) -> None:
    async with open_product("sqlite", replace(Settings(), embeddings="off")) as calls:
        session = (
            await call_operation(calls, "memory_start_session", project="bench", claude_instance="writer")
        )["session_id"]
        texts = cut_documents()
        texts *= -(-2 * rounds // len(texts))
        learnings = [
            {"session_id": session, "topic": f"{title} {n}", "content": f"Note {n}. {content}"}
            for n, (title, content) in enumerate(texts[:rounds])
        ]
        stored = [
            {"session_id": session, "title": f"{title} {n}", "content": content, "memory_type": "adr"}
            for n, (title, content) in enumerate(texts[rounds : 2 * rounds])
        ]
        results = {
            "memory_heartbeat": await measure_operation(
                calls, "memory_heartbeat", [{"session_id": session}] * rounds
            ),
            "memory_record_learning": await measure_operation(calls, "memory_record_learning", learnings),
            "memory_store": await measure_operation(calls, "memory_store", stored),
        }
        await close_product(calls)
    floor = results["memory_heartbeat"][0]
    print_table(
        f"Time inside SQLite's writer, {DOCUMENT_CHARACTERS} characters, {rounds} calls, medians",
        ("operation", "CPU ms inside the transaction", "x heartbeat", "statements", "whole call ms"),
        [
            (name, f"{inside:.3f}", f"{inside / floor:.1f}", str(statements), f"{whole:.1f}")
            for name, (inside, whole, statements) in results.items()
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser("bench.writer", description=__doc__)
    parser.add_argument("--rounds", type=int, default=150, help="calls of each operation")
    asyncio.run(print_ratios(parser.parse_args().rounds))


if __name__ == "__main__":
    main()
