"""A uvicorn server for one test that stops at once; uvicorn itself looks ten times a second whether to stop."""

import asyncio
import contextlib
import socket
from typing import Any

import uvicorn

_LAST_REQUESTS_SECONDS = 1
# The loop takes a few turns from accepting a connection to its transport, which would not be closed otherwise.
_TURNS_TO_ACCEPT = 5


class QuickServer(uvicorn.Server):
    def __init__(self, app: Any) -> None:
        super().__init__(uvicorn.Config(app, lifespan="off", log_config=None, access_log=False))
        self._ending = asyncio.Event()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self._ending.wait()

    def end(self) -> None:
        self._ending.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for listening in sockets or ():
            listening.close()
        for _ in range(_TURNS_TO_ACCEPT):
            await asyncio.sleep(0)
        for connection in list(self.server_state.connections):
            connection.shutdown()
        await asyncio.sleep(0)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._wait_tasks_to_complete(), _LAST_REQUESTS_SECONDS)
        ending = list(self.server_state.tasks)
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        while self.server_state.connections:  # a client that does not read would keep one open
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            await asyncio.sleep(0)
