"""How many calls run at once: one more is refused at once, so that the others are answered in time.

A call that waits for an event holds no place. When the server stops, such calls end like streams, with the answer that
they would give at the end of their time.
"""

import asyncio
import contextlib

from commonplace import errors


class CallAdmission:
    def __init__(self, max_calls: int) -> None:
        self.max_calls, self.running, self.refused, self.waiting = max_calls, 0, 0, 0
        self._stopping = False
        self._waiters: set[asyncio.Event] = set()

    def admit_call(self) -> "CallAdmission":
        """A context: the call has a place among the running ones inside, or is refused."""
        return self

    def __enter__(self) -> None:
        if self.running >= self.max_calls:
            self.refused += 1
            raise errors.Unavailable(
                f"The server is overloaded: {self.max_calls} calls are in progress.",
                hint="Try again in a moment.",
                retry_after=1,
            )
        self.running += 1

    def __exit__(self, *_: object) -> None:
        self.running -= 1

    async def wait_for(self, event: asyncio.Event, seconds: float) -> None:
        """Wait for the event without a place among the running calls; ends early when the server stops."""
        if self._stopping:
            return
        self.running -= 1
        self.waiting += 1
        self._waiters.add(event)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await event.wait()
        finally:
            self._waiters.discard(event)
            self.waiting -= 1
            self.running += 1

    @property
    def is_stopping(self) -> bool:
        return self._stopping

    def stop_waiting(self) -> None:
        """Let every call that waits answer now, and every later one without waiting."""
        self._stopping = True
        for event in self._waiters:
            event.set()
