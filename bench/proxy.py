"""python -m bench.proxy: the cost of the stdio proxy at start and per call, compared with HTTP and `serve`."""

import argparse
import contextlib
import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

import psutil

from bench.__main__ import free_port, running_server

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class PipedServer:
    """A program that speaks MCP on its pipes."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, method: str, **params: object) -> dict[str, object]:
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait(20)
        self.process.stdout.close()


def list_tools_once(*command: str) -> None:
    """Start the program, initialize, list the tools and end it, as a client does."""
    piped = PipedServer(*command)
    piped.ask("initialize", **HELLO)
    assert piped.ask("tools/list")["result"]["tools"]
    piped.close()


def measure_milliseconds(act: Callable[[], object]) -> float:
    before = time.perf_counter()
    act()
    return 1e3 * (time.perf_counter() - before)


def measure_in_turns(acts: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Run one of each in every round, so that the load of the machine affects all of them alike."""
    measured: dict[str, list[float]] = {what: [] for what in acts}
    for _ in range(rounds):
        for what, act in acts.items():
            measured[what].append(measure_milliseconds(act))
    return measured


def print_comparison(title: str, measured: dict[str, list[float]], floor: str) -> None:
    print(f"{title:52}{'min ms':>9}{'p50 ms':>9}{'x ' + floor:>25}")
    lowest = statistics.median(measured[floor])
    for what, times in measured.items():
        middle = statistics.median(times)
        print(f"  {what:50}{min(times):9.2f}{middle:9.2f}{middle / lowest:25.1f}", flush=True)


def measure_start_up(folder: str, spare: str, rounds: int) -> None:
    def spawned() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)

    acts = {
        "bare interpreter": spawned,
        "commonplace stdio (server runs)": lambda: list_tools_once("stdio", "--data", folder),
        "serve --transport stdio": lambda: list_tools_once("serve", "--transport", "stdio", "--data", spare),
    }
    measure_in_turns(acts, 1)
    print_comparison("spawn, initialize, tools/list, end", measure_in_turns(acts, rounds), "bare interpreter")


def build_locks_call(piped: PipedServer) -> dict[str, object]:
    """The parameters of a call that reads, in a session of its own."""
    named = {"project": "bench", "claude_instance": "bench"}
    began = piped.ask("tools/call", name="memory_start_session", arguments=named)
    session = json.loads(began["result"]["content"][0]["text"])["session_id"]
    return {"name": "memory_get_locks", "arguments": {"session_id": session}}


def measure_calls(folder: str, spare: str, port: int, rounds: int) -> None:
    straight = http.client.HTTPConnection("127.0.0.1", port)
    proxy = PipedServer("stdio", "--data", folder)
    own = PipedServer("serve", "--transport", "stdio", "--data", spare)
    call, owns = build_locks_call(proxy), build_locks_call(own)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()

    def over_http() -> None:
        straight.request("POST", "/mcp", body, {"Content-Type": "application/json"})
        straight.getresponse().read()

    acts = {
        "HTTP, kept connection": over_http,
        "commonplace stdio": lambda: proxy.ask("tools/call", **call),
        "serve --transport stdio": lambda: own.ask("tools/call", **owns),
    }
    measure_in_turns(acts, 20)
    print_comparison("one call of memory_get_locks", measure_in_turns(acts, rounds), "HTTP, kept connection")
    print(f"memory of the proxy: {psutil.Process(proxy.process.pid).memory_info().rss / 1e6:.0f} MB")
    for piped in (proxy, own):
        piped.close()
    straight.close()


@contextlib.contextmanager
def with_bytecode_cache() -> Iterator[None]:
    """Let Python cache bytecode, as it does for an installed package, whatever the environment says."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        os.environ["PYTHONPYCACHEPREFIX"] = folder
        yield


def main() -> None:
    parser = argparse.ArgumentParser("bench.proxy", description=__doc__)
    parser.add_argument("--starts", type=int, default=10, help="how often each program is started")
    parser.add_argument("--calls", type=int, default=500, help="how often each is called")
    given = parser.parse_args()
    port = free_port()
    with (
        with_bytecode_cache(),
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as spare,
        running_server(port, "-m", "commonplace", "serve", "--port", str(port), "--data", folder),
    ):
        measure_start_up(folder, spare, given.starts)
        measure_calls(folder, spare, port, given.calls)


if __name__ == "__main__":
    main()
