"""A closed-loop HTTP client that costs little: raw sockets, keep-alive, one request in flight per connection."""

import asyncio
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import psutil

Request = Callable[[int], bytes]
"""The bytes of the n-th request."""


def build_post(path: str, port: int, body: bytes, **headers: str) -> bytes:
    lines = [f"POST {path} HTTP/1.1", f"Host: 127.0.0.1:{port}", f"Content-Length: {len(body)}"]
    lines += ["Content-Type: application/json", "Accept: application/json, text/event-stream"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


@dataclass(frozen=True)
class LoadResult:
    calls: int
    seconds: float
    cpu_seconds: float
    latencies: list[float]

    @property
    def per_second(self) -> float:
        return self.calls / self.seconds

    @property
    def cpu_micros(self) -> float:
        return 1e6 * self.cpu_seconds / max(self.calls, 1)

    def latency_quantile(self, q: float) -> float:
        """Milliseconds."""
        return 1e3 * statistics.quantiles(self.latencies, n=1000)[int(q * 1000) - 1]


class Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[bytes] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, found, rest = self._buffer.partition(b"\r\n\r\n")
        if not found or self._answer is None:
            return
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        if len(rest) >= length:
            self._buffer = b""
            self._answer.set_result(head[:12] + rest)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError())

    async def ask(self, request: bytes) -> bytes:
        self._answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._answer


async def connect(port: int) -> Connection:
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


async def measure_load(
    port: int, pids: list[int], request: Request, *, clients: int, seconds: float, overloads: bool = False
) -> LoadResult:
    """Load the server with `clients` callers for `seconds`; its processes' CPU time is read around the run.

    A load that `overloads` it may be refused as such.
    """
    connections = [await connect(port) for _ in range(clients)]
    latencies: list[float] = []
    ends = time.perf_counter() + seconds

    async def caller(place: int, connection: Connection) -> None:
        n = place
        while (before := time.perf_counter()) < ends:
            answer = await connection.ask(request(n))
            latencies.append(time.perf_counter() - before)
            is_done = b" 200" in answer[:12] and b'"isError":true' not in answer
            if not is_done and not (overloads and b"unavailable" in answer):
                raise RuntimeError(answer[:400].decode())
            n += clients

    cpu, started = read_cpu_seconds(pids), time.perf_counter()
    await asyncio.gather(*(caller(place, connection) for place, connection in enumerate(connections)))
    measured = LoadResult(
        len(latencies), time.perf_counter() - started, read_cpu_seconds(pids) - cpu, latencies
    )
    for connection in connections:
        connection.transport.close()
    return measured


def read_cpu_seconds(pids: list[int]) -> float:
    """Of these processes and their children: PostgreSQL has one for each connection."""
    processes = [psutil.Process(pid) for pid in pids]
    processes += [child for process in processes for child in process.children(recursive=True)]
    return sum(sum(process.cpu_times()[:2]) for process in processes)
