"""Read, set and delete guidelines."""

from typing import Annotated

from pydantic import Field

from commonplace import access, errors
from commonplace.call import Call
from commonplace.operation import OperationFamily, operation
from commonplace.rooms.guidelines import contributes, model, rule_set, store
from commonplace.rooms.guidelines.contributes import GUIDELINE_CHANGED, GUIDELINE_KIND
from commonplace.store.database import Row
from commonplace.suggestions import suggest_project


@operation("memory_guidelines", role="readonly", session="optional", example={})
async def list_guidelines(
    call: Call,
    scope: Annotated[
        model.GuidelineScope | None, Field(description="Project; set: default `global`.")
    ] = None,
) -> model.GuidelineListing:
    """List the global and the project's guidelines, by priority."""
    rows = await store.list_guidelines_of_projects(call.tx, _readable_projects(call, scope))
    contributes.forget_notices(call, rows)
    return model.GuidelineListing(count=len(rows), guidelines=[model.Guideline.from_row(row) for row in rows])


@operation("memory_guidelines", role="readonly", session="optional", example={"name": "tests"})
async def get_guideline(
    call: Call, name: model.RuleName, scope: model.GuidelineScope | None = None
) -> model.Guideline:
    """Get a guideline; the project's takes precedence over the global one."""
    for project in reversed(_readable_projects(call, scope)):
        row = await store.find_guideline(call.tx, project, name)
        if row is not None:
            contributes.forget_notices(call, [row])
            return model.Guideline.from_row(row)
    raise _guideline_not_found(name)


@operation(
    "memory_guidelines",
    role="admin",
    writes=True,
    session="optional",
    idempotent=True,
    example={"name": "tests", "rule": "Run the tests before you end.", "scope": "shop"},
    verbatim=("enforce",),
)
async def set_guideline(
    call: Call,
    name: model.RuleName,
    rule: model.RuleText,
    scope: model.GuidelineScope = model.GLOBAL_SCOPE,
    priority: model.GuidelinePriority = 50,
    enforce: model.Enforcement | None = None,
) -> model.ChangedGuideline:
    """Add or replace a guideline; that of an agent is a proposal until a person sets it. Low priority first. With `enforce` hooks hold agents to it."""
    project = _require_writable_scope(call, scope)
    await suggest_project(call, project)
    existing = await store.find_guideline(call.tx, project, name)
    if existing is None:
        await _require_below_limit(call, project)
    _require_right_to_change(call, existing)
    enforcement = rule_set.prepare_enforcement(call, enforce, existing)
    person = call.agent if call.is_by_person else ""
    row = await store.upsert_guideline(
        call.tx, project, name, rule, priority, call.agent, call.now, enforcement, person
    )
    if row["enforce"]:
        await store.renew_rule_version(call.tx, project)
    is_new_text = existing is None or existing["rule"] != rule
    notified = await contributes.announce_guideline(call, row) if is_new_text else []
    _record_guideline_change(call, row, "set")
    outcome = "updated" if existing else "created"
    return model.ChangedGuideline.from_row(row, outcome, notified)


@operation(
    "memory_guidelines",
    role="admin",
    writes=True,
    session="optional",
    destroys=True,
    example={"name": "tests", "scope": "shop"},
)
async def delete_guideline(
    call: Call, name: model.RuleName, scope: model.GuidelineScope = model.GLOBAL_SCOPE
) -> model.ChangedGuideline:
    """Delete a guideline."""
    project = _require_writable_scope(call, scope)
    _require_right_to_change(call, await store.find_guideline(call.tx, project, name))
    row = await store.delete_guideline_row(call.tx, project, name)
    if row is None:
        raise _guideline_not_found(name)
    if row["enforce"]:
        rule_set.require_right_to_change(call, row)
        await store.renew_rule_version(call.tx, project)
    _record_guideline_change(call, row, "delete")
    return model.ChangedGuideline.from_row(row, "deleted")


guidelines = OperationFamily(
    "memory_guidelines",
    "Show or set the rules of a project or of all. Read them before you write code.",
    {"list": list_guidelines, "set": set_guideline, "delete": delete_guideline, "get": get_guideline},
    keywords="coding conventions, naming, standards, style, policy, best practices, house rules",
)


def _readable_projects(call: Call, scope: str | None) -> list[str]:
    """List where to look; global guidelines apply in every project."""
    if scope == model.GLOBAL_SCOPE:
        return [access.ALL_PROJECTS]
    return [access.ALL_PROJECTS, call.resolve_project(scope)]


def _require_writable_scope(call: Call, scope: str) -> str:
    if scope != model.GLOBAL_SCOPE:
        call.project = call.resolve_project(scope)
        return call.project
    access.require_role(call.caller, "owner", "A global guideline")
    access.require_project(call.caller, access.ALL_PROJECTS, writes=True)
    return access.ALL_PROJECTS


async def _require_below_limit(call: Call, project: str) -> None:
    if await store.count_guidelines(call.tx, project) >= store.MAX_GUIDELINES_PER_SCOPE:
        raise errors.TooMany(
            f"This scope already has {store.MAX_GUIDELINES_PER_SCOPE} guidelines, the maximum.",
            hint="Set action='delete' to remove some first.",
        )


def _require_right_to_change(call: Call, row: Row | None) -> None:
    """What a person has confirmed only people change; the key of an admin is trusted as one."""
    if row is None or not row["confirmed_by"] or call.is_by_person or call.caller.decides_for_others:
        return
    raise errors.Forbidden(
        f"{row['confirmed_by']} confirmed the guideline '{row['name']}': only people and admins change it.",
        hint="Propose yours under another name, or ask a person with memory_ask_person.",
    )


def _record_guideline_change(call: Call, row: Row, action: str) -> None:
    project, name = row["project"], row["name"]
    scope = model.scope_from_project(project)
    call.subject = f"{action} {scope}: {name}"
    call.reindex(GUIDELINE_KIND, row["id"], project=project)
    changed_in = access.SHARED if project == access.ALL_PROJECTS else project
    call.emit(GUIDELINE_CHANGED, {"scope": scope}, project=changed_in, name=name)


def _guideline_not_found(name: str) -> errors.NotFound:
    return errors.NotFound(
        f"No guideline '{name}' in this scope.", hint="Set action='list' to see their names."
    )
