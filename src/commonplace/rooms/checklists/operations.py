"""The acts of memory_checklist."""

from collections.abc import Sequence
from urllib.parse import quote

from commonplace import errors
from commonplace.call import Call
from commonplace.operation import Family, operation
from commonplace.rooms.checklists import model, store
from commonplace.rooms.checklists.model import Checked, Checklist, Deleted, Item, Listing, Summary
from commonplace.store.database import Row

_NAME = "memory_checklist"


@operation(
    _NAME, writes=True, example={"name": "release", "items": ["tests are green", "changelog is written"]}
)
async def create(
    call: Call, name: model.Name, items: model.FirstItems | None = None, project: str | None = None
) -> Checklist:
    """Begin a list."""
    row = await store.create(call.tx, call.project, name, call.agent, call.now)
    if row is None:
        raise errors.Duplicate(
            f"There is a checklist '{name}' in '{call.project}'.", hint="Use action add, or another name."
        )
    return await _extended(call, row, [], items or [], "created")


@operation(_NAME, role="readonly")
async def get(call: Call, name: model.Name, project: str | None = None) -> Checklist:
    """A list with who checked what when."""
    row = await store.one(call.tx, call.project, name)
    if row is None:
        raise _missing(call, name)
    return Checklist.of(row, await store.items(call.tx, call.project, name))


@operation(_NAME, writes=True)
async def add(call: Call, name: model.Name, items: model.Items, project: str | None = None) -> Checklist:
    """Put items at the end of a list."""
    row = await _held(call, name)
    return await _extended(call, row, await store.items(call.tx, call.project, name), items, "added")


@operation(_NAME, writes=True, idempotent=True)
async def check(
    call: Call,
    name: model.Name,
    item_index: model.Index,
    done: bool = True,
    notes: model.Notes | None = None,
    project: str | None = None,
) -> Checked:
    """Tick an item, or untick it with done=false; the first has index 0."""
    await _held(call, name)
    row = await store.check(call.tx, call.project, name, item_index, done, notes, call.agent, call.now)
    items = await store.items(call.tx, call.project, name)
    if row is None:
        raise errors.NotFound(
            f"'{name}' has no item {item_index}.", hint=f"It has {len(items)}; the first is 0."
        )
    _tell(call, name)
    return Checked(
        status="checked" if done else "unchecked",
        name=name,
        project=call.project,
        progress=model.progress(sum(item["done"] for item in items), len(items)),
        item=Item.of(row),
    )


@operation(_NAME, writes=True, destroys=True)
async def delete(call: Call, name: model.Name, project: str | None = None) -> Deleted:
    """Remove a list with its items."""
    removed = await store.delete(call.tx, call.project, name)
    if removed is None:
        raise _missing(call, name)
    _tell(call, name)
    return Deleted(status="deleted", name=name, project=call.project, items_deleted=removed)


@operation(_NAME, role="readonly", example={})
async def list_all(call: Call, project: str | None = None) -> Listing:
    """The lists of a project, last changed first."""
    rows = await store.listed(call.tx, call.project)
    total = rows[0]["lists"] if rows else 0
    return Listing(count=len(rows), total=total, checklists=[Summary.of(row) for row in rows])


checklist = Family(
    _NAME,
    "Shared lists of steps to tick off.",
    {"create": create, "get": get, "add": add, "check": check, "delete": delete, "list": list_all},
)


async def _extended(call: Call, row: Row, present: Sequence[Row], texts: list[str], act: str) -> Checklist:
    if len(present) + len(texts) > model.MOST_ITEMS:
        raise errors.TooMany(f"A checklist has {model.MOST_ITEMS} items at most.", hint="Begin another.")
    await store.add_items(call.tx, call.project, row["name"], len(present), texts, call.agent, call.now)
    _tell(call, row["name"])
    return Checklist.of(row, await store.items(call.tx, call.project, row["name"]), act)


async def _held(call: Call, name: str) -> Row:
    row = await store.touch(call.tx, call.project, name, call.now)
    if row is None:
        raise _missing(call, name)
    return row


def _missing(call: Call, name: str) -> errors.NotFound:
    return errors.NotFound(
        f"There is no checklist '{name}' in '{call.project}'.", hint="Action list names them."
    )


def _tell(call: Call, name: str) -> None:
    call.subject = name
    call.emit("ChecklistChanged", f"checklist://{call.project}/{quote(name, safe='')}", name=name)
