"""Lines over a pipe, for stdio_transport.py. Threads do the blocking reads and writes, so that neither a silent
nor a stalled peer stops the event loop.
"""

import asyncio
import contextlib
import os
import queue
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Final

_CHUNK_BYTES: Final = 64 * 1024
_MAX_BUFFERED_CHUNKS: Final = 16
_MAX_UNWRITTEN_BYTES: Final = 4 * 1024 * 1024
_FLUSH_SECONDS: Final = 5.0


class LineReader:
    """Yields each line without its end, or None for a line that was too long and has been skipped."""

    def __init__(self, descriptor: int, max_bytes: int) -> None:
        self._descriptor = descriptor
        self._max_bytes = max_bytes
        self._loop = asyncio.get_running_loop()
        self._chunks: asyncio.Queue[bytes] = asyncio.Queue()
        self._room = threading.Semaphore(_MAX_BUFFERED_CHUNKS)
        threading.Thread(target=self._read_chunks, name="mcp-stdin", daemon=True).start()

    async def __aiter__(self) -> AsyncIterator[bytes | None]:
        line, skipping = bytearray(), False
        while chunk := await self._next_chunk():
            *ended, rest = chunk.split(b"\n")
            for part in ended:
                line += part
                yield None if skipping or len(line) > self._max_bytes else bytes(line)
                line, skipping = bytearray(), False
            line += rest
            if len(line) > self._max_bytes:
                line, skipping = bytearray(), True
        if line or skipping:
            yield None if skipping else bytes(line)

    async def _next_chunk(self) -> bytes:
        chunk = await self._chunks.get()
        self._room.release()
        return chunk

    def _read_chunks(self) -> None:
        while True:
            self._room.acquire()
            try:
                chunk = os.read(self._descriptor, _CHUNK_BYTES)
            except OSError:
                chunk = b""
            if not _call_on_loop(self._loop, self._chunks.put_nowait, chunk) or not chunk:
                return


class LineWriter:
    """Writes in order; a writer that is faster than the peer waits."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._unwritten = 0
        self._room = asyncio.Event()
        self._room.set()
        self._ended = asyncio.Event()
        threading.Thread(target=self._write_lines, name="mcp-stdout", daemon=True).start()

    async def write(self, line: bytes) -> None:
        while not self._room.is_set():
            await self._room.wait()
        if self._ended.is_set():
            return
        self._count_unwritten(len(line) + 1)
        self._lines.put(line + b"\n")

    async def close(self) -> None:
        """Wait until everything is written, within a bound."""
        self._lines.put(None)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FLUSH_SECONDS):
                await self._ended.wait()

    def _count_unwritten(self, size: int) -> None:
        self._unwritten += size
        if self._unwritten < _MAX_UNWRITTEN_BYTES:
            self._room.set()
        else:
            self._room.clear()

    def _mark_ended(self) -> None:
        self._ended.set()
        self._room.set()

    def _write_lines(self) -> None:
        while (line := self._lines.get()) is not None:
            try:
                _write_all(self._descriptor, line)
            except OSError:
                break
            if not _call_on_loop(self._loop, self._count_unwritten, -len(line)):
                return
        _call_on_loop(self._loop, self._mark_ended)


def _write_all(descriptor: int, line: bytes) -> None:
    rest = memoryview(line)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def _call_on_loop(loop: asyncio.AbstractEventLoop, call: Callable[..., None], *arguments: object) -> bool:
    """Return False when the loop has ended before the pipe."""
    try:
        loop.call_soon_threadsafe(call, *arguments)
    except RuntimeError:
        return False
    return True


@contextlib.contextmanager
def protect_stdout() -> Iterator[int]:
    """Keep standard output for the protocol: everything else that prints goes to standard error meanwhile."""
    protocol = os.dup(1)
    os.dup2(2, 1)
    try:
        yield protocol
    finally:
        os.dup2(protocol, 1)
        os.close(protocol)
