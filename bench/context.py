"""python -m bench.context: one blackboard with 50 agents, against a bare route measured in the same run."""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Callable

from bench.__main__ import (
    RatioTable,
    build_tool_call,
    call_operation,
    find_postgres_pids,
    free_port,
    running_postgres,
    running_server,
)
from bench.http_load import LoadResult, connect, measure_load, read_cpu_seconds

AGENTS = 50
MESSAGES = 1_000
LARGE = 10_000
QUERIES = 40
PAUSE_SECONDS = 0.5
"""What an agent does between two calls, in seconds: 50 agents then make 100 calls a second."""


class Prose:
    """Sentences whose words are as unevenly common as those of people, so that vocabularies grow as they do."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.words = [
            "".join(self._random.choices(letters, k=self._random.randint(3, 11))) for _ in range(20_000)
        ]
        self._weights = [1 / (rank + 1) for rank in range(len(self.words))]

    def make_sentence(self) -> str:
        return " ".join(self._random.choices(self.words, self._weights, k=50))

    def make_query(self) -> str:
        """Two words of which the first is mistyped."""
        first, second = self._random.sample(self.words[50:2000], 2)
        return f"{first[:1]}{first[2:]} {second}"


def create_board(port: int, prose: Prose, messages: int) -> str:
    board = str(
        call_operation(port, "create_session", purpose="bench", project="bench", agent_id="agent0")[
            "session_id"
        ]
    )
    for n in range(messages):
        metadata = {"files_modified": [f"src/module_{n % 97}.py"], "tests_run": n % 31}
        who = f"agent{n % AGENTS}"
        call_operation(
            port,
            "add_message",
            session_id=board,
            content=prose.make_sentence(),
            metadata=metadata,
            agent_id=who,
        )
    return board


def build_arguments(board: str, prose: Prose) -> dict[str, list[dict[str, object]]]:
    """Return argument sets for each tool; callers take them in turn."""
    who = [{"session_id": board, "agent_id": f"agent{n}"} for n in range(AGENTS)]
    return {
        "get_session": who,
        "get_context": [{**each, "after": MESSAGES - 50} for each in who],
        "search_context": [{**each, "query": prose.make_query()} for each in who],
        "set_memory": [{"key": f"k{n}", "value": {"n": n}, "agent_id": f"agent{n}"} for n in range(AGENTS)],
        "get_memory": [{"key": f"k{n}", "agent_id": f"agent{n}"} for n in range(AGENTS)],
        "add_message": [{**each, "content": "a finding", "visibility": "public"} for each in who],
    }


async def measure_agents_at_work(
    port: int, pids: list[int], request: Callable[[int], bytes], seconds: float
) -> LoadResult:
    """Measure the latency that 50 agents see that pause between calls, not the capacity of the server."""
    latencies: list[float] = []
    ends = time.perf_counter() + seconds

    async def agent(n: int) -> None:
        connection = await connect(port)
        await asyncio.sleep(PAUSE_SECONDS * n / AGENTS)
        while (before := time.perf_counter()) < ends:
            answer = await connection.ask(request(n))
            latencies.append(time.perf_counter() - before)
            if b" 200" not in answer[:12] or b'"isError":true' in answer:
                raise RuntimeError(answer[:400].decode())
            await asyncio.sleep(PAUSE_SECONDS)
        connection.transport.close()

    cpu, began = read_cpu_seconds(pids), time.perf_counter()
    await asyncio.gather(*(agent(n) for n in range(AGENTS)))
    return LoadResult(len(latencies), time.perf_counter() - began, read_cpu_seconds(pids) - cpu, latencies)


async def measure_store(table: RatioTable, what: str, port: int, pids: list[int], seconds: float) -> None:
    prose = Prose()
    board = await asyncio.to_thread(create_board, port, prose, MESSAGES)
    for tool, given in build_arguments(board, prose).items():
        for clients in (1, AGENTS):
            request = lambda n, tool=tool, given=given: build_tool_call(port, tool, given[n % len(given)], n)  # noqa: E731
            measured = await measure_load(port, pids, request, clients=clients, seconds=seconds)
            table.print_row(f"{tool} on {what}", clients, measured)
        table.print_row(
            f"{tool} on {what}, agents at work",
            AGENTS,
            await measure_agents_at_work(port, pids, request, 2 * seconds),
        )
    await asyncio.to_thread(measure_large_search, what, port, prose)


def measure_large_search(what: str, port: int, prose: Prose) -> None:
    board = create_board(port, prose, LARGE)
    times = [
        float(
            str(
                call_operation(port, "search_context", session_id=board, query=prose.make_query())[
                    "search_time_ms"
                ]
            )
        )
        for _ in range(QUERIES)
    ]
    first, *rest = times
    rest.sort()
    print(
        f"  search of {LARGE} messages on {what}: first {first:.0f} ms (reads them all),"
        f" then median {rest[len(rest) // 2]:.1f} ms, worst {rest[-1]:.1f} ms",
        flush=True,
    )


async def compare_stores(seconds: float) -> None:
    table = RatioTable()
    port = free_port()
    with running_server(port, "-m", "bench.reference_servers", "bare", "--port", str(port)) as pids:
        for clients in (1, AGENTS):
            request = lambda n: build_tool_call(port, "echo", {"text": "x"}, n)  # noqa: E731 - bound to this port
            table.print_row(
                "bare ASGI route",
                clients,
                await measure_load(port, pids, request, clients=clients, seconds=seconds),
            )
        table.print_row(
            "bare ASGI route, agents at work",
            AGENTS,
            await measure_agents_at_work(port, pids, request, 2 * seconds),
        )
    port = free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        running_server(port, "-m", "commonplace", "serve", "--port", str(port), "--data", folder) as pids,
    ):
        await measure_store(table, "SQLite", port, pids, seconds)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, running_postgres() as (dsn, place):
        flags = ("-m", "commonplace", "serve", "--port", str(port), "--data", folder, "--store", dsn)
        with running_server(port, *flags) as pids:
            await measure_store(table, "PostgreSQL", port, pids + find_postgres_pids(place), seconds)


def main() -> None:
    parser = argparse.ArgumentParser("bench.context", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="length of each measurement")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {AGENTS} agents, {MESSAGES} messages\n")
    asyncio.run(compare_stores(arguments.seconds))


if __name__ == "__main__":
    main()
