"""python -m bench.call_costs: the CPU of a call on SQLite beside a bare route on the same event loop, as ratios.

Both servers run at once and are loaded in turns of half a second, so that a machine which changes its speed, or has other
work, changes both sides. The clock of the kernel's scheduler is read, which counts nanoseconds.
"""

import argparse
import asyncio
import contextlib
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from bench.__main__ import build_tool_call, call_operation, free_port, running_server
from bench.http_load import Connection, connect
from bench.tables import print_table

AIMS = {"memory_get_locks": 5, "memory_heartbeat": 5}
STATUS_CHANGE = "memory_heartbeat, new task"
SESSIONS = 50


@dataclass
class Side:
    """One kind of request, sent to one server, and what it has cost so far."""

    name: str
    port: int
    pid: int
    build: Callable[[int], bytes]
    calls: int = 0
    cpu_seconds: float = 0.0

    @property
    def micros(self) -> float:
        return 1e6 * self.cpu_seconds / self.calls


def read_scheduled_seconds(pid: int) -> float:
    """How long the threads of a process have run."""
    nanoseconds = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):  # the thread has ended
            nanoseconds += int((thread / "schedstat").read_text().split()[0])
    return nanoseconds / 1e9


async def load_side(side: Side, connections: list[Connection], seconds: float) -> None:
    ends = time.perf_counter() + seconds
    done = 0

    async def caller(n: int, connection: Connection) -> None:
        nonlocal done
        while time.perf_counter() < ends:
            answer = await connection.ask(side.build(n))
            if b" 200" not in answer[:12] or b'"isError":true' in answer:
                raise RuntimeError(answer[:400].decode())
            done += 1
            n += len(connections)

    before = read_scheduled_seconds(side.pid)
    await asyncio.gather(*(caller(place, connection) for place, connection in enumerate(connections)))
    side.cpu_seconds += read_scheduled_seconds(side.pid) - before
    side.calls += done


async def measure_sides(sides: list[Side], clients: int, turns: int, seconds: float) -> None:
    """Load the sides in turns; a first turn warms up."""
    connections = {side.name: [await connect(side.port) for _ in range(clients)] for side in sides}
    for turn in range(turns + 1):
        for side in sides:
            await load_side(side, connections[side.name], seconds)
            if turn == 0:
                side.calls, side.cpu_seconds = 0, 0.0
    for opened in connections.values():
        for connection in opened:
            connection.transport.close()


async def print_call_costs(turns: int, seconds: float) -> None:
    bare, product = free_port(), free_port()
    flags = ("-m", "commonplace", "serve", "--port", str(product), "--data")
    rows = []
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(bare, "-m", "bench.reference_servers", "bare", "--uvloop", "--port", str(bare)) as bare_pids,
        running_server(product, *flags, folder) as pids,
    ):  # fmt: skip
        sessions = [
            call_operation(product, "memory_start_session", project="bench", claude_instance=f"agent{n}")
            for n in range(SESSIONS)
        ]

        def build_call(tool: str) -> Callable[[int], bytes]:
            return lambda n: build_tool_call(
                product, tool, {"session_id": sessions[n % SESSIONS]["session_id"]}, n
            )

        def build_status_change(n: int) -> bytes:
            own = {"session_id": sessions[n % SESSIONS]["session_id"], "current_task": f"task {n}"}
            return build_tool_call(product, "memory_heartbeat", own, n)

        for clients in (1, 10, 50):
            echo = lambda n: build_tool_call(bare, "echo", {"text": "x"}, n)  # noqa: E731 - bound to this port
            floor = Side("bare route", bare, bare_pids[0], echo)
            sides = [floor, *(Side(tool, product, pids[0], build_call(tool)) for tool in AIMS)]
            sides.append(Side(STATUS_CHANGE, product, pids[0], build_status_change))
            await measure_sides(sides, clients, turns, seconds)
            rows += [
                (
                    side.name,
                    str(clients),
                    f"{side.micros:.0f}",
                    f"{side.micros / floor.micros:.2f}",
                    f"{AIMS[side.name]}" if side.name in AIMS else "",
                )
                for side in sides
            ]
    load = f"load {os.getloadavg()[0]:.1f}"
    print_table(
        f"CPU of a call on SQLite, {load}", ("what", "callers", "CPU us", "x bare route", "aim"), rows
    )


def main() -> None:
    parser = argparse.ArgumentParser("bench.call_costs", description=__doc__)
    parser.add_argument("--turns", type=int, default=6, help="of each side, for each number of callers")
    parser.add_argument("--seconds", type=float, default=0.5, help="length of a turn")
    arguments = parser.parse_args()
    asyncio.run(print_call_costs(arguments.turns, arguments.seconds))


if __name__ == "__main__":
    main()
