"""Read and set guidelines."""

from commonplace import access, errors
from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.operation import Family, operation
from commonplace.rooms.guidelines import model, store
from commonplace.store.database import Row


@operation("memory_guidelines", role="readonly", session="optional", example={})
async def list_guidelines(call: Call, scope: model.Scope | None = None) -> model.Guidelines:
    """The global guidelines and those of the project, by priority."""
    rows = await store.listed(call.tx, _read_in(call, scope))
    return model.Guidelines(count=len(rows), guidelines=[model.Guideline.of(row) for row in rows])


@operation("memory_guidelines", role="readonly", session="optional", example={"name": "tests"})
async def get_guideline(
    call: Call, name: model.RuleName, scope: model.Scope | None = None
) -> model.Guideline:
    """One guideline; the project's own before the global one."""
    for project in reversed(_read_in(call, scope)):
        row = await store.find(call.tx, project, name)
        if row is not None:
            return model.Guideline.of(row)
    raise _missing(name)


@operation(
    "memory_guidelines",
    role="admin",
    writes=True,
    session="optional",
    idempotent=True,
    example={"name": "tests", "rule": "Run the tests before you end.", "scope": "shop"},
)
async def set_guideline(
    call: Call,
    name: model.RuleName,
    rule: model.Rule,
    scope: model.Scope = model.GLOBAL,
    priority: model.Priority = 50,
) -> model.Guideline:
    """Add or replace a guideline; low priorities come first."""
    project = _write_in(call, scope)
    before = await store.find(call.tx, project, name)
    if before is None:
        await _require_room(call, project)
    row = await store.put(call.tx, project, name, rule, priority, call.agent, call.now)
    _say(call, project, name, "set")
    return model.Guideline.of(_there(row), "updated" if before else "created")


@operation(
    "memory_guidelines",
    role="admin",
    writes=True,
    session="optional",
    destroys=True,
    example={"name": "tests", "scope": "shop"},
)
async def delete_guideline(
    call: Call, name: model.RuleName, scope: model.Scope = model.GLOBAL
) -> model.Deleted:
    """Remove a guideline."""
    project = _write_in(call, scope)
    if not await store.remove(call.tx, project, name):
        raise _missing(name)
    _say(call, project, name, "delete")
    return model.Deleted(status="deleted", name=name, scope=model.scope_of(project))


guidelines = Family(
    "memory_guidelines",
    "Rules that agents read at session start; scope is 'global' or a project.",
    {"list": list_guidelines, "set": set_guideline, "delete": delete_guideline, "get": get_guideline},
)


async def _at_start(call: Call, start: StartingSession) -> list[model.Reminder]:
    rows = await store.listed(call.tx, [access.EVERY, start.project])
    return [model.Reminder(name=row["name"], rule=row["rule"]) for row in rows]


BOOT_SECTIONS = (BootSection("guidelines", 0, _at_start),)


def _read_in(call: Call, scope: str | None) -> list[str]:
    """Where to look: what is global holds in every project too."""
    if scope == model.GLOBAL:
        return [access.EVERY]
    return [access.EVERY, call.scope(scope)]


def _write_in(call: Call, scope: str) -> str:
    if scope != model.GLOBAL:
        call.project = call.scope(scope)
        return call.project
    access.require_role(call.caller, "owner", "A global guideline")
    access.require_project(call.caller, access.EVERY, writes=True)
    return access.EVERY


async def _require_room(call: Call, project: str) -> None:
    if await store.count(call.tx, project) >= store.MOST:
        raise errors.TooMany(
            f"There are {store.MOST} guidelines in this scope.",
            hint="Delete or merge some: agents read them all.",
        )


def _say(call: Call, project: str, name: str, act: str) -> None:
    scope = model.scope_of(project)
    call.subject = f"{act} {scope}: {name}"
    call.emit("GuidelineChanged", f"guidelines://{scope}", name=name)


def _there(row: Row | None) -> Row:
    assert row is not None  # noqa: S101 - an upsert without WHERE gives its row
    return row


def _missing(name: str) -> errors.NotFound:
    return errors.NotFound(f"There is no guideline '{name}' in this scope.", hint="list names them.")
