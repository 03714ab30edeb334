"""python -m bench.probes: how long /ready takes while hundreds of callers keep the server busy, beside their own calls."""

import argparse
import asyncio
import contextlib
import http.client
import json
import sys
import tempfile
import time
from collections.abc import Iterator

from bench.__main__ import build_tool_call, call_operation, free_port, running_postgres, running_server
from bench.http_load import measure_load
from bench.tables import print_table

_PAUSE_SECONDS = 0.02
PROJECTS = 20
"""On PostgreSQL a single project that so many call at once is refused."""


def probe_server(port: int, seconds: float) -> list[tuple[float, int]]:
    """Milliseconds and status of each probe, on a connection that stays open as a load balancer's does."""
    connection, probes = http.client.HTTPConnection("127.0.0.1", port, timeout=60), []
    ends = time.perf_counter() + seconds
    while (began := time.perf_counter()) < ends:
        connection.request("GET", "/ready")
        response = connection.getresponse()
        response.read()
        probes.append((1e3 * (time.perf_counter() - began), response.status))
        time.sleep(_PAUSE_SECONDS)
    connection.close()
    return probes


@contextlib.contextmanager
def open_store(store: str) -> Iterator[tuple[str, ...]]:
    """The flags that name the store."""
    if store == "SQLite":
        yield ()
        return
    with running_postgres() as (dsn, _folder):
        yield "--store", dsn


async def print_probes(store: str, clients: int, seconds: float) -> None:
    """The probes are sent by a process of their own: they must not wait for the callers' turns."""
    port = free_port()
    command = ("-m", "commonplace", "serve", "--port", str(port), "--max-calls", str(2 * clients))
    with (
        tempfile.TemporaryDirectory() as folder,
        open_store(store) as flags,
        running_server(port, *command, "--data", folder, "--embeddings", "off", *flags) as pids,
    ):
        sessions = [
            call_operation(port, "memory_start_session", project=f"bench{n}", claude_instance="agent")
            for n in range(PROJECTS)
        ]
        build = lambda n: build_tool_call(  # noqa: E731 - bound to this port
            port, "memory_get_locks", {"session_id": sessions[n % PROJECTS]["session_id"]}, n
        )
        prober = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bench.probes", "--probe", str(port), "--seconds", str(seconds)),
            stdout=asyncio.subprocess.PIPE,
        )
        load = await measure_load(port, pids, build, clients=clients, seconds=seconds, overloads=True)
        printed, _ = await prober.communicate()
    probes = json.loads(printed)
    waits = sorted(milliseconds for milliseconds, _ in probes)
    red = sum(status != http.HTTPStatus.OK for _, status in probes)
    probed = (len(waits), waits[len(waits) // 2], waits[int(len(waits) * 0.99)], waits[-1])
    called = (load.calls, load.latency_quantile(0.5), load.latency_quantile(0.99), 1e3 * max(load.latencies))
    print_table(
        f"A probe beside {clients} callers of memory_get_locks on {store}; {red} probes were told: not ready",
        ("what", "requests", "p50 ms", "p99 ms", "longest ms"),
        [
            (name, str(count), *(f"{value:.1f}" for value in times))
            for name, (count, *times) in (("GET /ready", probed), ("memory_get_locks", called))
        ],
    )


def main() -> None:
    parser = argparse.ArgumentParser("bench.probes", description=__doc__)
    parser.add_argument("--clients", type=int, default=500, help="callers at once")
    parser.add_argument(
        "--store", choices=("SQLite", "PostgreSQL"), default="", help="one of them; both unless said"
    )
    parser.add_argument("--seconds", type=float, default=10, help="length of the measurement")
    parser.add_argument("--probe", type=int, default=0, metavar="PORT", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.probe:
        print(json.dumps(probe_server(arguments.probe, arguments.seconds)))
    else:
        for store in [arguments.store] if arguments.store else ["SQLite", "PostgreSQL"]:
            asyncio.run(print_probes(store, arguments.clients, arguments.seconds))


if __name__ == "__main__":
    main()
