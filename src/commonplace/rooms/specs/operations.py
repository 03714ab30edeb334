"""Define, get and list specs: one owner each, rising versions, all of which stay readable."""

from typing import Annotated, Any

import msgspec

from commonplace import errors
from commonplace.access import SHARED
from commonplace.arguments import AgentName
from commonplace.call import Call
from commonplace.operation import alias, operation
from commonplace.rooms.specs import model, ownership, readers, schemas, store
from commonplace.rooms.specs.changes import render_spec_changes
from commonplace.rooms.specs.events import SPEC_CHANGED
from commonplace.rooms.specs.model import DefinedSpec, Spec, SpecListing, SpecSummary
from commonplace.rooms.specs.search import SPEC_KIND
from commonplace.store.counters import lock_project
from commonplace.store.database import Row
from commonplace.suggestions import find_close_name

_MAX_NAMES_COMPARED = 500
_NOT_PUBLISHED = (
    "Nobody has published it yet: you are told when somebody does; if it is yours to write: memory_define_spec."
    " memory_list_specs has those that exist; to show that you wait, call memory_update_work(status='blocked',"
    " blocked_by=<this name>)."
)


@operation(
    "memory_define_spec", writes=True, example={"name": "cart-api", "content": "GET /cart -> {items[]}"}
)
async def define_spec(
    call: Call,
    name: Annotated[model.SpecName, alias("spec_name")],
    content: model.SpecContent,
    owner: AgentName | None = None,
    version: model.SpecVersion | None = None,
    spec_type: model.SpecType = model.DEFAULT_SPEC_TYPE,
    project: str | None = None,
    json_schema: dict[str, Any] | None = None,
    tags: model.SpecTags | None = None,
    force: bool = False,
) -> DefinedSpec:
    """Publish, write, update, change, bump, version or share the API contract: define, agree on, document
    interface, endpoint, service, data format, type definition, JSON schema (OpenAPI) others code against;
    semver (2.0.0; default next patch). Only owner or admin changes it."""
    model.require_content_size(content)
    schema = schemas.require_valid_schema(json_schema) if json_schema is not None else None
    # Lock first: until commit nobody else defines a spec in this project, so versions only rise.
    await lock_project(call.tx, call.project, "spec")
    previous = await store.load_spec(call.tx, call.project, name)
    new_owner = await ownership.require_owner(call, name, previous, owner)
    new_version = model.choose_version(previous["version"] if previous else None, version)
    latest = await store.load_latest_version(call.tx, previous) if previous else {}
    if latest and not force:
        model.require_not_halved(name, latest["content"], content)
    new_type = model.choose_spec_type(name, previous["spec_type"] if previous else None, spec_type)
    spec = await store.upsert_spec(call.tx, call.project, name, new_owner, new_type, new_version, call.now)
    stored_tags = msgspec.json.encode(tags).decode() if tags is not None else latest.get("tags", "[]")
    stored_schema = schema or latest.get("json_schema", "{}")
    await store.insert_version(call.tx, spec, call.agent, content, stored_schema, stored_tags, call.now)
    text = {"content": content, "json_schema": stored_schema}
    told = await readers.announce_spec(call, spec, previous["version"] if previous else "", latest, text)
    await readers.record_reader(call, spec, spec)
    call.reindex(SPEC_KIND, spec["id"])
    call.emit(SPEC_CHANGED, {"name": name}, id=spec["id"], version=new_version)
    call.subject = f"{name} {new_version}"
    return DefinedSpec(
        status="updated" if previous else "created",
        id=spec["id"],
        spec_name=name,
        version=new_version,
        owner=new_owner,
        previous_version=previous["version"] if previous else "",
        breaking=bool(previous and model.is_new_major(previous["version"], new_version)),
        notified=told.agents,
        read_before=told.read_before,
        message=model.explain_default_version(new_version, told.agents)
        if previous and version is None
        else "",
    )


async def _spec_not_found(call: Call, name: str) -> errors.NotFound:
    projects = call.list_read_projects(include_shared=True)
    rows, _ = await store.list_spec_rows(call.tx, projects, None, _MAX_NAMES_COMPARED)
    close = find_close_name(name, [row["name"] for row in rows])
    return errors.NotFound(
        f"Spec '{name}' does not exist in '{call.project}'.",
        hint=f"Did you mean '{close}'?" if close else _NOT_PUBLISHED,
    )


@operation("memory_get_spec", role="readonly")
async def get_spec(
    call: Call,
    name: Annotated[model.SpecName, alias("spec_name")],
    version: model.SpecVersion | None = None,
    project: str | None = None,
) -> Spec:
    """Read (check, fetch) API contract: what current spec of interface, endpoint (parameters, request,
    response), object, payload shape, schema says, latest or given version."""
    spec = await store.load_spec(call.tx, call.project, name)
    if spec is None and project is None:
        spec = await store.load_spec(call.tx, SHARED, name)
    if spec is None:
        raise await _spec_not_found(call, name)
    row = (
        await store.load_latest_version(call.tx, spec)
        if version is None
        else await store.load_version(call.tx, spec, version)
    )
    if row is None:
        raise errors.NotFound(
            f"'{name}' has no version {version}.",
            hint="Omit version for the latest, or list all with memory_list_specs(include_versions=true).",
            latest=spec["version"],
        )
    last_read = await readers.record_reader(call, spec, row)
    reply = Spec.from_row(spec, row, call.now)
    reply.to_change = await ownership.describe_change(call, spec)
    if last_read and last_read["n"] < row["n"]:
        await _add_changes(call, reply, spec, row, last_read["version"])
    return reply


async def _add_changes(call: Call, reply: Spec, spec: Row, row: Row, read_version: str) -> None:
    old = await store.load_version(call.tx, spec, read_version)
    if old:
        reply.you_read, reply.changes = read_version, render_spec_changes(old, row)


@operation("memory_list_specs", role="readonly", example={})
async def list_specs(
    call: Call,
    project: str | None = None,
    include_versions: bool = False,
    spec_type: model.SpecType | None = None,
    limit: model.SpecLimit = 50,
) -> SpecListing:
    """List all specs: available (defined, existing) API contracts, interfaces, schemas between services."""
    projects = [call.project] if project is not None else list({call.project: None, SHARED: None})
    rows, total = await store.list_spec_rows(call.tx, projects, spec_type, limit)
    names = [row["name"] for row in rows]
    versions = await store.list_versions(call.tx, projects, names) if include_versions and rows else []
    return SpecListing(
        count=len(rows), total=total, specs=[SpecSummary.from_row(row, versions, call.agent) for row in rows]
    )
