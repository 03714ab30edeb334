"""SQLite finds rows by an index from the first day."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from commonplace.rooms.knowledge import listing
from commonplace.rooms.live_state import standup_store, store
from commonplace.search.index import entries_after_statement
from commonplace.store.database import Row, Tx
from commonplace.store.migrate import migrate
from commonplace.store.sqlite import Sqlite
from team import HandClock

QUERIES = {
    "a list of prefixes": "select path from lease where project = $1 and prefix = any($2)",
    "a list of names": "select name from agent where project = $1 and name = any($2)",
    "a session": "select agent from session where project = $1 and id = $2",
    "live sessions": "select id from session where project = $1 and ended_at is null and active_at > $2",
    "events after one": "select n from event where project = $1 and n > $2 order by n limit 10",
    "documents after an entry": entries_after_statement("shop", "document", 1, 10)[0],
}


@pytest.mark.parametrize("what", QUERIES)
async def test_look_up_uses_more_of_an_index_than_the_project(tmp_path: Path, clock: HandClock, what: str):
    database = Sqlite(tmp_path, clock)
    await migrate(database)

    async def plan(tx: Tx) -> str:
        values = ["shop", ["a"] if "any" in QUERIES[what] else 1, "document", 10]
        count = max(int(position) for position in re.findall(r"\$(\d)", QUERIES[what]))
        rows = await tx.all("explain query plan " + QUERIES[what], *values[:count])
        return " ".join(row["detail"] for row in rows)

    try:
        found = await database.read(plan)
    finally:
        await database.close()
    assert "SCAN" not in found.replace("SCAN json_each", "")
    assert "AND" in found
    assert "kind" not in found


@dataclass
class ExplainingTx:
    """Explains what it is asked instead of reading it."""

    tx: Tx
    plans: list[str] = field(default_factory=list)

    async def all(self, statement: str, *values: Any) -> list[Row]:
        rows = await self.tx.all("explain query plan " + statement, *values)
        self.plans += [row["detail"] for row in rows]
        return []

    async def one(self, statement: str, *values: Any) -> None:
        await self.all(statement, *values)


FIRST_DATA = {
    "message_for_people": lambda tx: store.list_mail_for_people(tx, ["shop"], 3),
    "document_doubtful": lambda tx: store.list_doubtful_documents(tx, ["shop"]),
    "backlog_status": lambda tx: store.list_questions_of_items(tx, ["shop"]),
    "audit_prevented": lambda tx: store.list_prevented(tx, ["shop"], 1),
    "delivery_inbox (project=? AND agent=? AND state<?)": lambda tx: store.list_mail_for_agent(
        tx, ["shop"], "eve", 3
    ),
    "document_recent (project=? AND created_at>?)": lambda tx: standup_store.list_documents(tx, ["shop"], 1),
    "backlog_completed (project=? AND completed_at>?)": lambda tx: standup_store.list_completed_items(
        tx, ["shop"], 1
    ),
    "backlog_status (project=? AND status=?)": lambda tx: store.count_open_items(tx, ["shop"]),
    "document_flagged": lambda tx: listing.find_documents(
        tx, "shop", (1, ""), (None,) * 4, 10, needs_look=True
    ),
    "citation_changed": lambda tx: listing.find_documents(
        tx, "shop", (1, ""), (None,) * 4, 10, needs_look=True
    ),
}


@pytest.mark.parametrize("index", FIRST_DATA)
async def test_first_data_of_the_page_come_from_an_index_of_few_rows(
    tmp_path: Path, clock: HandClock, index: str
):
    database = Sqlite(tmp_path, clock)
    await migrate(database)

    async def explain(tx: Tx) -> list[str]:
        explaining = ExplainingTx(tx)
        await FIRST_DATA[index](explaining)
        return explaining.plans

    try:
        plans = await database.read(explain)
    finally:
        await database.close()
    assert any(f"INDEX {index}" in plan for plan in plans), plans


async def test_documents_to_look_at_are_read_by_id_and_not_searched_for(tmp_path: Path, clock: HandClock):
    database = Sqlite(tmp_path, clock)
    await migrate(database)

    async def explain(tx: Tx) -> list[str]:
        explaining = ExplainingTx(tx)
        await listing.find_documents(explaining, "shop", (1, ""), (None,) * 4, 10, needs_look=True)
        return explaining.plans

    try:
        plans = await database.read(explain)
    finally:
        await database.close()
    assert "SEARCH document USING PRIMARY KEY (project=? AND id=?)" in plans


async def test_the_process_that_creates_a_database_finds_postings_by_their_number(
    tmp_path: Path, clock: HandClock
):
    """FTS5 deletes those of merged segments with this statement, on the connection of the writer."""
    database = Sqlite(tmp_path, clock)
    await migrate(database)
    statement = "explain query plan delete from words_data where id >= $1 and id <= $2"
    try:
        rows = await database.write(lambda tx: tx.all(statement, 1, 2))
    finally:
        await database.close()
    assert [row["detail"].split()[0] for row in rows] == ["SEARCH"]
