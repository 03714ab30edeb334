"""A store with rows in every table: what the pages of all rooms do, a transcript of three frames, and vectors."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sync_client import SyncClient, random_lines, register_sync_client
from transcript_script import script_with_fixed_error, upload_script

from commonplace.backup.contents import INDEX_TABLES, TableDigest
from commonplace.backup.dump import digest_tables
from commonplace.call import Calls
from commonplace.catalogue import CATALOGUE
from commonplace.cli.backup import open_snapshot
from commonplace.config import Settings
from commonplace.search.embedder import store_vectors
from commonplace.store.database import Database, Tx
from commonplace.transcripts.archive.frames import FRAME_BYTES
from documented_calls import CallRunner, RunCall, list_examples, run_in_process
from team import Agent, HandClock, Team

PAGES = Path(__file__).parents[2] / "docs/examples"
# That of projects deletes its project, so it is first; that of databases needs databases of an operator.
EXAMPLES = [
    PAGES / "projects.txt",
    *sorted({*PAGES.glob("*.txt")} - {PAGES / "projects.txt", PAGES / "databases.txt"}),
]
TRANSCRIPT = random_lines(2 * FRAME_BYTES + 77_000)
# A value of each type, for tables that no example fills.
SAMPLE_VALUES = {"int": 7, "text": "Zürich \n 東京", "blob": b"\x00\xff", "real": 0.25}
# Columns with a check constraint, and columns whose value a backup follows: empty means in the store itself.
SPECIAL_VALUES = {
    ("browser_session", "kind"): "link",
    ("person_request", "source"): "agent",
    ("person_request", "kind"): "plan",
    ("person_request", "state"): "open",
    ("webhook", "kind"): "json",
    ("archive_frame", "address"): "",
}


@dataclass
class FullStore:
    settings: Settings
    team: Team
    sync: SyncClient

    @property
    def database(self) -> Database:
        return self.team.database


def settings_of(address: Path | str, folder: Path, archives: str = "store") -> Settings:
    if isinstance(address, Path):
        return Settings(data=address, archives=archives)
    folder.mkdir(parents=True, exist_ok=True)
    return Settings(data=folder, store=address, archives=archives)


async def fill_every_room(database: Database, clock: HandClock, settings: Settings) -> FullStore:
    calls = Calls(database, CATALOGUE, settings, clock)
    await calls.bus.open()
    team = Team(calls, clock)
    for page in EXAMPLES:
        runner = CallRunner(run_in_windows_of(page.stem, calls), clock.advance)
        await list_examples(runner, page.read_text())
    sync = await register_sync_client(team)
    await sync.upload("whole", TRANSCRIPT)
    ann = await team.agent("ann")
    await ann.lock_files(files=["src/cart.py"], reason="tax")
    await ann.record_learning(
        topic="PgBouncer closes connections",
        content="Set pool_recycle=300, else the first query after a pause fails.",
    )
    await _add_what_the_examples_delete(ann)
    await upload_script(sync, "fixed", script_with_fixed_error())
    await database.write(_embed_some_entries)
    await calls.bus.close()
    return FullStore(settings, team, sync)


async def _add_what_the_examples_delete(ann: Agent) -> None:
    await ann.guidelines(action="set", scope="shop", name="rounding", rule="Round half to even.", priority=10)
    await ann.checklist(action="create", name="release", items=["Changelog", "Tag"])
    webhook = await ann.add_webhook(kind="slack", url="https://hooks.example.org/x")
    await ann.call("memory_test_webhook", id=webhook["id"])
    await ann.set_memory(key="plan", value={"step": 2, "word": "Zürich 東京"})
    await ann.update_work(
        title="Cart", status="completed", files_touched=["src/cart.py"], signals=["cart-done"]
    )
    first = await ann.add_backlog_item(title="Prices with tax")
    await ann.add_backlog_item(title="Invoices", depends_on=[first["id"]])
    stored = await ann.store(
        memory_type="adr", title="Old prices", content="In a table.", tags=["old-prices"]
    )
    await ann.query(query="old prices in a table")
    await ann.get_by_id(doc_id=stored["id"])
    await ann.archive_by_tag(tag="old-prices", reason="The shop moved")


def run_in_windows_of(page: str, calls: Calls) -> RunCall:
    """Pages have agents of the same names; each page gets windows of its own."""
    run_call = run_in_process(calls)

    async def run(agent: str, tool: str, arguments: dict[str, Any]) -> str:
        return await run_call(agent if agent == "operator" else f"{agent}-{page}", tool, arguments)

    return run


async def _embed_some_entries(tx: Tx) -> None:
    rows = await tx.all(
        "select project, n from embedding_queue where project = $1 order by n limit 3", "shop"
    )
    numbers = [row["n"] for row in rows]
    vectors = [(n, 0, np.linspace(-0.1, 0.1 + n / 1000, 384, dtype=np.float32)) for n in numbers]
    await store_vectors(tx, "shop", numbers, {"test-model": vectors})


async def fill_empty_tables(database: Database, settings: Settings) -> None:
    """One row in each table that has none, so that every table is compared; the search index is left to each store."""
    snapshot = await open_snapshot(settings)
    try:
        tables = [table for table in await snapshot.tables() if table.name not in INDEX_TABLES]
        empty = [table for table in tables if not await snapshot.count(table.name)]
    finally:
        await snapshot.close()
    for table in empty:
        names = ", ".join(f'"{column.name}"' for column in table.columns)
        places = ", ".join(f"${n}" for n in range(1, len(table.columns) + 1))
        row = tuple(
            SPECIAL_VALUES.get((table.name, column.name), SAMPLE_VALUES[column.type])
            for column in table.columns
        )
        sql = f'insert into "{table.name}" ({names}) values ({places})'
        await database.write(lambda tx, sql=sql, row=row: tx.run(sql, *row))


async def digest_store(settings: Settings) -> dict[str, TableDigest]:
    """The rows of every table, for comparison."""
    snapshot = await open_snapshot(settings)
    try:
        return await digest_tables(snapshot)
    finally:
        await snapshot.close()
