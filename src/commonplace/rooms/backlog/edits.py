"""What may become of an item, under the project's own lock."""

from collections.abc import Mapping, Sequence

from commonplace import errors, events
from commonplace.call import Call
from commonplace.rooms.backlog import model, store
from commonplace.rooms.backlog.model import Item
from commonplace.rooms.messages.store import notify_agents
from commonplace.rooms.sessions.store import enter_project
from commonplace.store import ids
from commonplace.store.database import Row


async def visible_projects(call: Call) -> list[str]:
    return [name for name in await store.project_names(call.tx) if call.caller.sees(name)]


async def lock(call: Call, project: str) -> int:
    """Nobody else changes this project's backlog until commit; a number that only grows."""
    return await events.count(call.tx, project, "backlog")


async def locked_item(call: Call, given: str, expected_version: int | None = None) -> Row:
    """The item of this project, else of another that the caller may see, as it is now and stays until commit."""
    home = call.own_session.project
    found = await ids.beginning(call.tx, "backlog", [home], given)
    found = found or await ids.beginning(call.tx, "backlog", await visible_projects(call), given)
    row = None
    if found:
        await lock(call, found[0][0])
        row = await store.one(call.tx, *found[0])
    if row is None:
        raise errors.NotFound(f"There is no backlog item '{given}'.", hint="memory_list_backlog shows them.")
    if expected_version not in (None, row["version"]):
        raise errors.Conflict(
            f"{row['id']} is at version {row['version']} by now.",
            hint="Read it again.",
            current=row["version"],
        )
    call.subject = row["id"]
    return row


async def needed_items(call: Call, project: str, given: Sequence[str]) -> list[str]:
    """Whole ids of the items that another shall wait for."""
    known = await store.existing(call.tx, project, given) if given else set()
    wanted = [each if each in known else await ids.whole(call.tx, "backlog", project, each) for each in given]
    return list(dict.fromkeys(wanted))


def claimed(call: Call, row: Row) -> dict[str, str]:
    """The edit that makes the item mine, if nobody has it."""
    owner = row["assigned_to"] or row["completed_by"]
    if row["closed"] or row["assigned_to"] not in ("", call.agent):
        raise errors.Conflict(
            f"{row['id']} is {row['status']}; {owner} has it.",
            hint="memory_list_backlog(ready=true) shows what is free.",
            owner=owner,
            item_status=row["status"],
        )
    return {"status": "in_progress", "assigned_to": call.agent}


async def edit(call: Call, row: Row, wanted: Mapping[str, str], needs: list[str] | None = None) -> Row:
    """Change the fields that differ, and keep what they were."""
    values = model.merged(row, wanted, call.agent, call.now)
    changes = model.changes(row, values)
    if needs is not None:
        changes |= await _changed_needs(call, row, needs)
    if not changes:
        return row
    changed = await store.change(call.tx, row, values, call.now)
    if changed is None:
        raise errors.Conflict(f"{row['id']} was changed a moment ago.", hint="Read it again.")
    await store.record(call.tx, changed, changes, call.agent, call.now)
    tell(call, row["project"], row["id"])
    return changed


async def _changed_needs(call: Call, row: Row, wanted: list[str]) -> dict[str, tuple[str, str]]:
    current = [need["needs"] for need in await store.needs(call.tx, [row["project"]], [row["id"]])]
    if sorted(current) == sorted(wanted):
        return {}
    others = [edge for edge in await store.edges(call.tx, row["project"], wanted) if edge[0] != row["id"]]
    around = model.cycle([*others, *((row["id"], each) for each in wanted)], row["id"])
    if around:
        raise errors.Conflict(
            f"Nothing could begin: {' needs '.join(around)}.",
            hint="Leave out one of these dependencies.",
            cycle=around,
        )
    await store.set_needs(call.tx, row["project"], row["id"], wanted)
    return {"depends_on": (model.write_list(current), model.write_list(wanted))}


async def unblocked(call: Call, before: Row, after: Row) -> list[str]:
    """If this edit closed the item: the ids that can begin now; whose they are is told."""
    if before["closed"] or not after["closed"]:
        return []
    free = [
        item for item in await store.blocks(call.tx, after["project"], after["id"]) if not item["blocked"]
    ]
    for agent in sorted({item["assigned_to"] or item["created_by"] for item in free} - {call.agent}):
        theirs = [item["id"] for item in free if agent == (item["assigned_to"] or item["created_by"])]
        text = f"{call.agent} closed {after['id']}; unblocked: {', '.join(theirs)}"
        await notify_agents(call.tx, after["project"], [agent], text, call.now)
    return [item["id"] for item in free]


async def move(call: Call, row: Row, target: str) -> Row:
    """Carry the item to another project, unless unfinished work on either side hangs on it."""
    if target == row["project"]:
        return row
    project, item = row["project"], row["id"]
    linked = [need["needs"] for need in await store.needs(call.tx, [project], [item]) if not need["closed"]]
    linked += [each["id"] for each in await store.blocks(call.tx, project, item)]
    if linked and not row["closed"]:
        raise errors.Conflict(
            f"{item} depends on others of '{project}' or they on it.",
            hint="Take the dependencies off first.",
            linked=linked,
        )
    await enter_project(call.tx, target, call.now)
    moved = await store.move(call.tx, row, target, await lock(call, target), call.now)
    await store.record(call.tx, moved, {"project": (project, target)}, call.agent, call.now)
    tell(call, project, item)
    tell(call, target, item)
    return moved


def tell(call: Call, project: str, item: str) -> None:
    call.emit("BacklogChanged", f"backlog://{project}", project=project, id=item)


async def shown(call: Call, row: Row) -> Item:
    return Item.of(row, await store.needs(call.tx, [row["project"]], [row["id"]]), call.now)
