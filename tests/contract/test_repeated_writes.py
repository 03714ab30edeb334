"""Every write that the pages of the rooms show is sent twice with one key: it is carried out once, and answered the same."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace import errors
from commonplace.access import LOCAL, OPERATOR
from commonplace.call import Calls
from commonplace.store.database import Database
from commonplace.store.schema import project_tables
from commonplace.window import conversation_window
from documented_calls import CallRunner, list_examples

PAGES = Path(__file__).parents[2] / "docs/examples"
SCRIPTS = {page.stem: page.read_text() for page in PAGES.glob("*.txt")}


async def count_rows(database: Database) -> dict[str, int]:
    """The number of rows of each table; the audit log may also tell of the second attempt."""
    tables = set(await database.read(project_tables)) - {"audit"}
    counts = " union all ".join(f"select '{table}' as name, count(*) as n from {table}" for table in tables)
    return {row["name"]: row["n"] for row in await database.read(lambda tx: tx.all(counts))}


class RepeatingCaller:
    """Sends each call that writes twice, from a window of its own for each agent."""

    def __init__(self, calls: Calls) -> None:
        self._calls, self._keys, self.repeated = calls, 0, 0

    async def run_call(self, agent: str, tool: str, arguments: dict[str, Any]) -> str:
        window = conversation_window("docs", agent)
        caller = OPERATOR if agent == OPERATOR.agent else replace(LOCAL, windows=(window,))
        self._keys += 1
        caller = replace(caller, idempotency_key=f"call {self._keys}")
        try:
            first = (await self._calls.run(tool, arguments, caller)).to_text()
        except errors.Refusal as refusal:
            return json.dumps(refusal.to_dict())
        operation, _ = self._calls.find_operation(tool, arguments)
        if operation.writes:
            rows = await count_rows(self._calls.database)
            again = (await self._calls.run(tool, arguments, caller)).to_text()
            assert (tool, again) == (tool, first)
            added = (await count_rows(self._calls.database)).items() - rows.items()
            assert (tool, dict(added)) == (tool, {})
            self.repeated += 1
        return first.decode()


@pytest.mark.parametrize("room", sorted(SCRIPTS))
async def test_every_documented_write_that_is_sent_twice_is_carried_out_once(room: str, team):
    caller = RepeatingCaller(team.calls)
    await list_examples(CallRunner(caller.run_call, team.clock.advance), SCRIPTS[room])
    assert caller.repeated > 0
