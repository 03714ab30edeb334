"""Start a coroutine in this step of the event loop: most requests never wait, and then need no timers and watchers.

`StartedCoroutine` runs until the coroutine waits for the first time or ends. What still runs is awaited like any other.
"""

from collections.abc import Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class StartedCoroutine(Generic[T]):
    """Await it for the result, in the same task. Errors before the first wait are raised when it is made."""

    __slots__ = ("_coroutine", "_waits_for", "has_ended", "result")

    result: T

    def __init__(self, coroutine: Coroutine[Any, Any, T]) -> None:
        self._coroutine = coroutine
        try:
            self._waits_for = coroutine.send(None)
        except StopIteration as end:
            self.result, self.has_ended = end.value, True
        else:
            self.has_ended = False

    def __await__(self) -> Generator[Any, Any, T]:
        """As `yield from`, from the second step on."""
        if self.has_ended:
            return self.result
        coroutine, waits_for = self._coroutine, self._waits_for
        try:
            while True:
                try:
                    sent = yield waits_for
                except BaseException as error:  # noqa: BLE001 - it belongs to the coroutine
                    waits_for = coroutine.throw(error)
                else:
                    waits_for = coroutine.send(sent)
        except StopIteration as end:
            result: T = end.value
            return result
