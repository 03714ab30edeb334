"""What the backlog contributes to other parts of the server: events, boot sections, a resource, what search and
memory_get_by_id show of an item, and retention.

Done items stand behind what holds now in search: a bug that was fixed is what one looks for. What was not done is found
only with `include_inactive`. Items themselves are never deleted.
"""

from collections.abc import Collection, Sequence
from typing import Any

from commonplace.boot import BootSection, PartialSection, StartingSession
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.events import EventType
from commonplace.operation import operation
from commonplace.resource import Resource
from commonplace.retention import delete_from_table
from commonplace.rooms.backlog import model, store
from commonplace.rooms.backlog.model import BACKLOG, BacklogFilters, BacklogItem, BacklogListing
from commonplace.search.index import IndexEntry
from commonplace.search.refresh import entry_from_item
from commonplace.search.source import SearchItem, SearchSource
from commonplace.shortening import shorten_middle, shorten_text
from commonplace.store import ids
from commonplace.store.database import Row, Tx
from commonplace.store.nouns import list_facts

BACKLOG_KIND = "backlog"
_MAX_RESOURCE_ITEMS = 50
_MAX_BOOT_ITEMS = 5
_MAX_FILED_ITEMS = 3
_MAX_ITEMS_COUNTED = 100
_MAX_CLAIMED_CHARACTERS = 600
_MAX_CHANGE_CHARACTERS = 120
_NEVER_AT_BOOT = frozenset(["project", "version", "created", "updated", "description", "tags", "depends_on"])
_NOT_IN_BACKLOG = _NEVER_AT_BOOT | {"age"}
_NOT_IN_FILED = _NEVER_AT_BOOT | {
    "created_by",
    "claimed_until",
    "blocked_by",
    "milestone",
    "deferred_reason",
    "was_claimed_until",
}
_USUAL = {"priority": model.DEFAULT_PRIORITY, "status": "open"}
"""What an entry does not say."""


@operation("resource:backlog", role="readonly", session=False)
async def read_backlog(call: Call, project: str) -> BacklogListing:
    """List the open items of the project, by priority, then oldest."""
    rows, total = await store.find_items(
        call.tx, [project], BacklogFilters(now=call.now), _MAX_RESOURCE_ITEMS, 0
    )
    items = await list_entries(call, rows)
    return BacklogListing(count=len(rows), total=total, items=items)


BACKLOG_RESOURCE = Resource("backlog://{project}", "Open work of a project", read_backlog)
BACKLOG_CHANGED = EventType("BacklogChanged", BACKLOG_RESOURCE)


async def list_entries(call: Call, rows: Sequence[Row]) -> list[BacklogItem]:
    """These items as a list shows them."""
    ids_by_project: dict[str, list[str]] = {}
    for row in rows:
        ids_by_project.setdefault(row["project"], []).append(row["id"])
    needs = [
        need
        for project, items in ids_by_project.items()
        for need in await store.list_dependencies(call.tx, project, items)
    ]
    return [BacklogItem.from_row(row, needs, call.now).as_entry for row in rows]


def emit_backlog_changed(call: Call, project: str, item: str) -> None:
    """Announce a change; the search index follows it."""
    call.reindex(BACKLOG_KIND, item, project=project)
    call.emit(BACKLOG_CHANGED, project=project, id=item)


async def list_boot_items(call: Call, start: StartingSession) -> PartialSection:
    """Open items that are assigned to the agent, or that it had claimed, then those that are ready to be claimed."""
    rows = await store.list_own_and_ready_items(
        call.tx, start.project, start.agent, _MAX_ITEMS_COUNTED, call.now
    )
    shown = rows[: start.scale_limit(_MAX_BOOT_ITEMS)]
    needs = await store.list_dependencies(call.tx, start.project, [row["id"] for row in shown])
    return PartialSection(
        [_describe_at_boot(call, row, needs, _NOT_IN_BACKLOG) for row in shown], len(rows) - len(shown)
    )


async def list_filed_items(call: Call, start: StartingSession) -> PartialSection:
    """The items that the agent waits for: it filed them, and somebody else has them or nobody can begin."""
    if start.previous_start is None:
        return PartialSection([], 0)
    rows = await store.list_filed_items(call.tx, start.project, start.agent, _MAX_ITEMS_COUNTED, call.now)
    shown = rows[: start.scale_limit(_MAX_FILED_ITEMS)]
    return PartialSection(
        [_describe_at_boot(call, row, [], _NOT_IN_FILED) for row in shown], len(rows) - len(shown)
    )


def _describe_at_boot(
    call: Call, row: Row, needs: Sequence[Row], left_out: Collection[str]
) -> dict[str, Any]:
    """Who goes on with an item needs its text, with the notes that others added at its end."""
    item = BacklogItem.from_row(row, needs, call.now)
    entry = {
        name: value
        for name, value in list_facts(item).items()
        if name not in left_out and value != _USUAL.get(name)
    }
    if item.status == "in_progress" and item.assigned_to == call.agent and item.description:
        entry["description"] = shorten_middle(item.description, _MAX_CLAIMED_CHARACTERS)
    return entry


async def find_backlog_item(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    """A backlog item as memory_get_by_id shows it, with the history of its changes."""
    match = await ids.find_ids_by_prefix(call.tx, "backlog", [project], id_prefix)
    row = await store.load_item(call.tx, *match[0]) if match else None
    if row is None:
        return None
    needs = await store.list_dependencies(call.tx, project, [row["id"]])
    facts = list_facts(BacklogItem.from_row(row, needs, call.now))
    dependents = await store.list_dependents(call.tx, project, row["id"])
    links = {
        "depends_on": facts.pop("depends_on", []),
        "blocked_by": facts.pop("blocked_by", []),
        "blocks": [dependent["id"] for dependent in dependents],
    }
    del facts["age"]
    return {
        **{name: facts.pop(name) for name in ("id", "title", "status", "project", "created", "updated")},
        "type": "backlog_item",
        "tags": facts.pop("tags", []),
        "author": facts.pop("created_by", ""),
        "content": facts.pop("description", ""),
        "versions": _group_changes_by_version(await store.list_changes(call.tx, project, row["id"])),
        "links": links,
        "facts": facts,
    }


def _group_changes_by_version(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Group changes by the version that they created, newest first."""
    versions: dict[int, dict[str, Any]] = {}
    for row in rows:
        entry = {"version": row["version"], "at": iso(row["at"]), "by": row["agent"], "changes": {}}
        version = versions.setdefault(row["version"], entry)
        version["changes"][row["field"]] = _shorten_change(row["before"], row["after"])
    return sorted(versions.values(), key=lambda entry: -int(entry["version"]))


def _shorten_change(before: str, after: str) -> dict[str, str]:
    """Both values; of long texts the beginning, or only what was added at the end."""
    if before and len(after) > _MAX_CHANGE_CHARACTERS and after.startswith(before):
        return {"added": shorten_text(after[len(before) :].strip(), _MAX_CHANGE_CHARACTERS)}
    return {
        "from": shorten_text(before, _MAX_CHANGE_CHARACTERS),
        "to": shorten_text(after, _MAX_CHANGE_CHARACTERS),
    }


async def load_searched_items(tx: Tx, project: str, item_ids: Sequence[str]) -> list[SearchItem]:
    rows, needs = await store.load_items_with_needs(tx, project, item_ids)
    return [_build_search_item(row, needs) for row in rows]


def _build_search_item(row: Row, needs: Sequence[Row]) -> SearchItem:
    blocked_by = [need["needs"] for need in needs if need["item"] == row["id"] and not need["closed"]]
    shown = BACKLOG.describe(row)
    return SearchItem(
        id=row["id"],
        title=row["title"],
        text="\n".join(part for part in (row["description"], row["resolution"]) if part),
        type="backlog_item",
        status=row["status"],
        is_active=not row["closed"] or row["status"] == "done",
        author=row["created_by"],
        tags=tuple(shown.get("tags", ())),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
        details={"blocked_by": blocked_by} if blocked_by else {},
        row=row,
    )


def build_entry(row: Row) -> IndexEntry:
    """The index entry of an item."""
    return entry_from_item(BACKLOG_KIND, row["project"], _build_search_item(row, ()))


def describe_item(row: Row, now: int) -> dict[str, Any]:
    """The fields of a search result; a claim that lapsed in silence is shown as lapsed."""
    item = model.with_lapsed_claim(row, now)
    return {
        "status": item["status"],
        "priority": "" if item["priority"] == model.DEFAULT_PRIORITY else item["priority"],
        "assigned_to": item["assigned_to"],
        "claimed_until": iso(item["claimed_until"]) if item["claimed_until"] else "",
    }


BACKLOG_SECTION = BootSection("backlog", 40, list_boot_items)
FILED_SECTION = BootSection("filed_by_you", 44, list_filed_items)
FINDERS = {"backlog_": find_backlog_item}
SEARCH_SOURCE = SearchSource(
    kind=BACKLOG_KIND,
    load=load_searched_items,
    table="backlog",
    names=("task", "ticket", "todo", "backlog_item"),
    describe=describe_item,
)
ORPHANED_CLAIMS = delete_from_table(
    "backlog_claim",
    kind="backlog_claims",
    key=("session", "item_project", "item"),
    old="cast($2 as bigint) > 0 and not exists (select 1 from session"
    " where session.project = backlog_claim.project and session.id = backlog_claim.session)",
)
