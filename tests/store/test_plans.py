"""SQLite finds rows by an index from the first day."""

import re
from pathlib import Path

import pytest

from commonplace.search.index import entries_after_statement
from commonplace.store.database import Tx
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
    store = Sqlite(tmp_path, clock)
    await migrate(store)

    async def plan(tx: Tx) -> str:
        values = ["shop", ["a"] if "any" in QUERIES[what] else 1, "document", 10]
        count = max(int(position) for position in re.findall(r"\$(\d)", QUERIES[what]))
        rows = await tx.all("explain query plan " + QUERIES[what], *values[:count])
        return " ".join(row["detail"] for row in rows)

    try:
        found = await store.read(plan)
    finally:
        await store.close()
    assert "SCAN" not in found.replace("SCAN json_each", "")
    assert "AND" in found
    assert "kind" not in found
