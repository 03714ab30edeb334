"""python -m bench.messages: the cost of sending and reading mail, and the latency of push to a subscriber."""

import argparse
import asyncio
import contextlib
import json
import tempfile
import time
from pathlib import Path

from bench.__main__ import (
    META,
    RatioTable,
    build_tool_call,
    call_operation,
    free_port,
    running_postgres,
    running_server,
)
from bench.http_load import build_post, connect, measure_load

AGENTS = 50
INBOX = "inbox://bench/agent0"


async def measure_mail(table: RatioTable, what: str, port: int, pids: list[int], seconds: float) -> None:
    sessions = [
        call_operation(port, "memory_start_session", project="bench", claude_instance=f"agent{n}")[
            "session_id"
        ]
        for n in range(AGENTS)
    ]

    def send(n: int) -> bytes:
        given = {
            "session_id": sessions[n % AGENTS],
            "to_instance": f"agent{(n + 1) % AGENTS}",
            "message": f"{time.time_ns()}",
        }
        return build_tool_call(port, "memory_send_message", given, n)

    def receive(n: int) -> bytes:
        return build_tool_call(
            port, "memory_get_messages", {"session_id": sessions[n % AGENTS], "limit": 5}, n
        )

    for name, request in (("send", send), ("receive", receive)):
        for clients in (1, 10, 50):
            table.print_row(
                f"{name} on {what}",
                clients,
                await measure_load(port, pids, request, clients=clients, seconds=seconds),
            )
    await measure_push_latency(table, what, port, sessions, rounds=200)


async def measure_push_latency(
    table: RatioTable, what: str, port: int, sessions: list[str], rounds: int
) -> None:
    """Time from sending the request until a subscribed client has read the notification."""
    params = {"_meta": META, "notifications": {"resourceSubscriptions": [INBOX]}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params}
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    headers = {"MCP_Protocol_Version": "2026-07-28", "Mcp_Method": "subscriptions/listen"}
    writer.write(build_post("/mcp", port, json.dumps(message).encode(), **headers))
    await asyncio.wait_for(reader.readuntil(b"subscriptions/acknowledged"), 5)
    sender = await connect(port)
    waits = []
    for n in range(rounds):
        given = {"session_id": sessions[1], "to_instance": "agent0", "message": f"push {n} {time.time_ns()}"}
        before = time.perf_counter()
        asked = asyncio.create_task(sender.ask(build_tool_call(port, "memory_send_message", given, n)))
        await asyncio.wait_for(reader.readuntil(b"resources/updated"), 5)
        waits.append(1e3 * (time.perf_counter() - before))
        await asked
    writer.close()
    waits.sort()
    p50, p99 = waits[len(waits) // 2], waits[int(len(waits) * 0.99)]
    floor = table.floor[1].latency_quantile(0.5)
    print(
        f"{f'push on {what}: send to notification':44}{1:8}{'':10}{p50:9.2f}{p99:9.2f}   {p50 / floor:.1f} x a bare round trip",
        flush=True,
    )


async def compare_stores(seconds: float) -> None:
    table = RatioTable()
    port = free_port()
    with running_server(port, "-m", "bench.reference_servers", "bare", "--port", str(port)) as pids:
        for clients in (1, 10, 50):
            request = lambda n: build_tool_call(port, "echo", {"text": "x"}, n)  # noqa: E731 - bound to this port
            table.print_row(
                "bare ASGI route",
                clients,
                await measure_load(port, pids, request, clients=clients, seconds=seconds),
            )
    with contextlib.ExitStack() as stack:
        dsn, _ = stack.enter_context(running_postgres())
        for what, flags in (("SQLite", []), ("PostgreSQL", ["--store", dsn])):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            port = free_port()
            with running_server(
                port, "-m", "commonplace", "serve", "--port", str(port), "--data", str(folder), *flags
            ) as pids:
                await measure_mail(table, what, port, pids, seconds)


def main() -> None:
    parser = argparse.ArgumentParser("bench.messages", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3, help="length of each measurement")
    asyncio.run(compare_stores(parser.parse_args().seconds))


if __name__ == "__main__":
    main()
