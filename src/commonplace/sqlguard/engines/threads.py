"""Drivers that block, kept away from the event loop: each question has a thread, and a way to be stopped."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

_MOST = 16


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST, "database")


async def in_thread(work: Callable[[], T], stop: Callable[[], None]) -> T:
    """Run `work`; when nobody waits any more, `stop` makes the database end it and the thread returns."""
    loop = asyncio.get_running_loop()
    running = loop.run_in_executor(_threads(), work)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        running.add_done_callback(_forgotten)
        await asyncio.shield(loop.run_in_executor(_threads(), stop))
        raise


def _forgotten(running: "asyncio.Future[T]") -> None:
    """The question was given up; how it ended interests nobody, but asking keeps the loop from warning."""
    if not running.cancelled():
        running.exception()
