"""SQL of memory_list_backlog: one page of items with filters, and how many closed ones it leaves out."""

from collections.abc import Iterator, Sequence

import msgspec

from commonplace.rooms.backlog.model import BacklogFilters
from commonplace.rooms.backlog.store import CLAIM_LAPSED, IS_BLOCKED, ITEM_COLUMNS
from commonplace.store.database import Row, Tx, Value

_MAX_CLOSED_COUNTED = 1000
_IS_OPEN = f"(status = 'open' or {CLAIM_LAPSED})"
_IS_UNASSIGNED = f"(assigned_to = '' or claim_assigned = 1 and {CLAIM_LAPSED})"
_IS_ASSIGNED = f"(assigned_to = {{}} and not (claim_assigned = 1 and {CLAIM_LAPSED}))"


async def find_items(tx: Tx, filters: BacklogFilters, limit: int, offset: int) -> tuple[Sequence[Row], int]:
    """Return one page of items, by priority, then oldest; and the total."""
    where, values = _filter_conditions(filters)
    rows = await tx.all(
        f"select {ITEM_COLUMNS} from backlog where project = any($1){where} order by rank, created_at, n, id"
        f" limit ${len(values) + 1} offset ${len(values) + 2}",
        *values,
        limit,
        offset,
    )
    if not offset and len(rows) < limit:
        return rows, len(rows)
    count_row = await tx.one(f"select count(*) as n from backlog where project = any($1){where}", *values)
    return rows, int(count_row["n"]) if count_row else 0


async def count_closed_items(tx: Tx, filters: BacklogFilters) -> dict[str, int]:
    """Count the closed items of the projects and assignee, by status; of a long history only some."""
    rows = await tx.all(
        "select status, count(*) as n from (select status from backlog where project = any($1) and closed = 1"
        " and (cast($2 as text) is null or assigned_to = $2) limit $3) as counted group by status",
        filters.projects,
        filters.assigned_to,
        _MAX_CLOSED_COUNTED,
    )
    return {row["status"]: int(row["n"]) for row in rows}


def _filter_conditions(filters: BacklogFilters) -> tuple[str, list[Value]]:
    conditions, values = list[str](), list[Value]([filters.projects])
    for condition, argument in _list_conditions(filters):
        if argument is not None:
            values.append(argument)
        placeholder = f"${len(values)}"
        if "{now}" in condition:
            values.append(filters.now)
        conditions.append(condition.format(placeholder, now=f"${len(values)}"))
    return "".join(f" and {condition}" for condition in conditions), values


def _list_conditions(filters: BacklogFilters) -> Iterator[tuple[str, str | None]]:
    """Yield each condition with the value for its `{}`; what looks at a claim also has `{now}`."""
    for column in ("priority", "milestone"):
        if (value := getattr(filters, column)) is not None:
            yield f"{column} = {{}}", value
    if filters.status == "open":
        yield _IS_OPEN, None
    elif filters.status is not None:
        yield f"status = {{}} and not {CLAIM_LAPSED}", filters.status
    elif not filters.include_done:
        yield "closed = 0", None
    if filters.assigned_to is not None:
        yield (_IS_ASSIGNED, filters.assigned_to) if filters.assigned_to else (_IS_UNASSIGNED, None)
    if filters.tag is not None:
        yield "replace(tags, {}, '') <> tags", msgspec.json.encode(filters.tag).decode()
    if filters.ready_for is not None:
        yield f"{_IS_OPEN} and ({_IS_UNASSIGNED} or {_IS_ASSIGNED}) and not {IS_BLOCKED}", filters.ready_for
