"""Everything that runs in the background: `every(seconds, act, name=...)` starts it, `stop` ends it.

One supervisor for all of it: a failure is logged, the pauses grow, and the work goes on. /metrics shows when each work
last succeeded, and /ready asks `find_stuck_work`. No task is created elsewhere, but for what belongs to one request
(`tests/test_layout.py`).
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable

from commonplace import errors

_log = logging.getLogger(__name__)

_MIN_BACKOFF_SECONDS = 0.1
_MAX_BACKOFF_SECONDS = 10.0
_LAST_ACT_SECONDS = 2.0
_STUCK_SECONDS = 30.0
_SAME_FAILURE_LOGGED_EVERY = 100

Act = Callable[[], Awaitable[bool | None]]
"""One round of work. True means that more waits: the next round starts at once."""

_running: "set[BackgroundWork]" = set()


class BackgroundWork:
    """One piece of background work, and how it went."""

    def __init__(self, name: str, seconds: float, *, essential: bool) -> None:
        self.name, self.essential = name, essential
        self._seconds = seconds
        self.failures = 0
        """Since the start; `consecutive_failures` since the last success."""
        self.consecutive_failures = 0
        self.last_error = ""
        self.succeeded_at = time.time()
        self._succeeded = time.monotonic()
        self.task: asyncio.Task[None] | None = None

    @property
    def is_stuck(self) -> bool:
        """Without a success for longer than its rounds and a few retries take."""
        is_over = self.task is None or self.task.done()
        return is_over or time.monotonic() - self._succeeded > self._seconds + _STUCK_SECONDS

    def mark_success(self) -> None:
        self.consecutive_failures, self.last_error = 0, ""
        self.succeeded_at, self._succeeded = time.time(), time.monotonic()

    async def repeat(self, act: Act, delay: float) -> None:
        while True:
            await asyncio.sleep(delay)
            try:
                has_more = await act()
                self.mark_success()
                delay = 0.0 if has_more else self._seconds
            except Exception as error:  # noqa: BLE001 - the work must go on; a bug is in the log
                self._log_failure(error)
                pause = max(self._seconds, _MIN_BACKOFF_SECONDS) * 2 ** min(self.consecutive_failures, 10)
                delay = min(pause, max(self._seconds, _MAX_BACKOFF_SECONDS))

    def _log_failure(self, error: Exception) -> None:
        """Once in full, then now and then: an outage of an hour must not fill the log."""
        text = f"{type(error).__name__}: {error}"
        is_news = text != self.last_error or self.consecutive_failures % _SAME_FAILURE_LOGGED_EVERY == 0
        self.failures += 1
        self.consecutive_failures += 1
        self.last_error = text
        if not is_news:
            return
        extra = {"work": self.name, "failures": self.consecutive_failures}
        if isinstance(error, errors.Unavailable):
            _log.warning("background work waits", extra=extra | {"reason": error.message})
        else:
            _log.error("background work failed", extra=extra, exc_info=error)


def every(
    seconds: float, act: Act, *, name: str, first_after: float | None = None, essential: bool = False
) -> BackgroundWork:
    """Run `act` again and again, the first time after `first_after` seconds (default: `seconds`).

    An act may itself wait for a wake-up, with `seconds` 0; it then returns now and then to show that it lives.
    Without `essential` work the server still answers correctly; with it, a server whose work is stuck is not ready.
    """
    work = BackgroundWork(name, seconds, essential=essential)
    work.task = asyncio.create_task(
        work.repeat(act, seconds if first_after is None else first_after), name=name
    )
    _running.add(work)
    return work


async def stop(work: BackgroundWork | None, finish: Act | None = None) -> None:
    """Cancel the work and wait until it has ended; then run `finish` once. Neither raises, so that a server can close."""
    if work is None:
        return
    _running.discard(work)
    while work.task is not None and not work.task.done():
        work.task.cancel()  # again: asyncio.wait_for of Python 3.11 may swallow a cancellation
        await asyncio.wait((work.task,), timeout=1)
    if finish is None:
        return
    try:
        async with asyncio.timeout(_LAST_ACT_SECONDS):
            await finish()
    except Exception as error:  # noqa: BLE001 - the server stops in any case; what failed is in the log
        _log.warning("background work was not finished", extra={"work": work.name, "reason": str(error)})


def list_work() -> Iterable[BackgroundWork]:
    """Everything that runs in the background of this process."""
    return sorted(_running, key=lambda work: work.name)


def find_stuck_work() -> BackgroundWork | None:
    """Essential work that does not get on; None if all of it does."""
    return next((work for work in list_work() if work.essential and work.is_stuck), None)
