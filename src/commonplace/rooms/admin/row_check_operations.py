"""Compare stored rows with the hashes that were written with them: for `commonplace doctor`."""

from collections.abc import Mapping
from time import monotonic
from typing import Annotated, Any

from pydantic import Field

from commonplace import row_checks
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.operation import Reply, operation

_MAX_CHECK_SECONDS = 2.0
"""A call is answered within this time; the caller goes on with `next`."""


class CheckedRows(Reply):
    checked: int
    damaged: list[str]
    """Rows that are not those that were written."""
    unhashed: int = 0
    """Rows that have no hash yet; background batches hash them."""
    next: str = ""
    """Pass it as `after` to go on; empty after the last row."""


async def _check_pages(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> CheckedRows:
    """Each page in a read of its own, so that the log of SQLite can be reset between them."""
    started, total = monotonic(), CheckedRows(checked=0, damaged=[], next=arguments["after"])
    while True:
        page = await calls.database.read(
            lambda tx: row_checks.check_rows(tx, caller, calls.catalogue.hashed_tables, total.next)
        )
        total.checked += page.checked
        total.unhashed += page.unhashed
        total.damaged = [*total.damaged, *page.damaged]
        total.next = page.next
        if not page.next or monotonic() - started > _MAX_CHECK_SECONDS:
            return total


@operation("memory_check_rows", role="admin", session=False, prepare=_check_pages, example={})
async def check_rows(
    call: Call,
    after: Annotated[
        str,
        Field(
            max_length=2000,
            description="Return what has a higher sequence number than this; pass `next_after` to poll.",
        ),
    ] = "",
) -> CheckedRows:
    """Compare documents and archives with the hashes that were written with them, for some seconds."""
    del after
    checked: CheckedRows = call.prepared
    return checked
