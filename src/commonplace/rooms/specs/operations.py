"""Define, get and list specs: one owner each, rising versions, all of which stay readable."""

from typing import Annotated, Any

import msgspec
from pydantic import Field

from commonplace import errors
from commonplace.access import SHARED
from commonplace.arguments import AgentName, AllProjects, ProjectOrAll
from commonplace.call import Call
from commonplace.operation import alias, operation
from commonplace.outdated_citations import find_outdated_citations
from commonplace.project import list_visible_project_names
from commonplace.rooms.specs import changes, model, ownership, readers, store
from commonplace.rooms.specs.changes import NO_SCHEMA
from commonplace.rooms.specs.contributes import SEARCH_SOURCE, SPEC_CHANGED
from commonplace.rooms.specs.model import DefinedSpec, Spec, SpecListing, SpecSummary
from commonplace.search.engine import prepare_words
from commonplace.store.counters import lock_project
from commonplace.store.database import Row
from commonplace.suggestions import find_close_name

_MAX_NAMES_COMPARED = 500
_SCHEMA_KEPT = "json_schema is that of the version before: pass it if it changed."
_NOT_PUBLISHED = (
    "Nobody has published it yet: you are told when somebody does; if it is yours to write: memory_define_spec."
    " memory_list_specs has those that exist; to show that you wait, call memory_update_work(status='blocked',"
    " blocked_by=<this name>)."
)


@operation(
    "memory_define_spec",
    writes=True,
    prepare=prepare_words("content"),
    example={"name": "cart-api", "content": "GET /cart -> {items[]}"},
    keywords="API contract, write, update, bump version, interface, endpoint, service",
)
async def define_spec(
    call: Call,
    name: Annotated[model.SpecName, alias("spec_name")],
    content: model.SpecContent,
    owner: AgentName | None = None,
    version: model.SpecVersion | None = None,
    spec_type: Annotated[
        model.SpecType, Field(description="Or api, schema, requirement, state, own word.")
    ] = model.DEFAULT_SPEC_TYPE,
    project: str | None = None,
    json_schema: dict[str, Any] | None = None,
    tags: model.SpecTags | None = None,
    force: Annotated[bool, Field(description="Let a state: spec shrink.")] = False,
) -> DefinedSpec:
    """Publish a new version of a spec that others code against; only its owner may change it."""
    model.require_content_size(content)
    schema = model.require_valid_schema(json_schema) if json_schema is not None else None
    # Lock first: until commit nobody else defines a spec in this project, so versions only rise.
    await lock_project(call.tx, call.project, "spec")
    previous = await store.load_spec(call.tx, call.project, name)
    new_owner = await ownership.require_owner(call, name, previous, owner)
    previous_version = previous["version"] if previous else ""
    new_version = model.choose_version(previous_version, version)
    latest = await store.load_latest_version(call.tx, previous) if previous else {}
    if latest and not force:
        model.require_not_halved(name, latest["content"], content)
    new_type = model.choose_spec_type(name, previous["spec_type"] if previous else None, spec_type)
    spec = await store.upsert_spec(call.tx, call.project, name, new_owner, new_type, new_version, call.now)
    stored_tags = msgspec.json.encode(tags).decode() if tags is not None else latest.get("tags", "[]")
    old_schema = latest.get("json_schema", NO_SCHEMA)
    text = {"content": content, "json_schema": schema or old_schema}
    await store.insert_version(call.tx, spec, call.agent, content, text["json_schema"], stored_tags, call.now)
    told = await readers.announce_spec(call, spec, latest, text)
    await readers.record_reader(call, spec, spec)
    call.reindex(SEARCH_SOURCE.kind, spec["id"])
    call.emit(SPEC_CHANGED, {"name": name}, id=spec["id"], version=new_version)
    call.subject = f"{name} {new_version}"
    keeps_schema = schema is None and old_schema != NO_SCHEMA
    return _build_defined(spec, latest, text, version, told, _SCHEMA_KEPT if keeps_schema else "")


def _build_defined(
    spec: Row, latest: Row, text: Row, requested: str | None, told: readers.SpecAnnouncement, hint: str
) -> DefinedSpec:
    previous = latest.get("version", "")
    removed = changes.list_removed_fields(latest, text) if latest else []
    message = model.explain_version(previous, spec["version"], requested, removed)
    return DefinedSpec(
        status="updated" if latest else "created",
        id=spec["id"],
        spec_name=spec["name"],
        version=spec["version"],
        owner=spec["owner"],
        previous_version=previous,
        breaking=bool(latest and model.is_new_major(previous, spec["version"])),
        notified=told.agents,
        read_before=told.read_before,
        changes=changes.summarize_changes(latest, text) if latest else "",
        message=f"{message} {hint}".strip(),
    )


async def _spec_not_found(call: Call, name: str) -> errors.NotFound:
    projects = call.list_read_projects(include_shared=True)
    rows, _ = await store.list_spec_rows(call.tx, projects, None, _MAX_NAMES_COMPARED)
    close = find_close_name(name, [row["name"] for row in rows])
    return errors.NotFound(
        f"Spec '{name}' does not exist in '{call.project}'.",
        hint=f"Did you mean '{close}'?" if close else _NOT_PUBLISHED,
    )


@operation(
    "memory_get_spec",
    role="readonly",
    keywords="API contract, check interface, endpoint parameters, request, response, payload shape, schema",
)
async def get_spec(
    call: Call,
    name: Annotated[model.SpecName, alias("spec_name"), Field(description="As in memory_list_specs.")],
    version: model.SpecVersion | None = None,
    project: str | None = None,
) -> Spec:
    """Read a spec, or with version=1.0.0..2.0.0 what changed. Use it before you code against it."""
    spec = await store.load_spec(call.tx, call.project, name)
    if spec is None and project is None:
        spec = await store.load_spec(call.tx, SHARED, name)
    if spec is None:
        raise await _spec_not_found(call, name)
    since, wanted = model.split_version_range(version)
    row = await _load_wanted_version(call, spec, wanted)
    last_read = await readers.record_reader(call, spec, row)
    if since is None or not (since or last_read):
        return await _show_spec(call, spec, row, last_read)
    old = await _load_wanted_version(call, spec, since or (last_read or {})["version"])
    return _show_changes(Spec.from_row(spec, row, call.now), old, row)


async def _load_wanted_version(call: Call, spec: Row, version: str | None) -> Row:
    if version is None:
        return await store.load_latest_version(call.tx, spec)
    row = await store.load_version(call.tx, spec, version)
    if row is None:
        raise errors.NotFound(
            f"'{spec['name']}' has no version {version}.",
            hint="Omit version for the latest, or list all with memory_list_specs(include_versions=true).",
            latest=spec["version"],
        )
    return row


async def _show_spec(call: Call, spec: Row, row: Row, last_read: Row | None) -> Spec:
    reply = Spec.from_row(spec, row, call.now)
    reply.to_change = await ownership.describe_change(call, spec)
    outdated = await find_outdated_citations(call.tx, spec["project"], {spec["id"]: row["content"]})
    reply.warning = outdated.get(spec["id"], "")
    if spec["owner"] == call.agent:
        reply.readers = await readers.list_read_versions(call, spec)
    if last_read and last_read["n"] < row["n"]:
        old = await store.load_version(call.tx, spec, last_read["version"])
        if old:
            reply.you_read = old["version"]
            whole = f"memory_get_spec(name='{spec['name']}', version='{old['version']}..')"
            reply.changes = changes.render_changes(old, row, changes.MAX_DIFF_CHARACTERS, whole)
    return reply


def _show_changes(reply: Spec, old: Row, row: Row) -> Spec:
    """Only what changed, unless that is most of the text."""
    whole = f"memory_get_spec(name='{reply.spec_name}')"
    reply.since = old["version"]
    reply.changes = changes.render_changes(old, row, changes.MAX_WHOLE_DIFF_CHARACTERS, whole)
    if changes.REWRITTEN not in reply.changes.splitlines()[:2]:
        reply.content, reply.json_schema, reply.tags = "", {}, []
    return reply


@operation(
    "memory_list_specs",
    role="readonly",
    example={},
    keywords="API contracts, interfaces, schemas between services, defined, available",
)
async def list_specs(
    call: Call,
    project: ProjectOrAll | None = None,
    include_versions: bool = False,
    spec_type: model.SpecType | None = None,
    limit: model.SpecLimit = 50,
) -> SpecListing:
    """List the specs of the project."""
    if isinstance(project, AllProjects):
        projects = await list_visible_project_names(call.tx, call.caller)
    else:
        projects = call.list_read_projects(include_shared=project is None)
    rows, total = await store.list_spec_rows(call.tx, projects, spec_type, limit)
    versions: list[Row] = []
    for name in projects if include_versions else []:
        versions += await store.list_versions(
            call.tx, name, [row["name"] for row in rows if row["project"] == name]
        )
    return SpecListing(
        count=len(rows), total=total, specs=[SpecSummary.from_row(row, versions, call.agent) for row in rows]
    )
