"""How long a test waits for something that must happen: one bound for the whole suite.

The bound only decides when a test gives up; no test asserts how fast something was. A loaded machine needs
more time than an idle one, so the bound is generous. COMMONPLACE_TEST_PATIENCE sets another number of seconds.
"""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

PATIENCE_SECONDS = float(os.environ.get("COMMONPLACE_TEST_PATIENCE", "60"))
_LOOK_AGAIN_SECONDS = 0.02


def wait_until(holds: Callable[[], bool]) -> None:
    """Poll a condition that nobody signals, such as the state of another process."""
    ends = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > ends:
            raise TimeoutError(f"not true after {PATIENCE_SECONDS} seconds")
        time.sleep(_LOOK_AGAIN_SECONDS)


async def wait_until_async(holds: Callable[[], bool | Awaitable[bool]]) -> None:
    """The same inside an event loop; the condition may be a coroutine function."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not await _answer(holds):  # noqa: ASYNC110 - nobody signals it
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)


async def _answer(holds: Callable[[], bool | Awaitable[bool]]) -> bool:
    answer = holds()
    return answer if isinstance(answer, bool) else await answer
