"""One task for the requests of a connection, one after the other: a task for each costs as much as parsing its head."""

import asyncio
from typing import Any


class RequestWorker:
    """Runs requests as uvicorn would run each in a task of its own. `running` are the tasks that a server waits for at its end."""

    __slots__ = ("_app", "_is_closed", "_loop", "_next", "_running", "_task")

    def __init__(self, loop: asyncio.AbstractEventLoop, app: Any, running: set[asyncio.Task[None]]) -> None:
        self._loop, self._app, self._running = loop, app, running
        self._task: asyncio.Task[None] | None = None
        self._next: asyncio.Future[Any] | None = None
        self._is_closed = False

    def start(self, cycle: Any) -> bool:
        """Run the request; False if the one before has been answered but is not over, or the connection is lost."""
        if self._task is None:
            self._task = self._loop.create_task(self._run_requests(cycle))
            self._task.add_done_callback(self._running.discard)
        elif self._next is not None:
            self._next.set_result(cycle)
            self._next = None
        else:
            return False
        self._running.add(self._task)
        return True

    def close(self) -> None:
        """The connection is lost: end when the request that runs is over."""
        self._is_closed = True
        if self._next is not None:
            self._next.cancel()
            self._next = None  # a request that waits for its turn may still come

    async def _run_requests(self, cycle: Any) -> None:
        while True:
            await cycle.run_asgi(self._app)
            if self._is_closed:
                return
            if self._task is not None:
                self._running.discard(self._task)
            self._next = self._loop.create_future()
            cycle = await self._next
