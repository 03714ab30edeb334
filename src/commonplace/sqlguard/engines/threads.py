"""Run queries of blocking drivers in threads, so that they can be cancelled."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_MAX_THREADS = 16


@cache
def _thread_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MAX_THREADS, "database")


async def run_cancellable(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run `work` in a thread; if the caller is cancelled, `stop` makes the database end the query."""
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(_thread_pool(), work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(_discard_outcome)
        await asyncio.shield(loop.run_in_executor(_thread_pool(), stop))
        raise


def _discard_outcome(running: "asyncio.Future[T]") -> None:
    """Retrieve the exception of a cancelled query, so that the event loop does not log a warning."""
    if not running.cancelled():
        running.exception()
