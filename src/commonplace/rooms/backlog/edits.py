"""Changes of a backlog item under the project's backlog lock: edit, assign, move, unblock. Claims: `claims.py`.

The operations call these; what a change computes is in `model.py`, the SQL in `store.py`.
"""

from collections.abc import Iterable, Mapping, Sequence

from commonplace import errors
from commonplace.call import Call
from commonplace.notices import notify_agents
from commonplace.project import ensure_project, list_visible_project_names
from commonplace.rooms.backlog import claims, model, notices, store
from commonplace.rooms.backlog.claims import unblock_items
from commonplace.rooms.backlog.contributes import BACKLOG_CHANGED, build_entry, emit_backlog_changed
from commonplace.rooms.backlog.model import BacklogItem, ItemEffects
from commonplace.rooms.work.waits import end_waits
from commonplace.store import ids
from commonplace.store.counters import advance_counter
from commonplace.store.database import Row
from commonplace.store.nouns import encode_texts

FieldChanges = Mapping[str, tuple[str, str]]
"""The old and the new value of each field that changed."""
_FIELDS_OF_STATUS = frozenset({"status", "assigned_to", "deferred_reason"})


async def lock_backlog(call: Call, project: str) -> int:
    """Lock this project's backlog until commit; return a number that only grows."""
    return await advance_counter(call.tx, project, "backlog")


async def load_locked_item(call: Call, id_prefix: str, expected_version: int | None = None) -> Row:
    """Lock the backlog and load the item, from this project or else another that the caller may see."""
    match = await ids.find_ids_by_prefix(call.tx, "backlog", [claims.home_project(call)], id_prefix)
    match = match or await ids.find_ids_by_prefix(
        call.tx, "backlog", await list_visible_project_names(call.tx, call.caller), id_prefix
    )
    row = None
    if match:
        await lock_backlog(call, match[0][0])
        row = await store.load_item(call.tx, *match[0])
    if row is None:
        raise errors.NotFound(
            f"Backlog item '{id_prefix}' does not exist.",
            hint="Find its id with memory_list_backlog(include_done=true).",
        )
    if expected_version not in (None, row["version"]):
        raise errors.Conflict(
            f"{row['id']} is at version {row['version']} now.",
            hint="Read it with memory_get_by_id, then retry with its version as expected_version.",
            current=row["version"],
        )
    call.subject = row["id"]
    return await claims.release_lapsed_claim(call, row)


async def resolve_dependencies(call: Call, project: str, id_prefixes: Sequence[str]) -> list[str]:
    """Return the whole ids of the items to depend on."""
    whole_ids = await store.filter_existing_ids(call.tx, project, id_prefixes) if id_prefixes else set()
    resolved = [
        id_prefix if id_prefix in whole_ids else await ids.resolve_id(call.tx, "backlog", project, id_prefix)
        for id_prefix in id_prefixes
    ]
    return list(dict.fromkeys(resolved))


async def edit_item(
    call: Call, row: Row, edits: Mapping[str, str], dependencies: list[str] | None = None
) -> tuple[Row, FieldChanges]:
    """Update the fields that differ and record their old values; return the item and the changes."""
    session = claims.session_digest(call)
    values = model.apply_edits(
        row, edits, model.ItemEditor(call.agent, claims.home_project(call), session, call.now)
    )
    if session and values["claim_session"] == session:
        await store.insert_claim(call.tx, claims.home_project(call), session, row["project"], row["id"])
    changes = model.diff_fields(row, values)
    if dependencies is not None:
        changes |= await _update_dependencies(call, row, dependencies)
    if not changes:
        has_moved = values["claim_session"] != row["claim_session"]
        return await store.update_claim(call.tx, row, values) if has_moved else row, {}
    updated = await store.update_item(call.tx, row, values, call.now)
    if updated is None:
        raise errors.Conflict(f"{row['id']} was changed meanwhile.", hint="Retry the same call.")
    await store.insert_changes(call.tx, updated, changes, call.agent, call.now)
    call.reindex_as(build_entry(updated))
    call.emit(BACKLOG_CHANGED, project=updated["project"], id=updated["id"])
    await claims.update_work_of_item(call, row, updated)
    return updated, changes


async def notify_assignees(call: Call, previous: str, row: Row) -> ItemEffects:
    """Notify the agents that an item was assigned to or taken from, unless they did so themselves."""
    assignee, notified = row["assigned_to"], list[str]()
    if previous not in ("", assignee, call.agent):
        text = notices.tell_loss(call.agent, row)
        notified += await notify_agents(call.tx, row["project"], [previous], text, call.now)
    if not assignee or row["closed"] or assignee in (previous, call.agent):
        return ItemEffects(notified=notified)
    blocked_by = await store.list_open_dependencies(call.tx, row["project"], row["id"])
    text = notices.tell_assignment(call.agent, row, blocked_by)
    notified += await notify_agents(call.tx, row["project"], [assignee], text, call.now)
    return ItemEffects(notified=notified, offline=[] if assignee in notified else [assignee])


async def _update_dependencies(call: Call, row: Row, dependencies: list[str]) -> dict[str, tuple[str, str]]:
    current = [need["needs"] for need in await store.list_dependencies(call.tx, row["project"], [row["id"]])]
    if sorted(current) == sorted(dependencies):
        return {}
    others = [
        edge
        for edge in await store.list_dependency_edges(call.tx, row["project"], dependencies)
        if edge[0] != row["id"]
    ]
    cycle = _find_dependency_cycle(
        [*others, *((row["id"], dependency) for dependency in dependencies)], row["id"]
    )
    if cycle:
        raise errors.Conflict(
            f"Circular dependency: {' -> '.join(cycle)}.",
            hint="Remove one of these from depends_on.",
            cycle=cycle,
        )
    await store.replace_dependencies(call.tx, row["project"], row["id"], dependencies)
    return {"depends_on": (encode_texts(current), encode_texts(dependencies))}


async def announce_edit(call: Call, before: Row, after: Row, changes: FieldChanges) -> ItemEffects:
    """Tell the agents whom an edit concerns."""
    effects = await announce_closing(call, before, after) + await _announce_status(call, before, after)
    effects += await notify_assignees(call, before["assigned_to"], after)
    return effects + await _announce_changes(call, before, after, changes)


async def _announce_changes(call: Call, before: Row, after: Row, changes: FieldChanges) -> ItemEffects:
    """Tell the agent of an open item, and who filed it, which fields somebody else changed; who filed it is told of a
    new status and its reason separately."""
    if after["closed"]:
        return ItemEffects()
    assignee, told = after["assigned_to"], list[str]()
    for reader in sorted({assignee, after["created_by"]} - {"", call.agent}):
        untold = _FIELDS_OF_STATUS if reader != assignee else {"assigned_to"}
        own = {name: change for name, change in changes.items() if name not in untold}
        if own and (reader != assignee or before["assigned_to"] == assignee):
            text = notices.tell_changes(call.agent, after, reader, own)
            told += await notify_agents(call.tx, after["project"], [reader], text, call.now)
    return ItemEffects(notified=told)


async def _announce_status(call: Call, before: Row, after: Row) -> ItemEffects:
    """Tell who filed an item that somebody took it, that its work stopped, or that it is to be tested again."""
    if after["status"] == before["status"] or after["status"] not in model.STATUSES_TO_TELL:
        return ItemEffects()
    agents = sorted({after["created_by"]} - {call.agent, after["assigned_to"]})
    text = notices.tell_status(call.agent, after)
    return ItemEffects(notified=await notify_agents(call.tx, after["project"], agents, text, call.now))


async def announce_closing(call: Call, before: Row, after: Row) -> ItemEffects:
    """If this edit closed the item, tell the agents of what it unblocked, who waits for it and who filed it."""
    if before["closed"] or not after["closed"]:
        return ItemEffects()
    dependents = await store.list_dependents(call.tx, after["project"], after["id"])
    released = [item for item in dependents if not item["waits"]]
    unblocked = await unblock_items(call, released)
    closed = notices.describe_closing(call.agent, after)
    needed = await store.list_closed_dependencies(call.tx, after["project"], after["id"])
    others = await store.list_editors(call.tx, after["project"], after["id"])
    news = dict.fromkeys(others, "You changed it before.")
    news |= notices.tell_closing(before, after, released, {item["id"] for item in unblocked}, needed)
    news.pop(call.agent, None)
    notified = await end_waits(call, after["project"], {after["id"]: closed}, news=news)
    for agent in sorted(news.keys() - set(notified)):
        text = f"{closed}. {news[agent]}"
        notified += await notify_agents(call.tx, after["project"], [agent], text, call.now)
    return ItemEffects([item["id"] for item in unblocked], sorted(set(notified)))


async def move_item(call: Call, row: Row, target: str) -> Row:
    """Move the item to another project, unless open dependencies link it to this one."""
    if target == row["project"]:
        return row
    project, item = row["project"], row["id"]
    linked = await store.list_open_dependencies(call.tx, project, item)
    linked += [dependent["id"] for dependent in await store.list_dependents(call.tx, project, item)]
    if linked and not row["closed"]:
        raise errors.Conflict(
            f"{item} has open dependencies in '{project}'.",
            hint="Remove it from depends_on of the linked items, and them from its own, then move it.",
            linked=linked,
        )
    await ensure_project(call.tx, target, call.now)
    moved = await store.move_item_rows(call.tx, row, target, await lock_backlog(call, target), call.now)
    if row["claim_session"]:
        await store.insert_claim(call.tx, row["claim_project"], row["claim_session"], target, item)
    await store.insert_changes(call.tx, moved, {"project": (project, target)}, call.agent, call.now)
    emit_backlog_changed(call, project, item)
    emit_backlog_changed(call, target, item)
    return moved


async def render_item(call: Call, row: Row) -> BacklogItem:
    return BacklogItem.from_row(
        row, await store.list_dependencies(call.tx, row["project"], [row["id"]]), call.now
    )


def _find_dependency_cycle(edges: Iterable[tuple[str, str]], start: str) -> list[str]:
    """Return a path along the edges from `start` back to itself, or an empty list."""
    needs_by_item: dict[str, list[str]] = {}
    for item, needs in edges:
        needs_by_item.setdefault(item, []).append(needs)
    paths, seen = [[start]], set[str]()
    while paths:
        path = paths.pop()
        for needs in needs_by_item.get(path[-1], []):
            if needs == start:
                return [*path, start]
            if needs not in seen:
                seen.add(needs)
                paths.append([*path, needs])
    return []
