"""python -m bench.context: one blackboard with 50 agents, against a bare route measured in the same run."""

import argparse
import asyncio
import os
import random
import tempfile
import time
from collections.abc import Callable

from bench.__main__ import Table, api, free_port, postgres_pids, running_postgres, started, tool_call
from bench.load import Measured, connect, cpu_seconds, drive

AGENTS = 50
MESSAGES = 1_000
LARGE = 10_000
QUERIES = 40
PAUSE = 0.5
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

    def sentence(self) -> str:
        return " ".join(self._random.choices(self.words, self._weights, k=50))

    def query(self) -> str:
        """Two words of which the first is mistyped."""
        first, second = self._random.sample(self.words[50:2000], 2)
        return f"{first[:1]}{first[2:]} {second}"


def filled(port: int, prose: Prose, messages: int) -> str:
    board = str(
        api(port, "create_session", purpose="bench", project="bench", agent_id="agent0")["session_id"]
    )
    for n in range(messages):
        metadata = {"files_modified": [f"src/module_{n % 97}.py"], "tests_run": n % 31}
        who = f"agent{n % AGENTS}"
        api(port, "add_message", session_id=board, content=prose.sentence(), metadata=metadata, agent_id=who)
    return board


def acts(board: str, prose: Prose) -> dict[str, list[dict[str, object]]]:
    """For each tool a few argument sets to go round in."""
    who = [{"session_id": board, "agent_id": f"agent{n}"} for n in range(AGENTS)]
    return {
        "get_session": who,
        "get_context": [{**each, "after": MESSAGES - 50} for each in who],
        "search_context": [{**each, "query": prose.query()} for each in who],
        "set_memory": [{"key": f"k{n}", "value": {"n": n}, "agent_id": f"agent{n}"} for n in range(AGENTS)],
        "get_memory": [{"key": f"k{n}", "agent_id": f"agent{n}"} for n in range(AGENTS)],
        "add_message": [{**each, "content": "a finding", "visibility": "public"} for each in who],
    }


async def at_work(port: int, pids: list[int], request: Callable[[int], bytes], seconds: float) -> Measured:
    """50 agents that also think: the latency that each of them sees, not how much the server can bear."""
    latencies: list[float] = []
    ends = time.perf_counter() + seconds

    async def agent(n: int) -> None:
        connection = await connect(port)
        await asyncio.sleep(PAUSE * n / AGENTS)
        while (before := time.perf_counter()) < ends:
            answer = await connection.ask(request(n))
            latencies.append(time.perf_counter() - before)
            if b" 200" not in answer[:12] or b'"isError":true' in answer:
                raise RuntimeError(answer[:400].decode())
            await asyncio.sleep(PAUSE)
        connection.transport.close()

    cpu, began = cpu_seconds(pids), time.perf_counter()
    await asyncio.gather(*(agent(n) for n in range(AGENTS)))
    return Measured(len(latencies), time.perf_counter() - began, cpu_seconds(pids) - cpu, latencies)


async def one_store(table: Table, what: str, port: int, pids: list[int], seconds: float) -> None:
    prose = Prose()
    board = await asyncio.to_thread(filled, port, prose, MESSAGES)
    for tool, given in acts(board, prose).items():
        for clients in (1, AGENTS):
            request = lambda n, tool=tool, given=given: tool_call(port, tool, given[n % len(given)], n)  # noqa: E731
            measured = await drive(port, pids, request, clients=clients, seconds=seconds)
            table.row(f"{tool} on {what}", clients, measured)
        table.row(
            f"{tool} on {what}, agents at work", AGENTS, await at_work(port, pids, request, 2 * seconds)
        )
    await asyncio.to_thread(large_search, what, port, prose)


def large_search(what: str, port: int, prose: Prose) -> None:
    board = filled(port, prose, LARGE)
    times = [
        float(str(api(port, "search_context", session_id=board, query=prose.query())["search_time_ms"]))
        for _ in range(QUERIES)
    ]
    first, *rest = times
    rest.sort()
    print(
        f"  search of {LARGE} messages on {what}: first {first:.0f} ms (reads them all),"
        f" then median {rest[len(rest) // 2]:.1f} ms, worst {rest[-1]:.1f} ms",
        flush=True,
    )


async def compare(seconds: float) -> None:
    table = Table()
    port = free_port()
    with started(port, "-m", "bench.servers", "bare", "--port", str(port)) as pids:
        for clients in (1, AGENTS):
            request = lambda n: tool_call(port, "echo", {"text": "x"}, n)  # noqa: E731 - bound to this port
            table.row(
                "bare ASGI route", clients, await drive(port, pids, request, clients=clients, seconds=seconds)
            )
        table.row("bare ASGI route, agents at work", AGENTS, await at_work(port, pids, request, 2 * seconds))
    port = free_port()
    with (
        tempfile.TemporaryDirectory() as folder,
        started(port, "-m", "commonplace", "serve", "--port", str(port), "--data", folder) as pids,
    ):
        await one_store(table, "SQLite", port, pids, seconds)
    port = free_port()
    with tempfile.TemporaryDirectory() as folder, running_postgres() as (dsn, place):
        flags = ("-m", "commonplace", "serve", "--port", str(port), "--data", folder, "--store", dsn)
        with started(port, *flags) as pids:
            await one_store(table, "PostgreSQL", port, pids + postgres_pids(place), seconds)


def main() -> None:
    parser = argparse.ArgumentParser("bench.context", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="length of each measurement")
    arguments = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; {AGENTS} agents, {MESSAGES} messages\n")
    asyncio.run(compare(arguments.seconds))


if __name__ == "__main__":
    main()
