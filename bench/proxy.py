"""python -m bench.proxy: what the stdio proxy costs, at the start and per call, beside what it could be compared to."""

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

from bench.__main__ import free_port, started

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Piped:
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


def listed(*command: str) -> None:
    """From nothing to the tools, as a client does it."""
    piped = Piped(*command)
    piped.ask("initialize", **HELLO)
    assert piped.ask("tools/list")["result"]["tools"]
    piped.close()


def milliseconds(act: Callable[[], object]) -> float:
    before = time.perf_counter()
    act()
    return 1e3 * (time.perf_counter() - before)


def in_turns(acts: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """One of each in every round, so that whatever else the machine does meets all of them alike."""
    measured: dict[str, list[float]] = {what: [] for what in acts}
    for _ in range(rounds):
        for what, act in acts.items():
            measured[what].append(milliseconds(act))
    return measured


def show(title: str, measured: dict[str, list[float]], floor: str) -> None:
    print(f"{title:52}{'min ms':>9}{'p50 ms':>9}{'x ' + floor:>25}")
    lowest = statistics.median(measured[floor])
    for what, times in measured.items():
        middle = statistics.median(times)
        print(f"  {what:50}{min(times):9.2f}{middle:9.2f}{middle / lowest:25.1f}", flush=True)


def start_up(folder: str, spare: str, rounds: int) -> None:
    def spawned() -> None:
        subprocess.run([sys.executable, "-c", "pass"], check=True)

    acts = {
        "bare interpreter": spawned,
        "commonplace stdio (server runs)": lambda: listed("stdio", "--data", folder),
        "serve --transport stdio": lambda: listed("serve", "--transport", "stdio", "--data", spare),
    }
    in_turns(acts, 1)
    show("spawn, initialize, tools/list, end", in_turns(acts, rounds), "bare interpreter")


def locks_call(piped: Piped) -> dict[str, object]:
    """The parameters of a call that reads, in a session of its own."""
    named = {"project": "bench", "claude_instance": "bench"}
    began = piped.ask("tools/call", name="memory_start_session", arguments=named)
    session = json.loads(began["result"]["content"][0]["text"])["session_id"]
    return {"name": "memory_get_locks", "arguments": {"session_id": session}}


def per_call(folder: str, spare: str, port: int, rounds: int) -> None:
    straight = http.client.HTTPConnection("127.0.0.1", port)
    proxy = Piped("stdio", "--data", folder)
    own = Piped("serve", "--transport", "stdio", "--data", spare)
    call, owns = locks_call(proxy), locks_call(own)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}).encode()

    def over_http() -> None:
        straight.request("POST", "/mcp", body, {"Content-Type": "application/json"})
        straight.getresponse().read()

    acts = {
        "HTTP, kept connection": over_http,
        "commonplace stdio": lambda: proxy.ask("tools/call", **call),
        "serve --transport stdio": lambda: own.ask("tools/call", **owns),
    }
    in_turns(acts, 20)
    show("one call of memory_get_locks", in_turns(acts, rounds), "HTTP, kept connection")
    print(f"memory of the proxy: {psutil.Process(proxy.process.pid).memory_info().rss / 1e6:.0f} MB")
    for piped in (proxy, own):
        piped.close()
    straight.close()


@contextlib.contextmanager
def compiled() -> Iterator[None]:
    """With the byte code of all modules at hand, as an installed package has it, whatever the environment says."""
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
        compiled(),
        tempfile.TemporaryDirectory() as folder,
        tempfile.TemporaryDirectory() as spare,
        started(port, "-m", "commonplace", "serve", "--port", str(port), "--data", folder),
    ):
        start_up(folder, spare, given.starts)
        per_call(folder, spare, port, given.calls)


if __name__ == "__main__":
    main()
