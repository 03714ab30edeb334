"""Agree on an interface: one owner, versions that rise, all of them readable."""

from typing import Any

import msgspec

from commonplace import errors, events
from commonplace.access import SHARED
from commonplace.call import Call
from commonplace.operation import operation
from commonplace.rooms.agents.model import AgentName
from commonplace.rooms.agents.store import is_project_admin
from commonplace.rooms.specs import model, schemas, store
from commonplace.rooms.specs.model import Defined, Listing, Spec, Summary
from commonplace.store.database import Row


@operation(
    "memory_define_spec", writes=True, example={"name": "cart-api", "content": "GET /cart -> {items[]}"}
)
async def define_spec(
    call: Call,
    name: model.Name,
    content: model.Content,
    owner: AgentName | None = None,
    version: model.VersionText | None = None,
    spec_type: model.SpecType = model.USUAL_TYPE,
    project: str | None = None,
    json_schema: dict[str, Any] | None = None,
    tags: model.Tags | None = None,
    force: bool = False,
) -> Defined:
    """Store a spec's next version (semver; default next patch). Only its owner or an admin changes it."""
    schema = schemas.require_valid(json_schema) if json_schema is not None else None
    # Taken first: until commit nobody else defines a spec here, so that versions rise.
    await events.count(call.tx, call.project, "spec")
    before = await store.one(call.tx, call.project, name)
    owned_by = await _owner(call, name, before, owner)
    risen = model.next_version(before["version"] if before else None, version)
    past = await store.latest(call.tx, before) if before else {}
    if past and not force:
        model.require_not_halved(name, past["content"], content)
    kind = model.kept_type(name, before["spec_type"] if before else None, spec_type)
    spec = await store.put(call.tx, call.project, name, owned_by, kind, risen, call.now)
    listed = msgspec.json.encode(tags).decode() if tags is not None else past.get("tags", "[]")
    await store.add_version(
        call.tx, spec, call.agent, content, schema or past.get("json_schema", "{}"), listed, call.now
    )
    call.emit("SpecChanged", model.uri(call.project, name), id=spec["id"], version=risen)
    call.subject = f"{name} {risen}"
    return Defined(
        status="updated" if before else "created",
        id=spec["id"],
        spec_name=name,
        version=risen,
        owner=owned_by,
        previous_version=before["version"] if before else "",
    )


async def _owner(call: Call, name: str, before: Row | None, wanted: str | None) -> str:
    """Who owns the spec after this call; refused unless the caller is who may say so."""
    current = before["owner"] if before else call.agent
    chosen = wanted or current
    if current == chosen == call.agent:
        return chosen
    if await is_project_admin(call.tx, call.project, call.caller, call.agent):
        return chosen
    if current != call.agent:
        raise errors.Forbidden(
            f"'{name}' belongs to {current}.",
            hint="Ask its owner, or an admin of the project.",
            owner=current,
        )
    raise errors.Forbidden("Only an admin names another owner.", hint="Leave owner out.", owner=current)


@operation("memory_get_spec", role="readonly")
async def get_spec(
    call: Call, name: model.Name, version: model.VersionText | None = None, project: str | None = None
) -> Spec:
    """A spec, at its latest or any version."""
    spec = await store.one(call.tx, call.project, name)
    if spec is None and project is None:
        spec = await store.one(call.tx, SHARED, name)
    if spec is None:
        raise errors.NotFound(
            f"There is no spec '{name}' in '{call.project}'.", hint="memory_list_specs names them."
        )
    row = (
        await store.latest(call.tx, spec)
        if version is None
        else await store.at_version(call.tx, spec, version)
    )
    if row is None:
        raise errors.NotFound(
            f"'{name}' has no version {version}.",
            hint="memory_list_specs(include_versions=true) names them.",
            latest=spec["version"],
        )
    return Spec.of(spec, row, call.now)


@operation("memory_list_specs", role="readonly", example={})
async def list_specs(
    call: Call,
    project: str | None = None,
    include_versions: bool = False,
    spec_type: model.SpecType | None = None,
    limit: model.Limit = 50,
) -> Listing:
    """Specs of your project and shared ones."""
    projects = [call.project] if project is not None else list({call.project: None, SHARED: None})
    rows, total = await store.listed(call.tx, projects, spec_type, limit)
    names = [row["name"] for row in rows]
    versions = await store.versions(call.tx, projects, names) if include_versions and rows else []
    return Listing(count=len(rows), total=total, specs=[Summary.of(row, versions) for row in rows])
