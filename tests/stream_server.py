"""A server of streams for one test. At its end no connection is left: one that nobody closes fails a later test."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[object]]


@contextlib.asynccontextmanager
async def serve_streams(answer: Answer, path: Path | None = None) -> AsyncIterator[asyncio.Server]:
    """Answer connections on a free port of this machine, or on the socket at `path`."""
    running: set[asyncio.Task[None]] = set()

    async def answer_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):  # the client has left
                await answer(reader, writer)
        finally:
            await close_stream(writer)

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(answer_one(reader, writer))
        running.add(task)
        task.add_done_callback(running.discard)

    server = await (
        asyncio.start_server(accept, "127.0.0.1", 0)
        if path is None
        else asyncio.start_unix_server(accept, path)
    )
    try:
        yield server
    finally:
        server.close()
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


async def close_stream(writer: asyncio.StreamWriter) -> None:
    """Close the connection and wait until it is closed, whatever the other end does."""
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
