"""How long, and how, a connection of SQLite waits for the lock of another one."""

import random
import time
from collections.abc import Callable

_BUSY_SECONDS = 5.0


def make_busy_handler() -> Callable[[int], bool]:
    """Short random waits are fair; SQLite's own back-off starves callers."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        if tries == 0:
            started = time.monotonic()
        if time.monotonic() - started > _BUSY_SECONDS:
            return False
        time.sleep(random.uniform(0.0002, 0.002))  # noqa: S311 - jitter is no secret
        return True

    return wait
