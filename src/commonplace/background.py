"""Periodic work in the background: `every(seconds, act)` starts it, `stop` ends it.

Work that waits for a wake-up instead of a clock is not here: events are delivered by `events.py`, texts are embedded by
`search/embedder.py`.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable

from commonplace import errors

_log = logging.getLogger(__name__)

_MAX_BACKOFF_SECONDS = 10.0


def every(
    seconds: float, act: Callable[[], Awaitable[None]], *, first_after: float | None = None
) -> asyncio.Task[None]:
    """Run `act` again and again, the first time after `first_after` seconds (default: `seconds`).

    A failure is logged and the work goes on. While the store is away the pauses grow.
    """
    name = getattr(act, "__qualname__", "background work")
    delay = seconds if first_after is None else first_after
    return asyncio.create_task(_repeat(act, name, seconds, delay), name=name)


async def stop(task: asyncio.Task[None] | None) -> None:
    """Cancel the work and wait until it has ended."""
    if task is None:
        return
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def _repeat(act: Callable[[], Awaitable[None]], name: str, seconds: float, delay: float) -> None:
    failures = 0
    while True:
        await asyncio.sleep(delay)
        try:
            await act()
            failures = 0
        except errors.Unavailable as unavailable:
            failures += 1
            if failures == 1:
                _log.warning("background work waits", extra={"work": name, "reason": unavailable.message})
        except Exception:  # noqa: BLE001 - the work must go on; a bug is in the log
            failures += 1
            _log.exception("background work failed", extra={"work": name})
        delay = min(seconds * 2 ** min(failures, 10), max(seconds, _MAX_BACKOFF_SECONDS))
