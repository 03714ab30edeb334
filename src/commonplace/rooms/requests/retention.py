"""Retention of requests: who answered what stays in the audit log. Answers to questions of agents are knowledge and stay."""

from collections.abc import Sequence

from commonplace.clock import DAY
from commonplace.retention import Sweep, delete_from_table
from commonplace.rooms.requests.search import REQUEST_KIND
from commonplace.search.index import remove_entries
from commonplace.store.database import Row, Tx


async def _remove_entries(tx: Tx, batch: Sweep, rows: Sequence[Row]) -> None:
    await remove_entries(tx, batch.project, REQUEST_KIND, [row["id"] for row in rows])


OLD_REQUESTS = delete_from_table(
    "person_request",
    kind="requests",
    old="changed_at < $2 and not (source = 'agent' and state = 'answered')",
    age=30 * DAY,
    after=_remove_entries,
)
