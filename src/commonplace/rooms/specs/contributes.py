"""What specs contribute: their resource, event, sections of the boot pack, finder, search source and retention."""

from collections.abc import Sequence
from typing import Any

import msgspec

from commonplace import errors
from commonplace.boot import BootSection, PartialSection, StartingSession, list_topic_words
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.events import EventType
from commonplace.operation import operation
from commonplace.outdated_citations import find_outdated_citations
from commonplace.resource import Resource
from commonplace.retention import delete_from_table
from commonplace.rooms.specs import model, readers, store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store import ids
from commonplace.store.database import Row, Tx

_MAX_SPECS_SCANNED = 200
_MAX_SPECS_IN_BOOT = 5


@operation("resource:spec", role="readonly", session=False)
async def read_spec(call: Call, project: str, name: model.SpecName) -> model.Spec:
    """Get a spec at its latest version."""
    spec = await store.load_spec(call.tx, project, name)
    if spec is None:
        raise errors.NotFound(
            f"Spec '{name}' does not exist in '{project}'.", hint="Find its name with memory_list_specs."
        )
    return model.Spec.from_row(spec, await store.load_latest_version(call.tx, spec), call.now)


SPEC = Resource("spec://{project}/{name}", "A spec at its latest version", read_spec)
SPEC_CHANGED = EventType("SpecChanged", SPEC)
# Specs and their versions are never deleted.
OLD_READERS = delete_from_table(
    "spec_reader", kind="spec_readers", key=("name", "session_project", "session"), setting="session_days"
)


async def load_state_spec(call: Call, start: StartingSession) -> dict[str, Any] | None:
    """The spec in which the agent keeps its own state."""
    spec = await store.load_spec(call.tx, start.project, f"{model.STATE_PREFIX}{start.agent}")
    if spec is None:
        return None
    latest = await store.load_latest_version(call.tx, spec)
    return {
        "name": spec["name"],
        "version": spec["version"],
        "age": format_age(spec["updated_at"], call.now),
        "content": latest["content"],
        **({} if latest["author"] == start.agent else {"by": latest["author"]}),
    }


async def list_task_specs(call: Call, start: StartingSession) -> PartialSection:
    """List the specs whose name is about the task."""
    words = start.topic_words
    projects = call.list_read_projects(include_shared=True)
    rows, _ = await store.list_spec_rows(call.tx, projects, None, _MAX_SPECS_SCANNED)
    about = [
        row
        for row in rows
        if words & list_topic_words(row["name"]) and not row["name"].startswith(model.STATE_PREFIX)
    ]
    entries = []
    for row in about[: start.scale_limit(_MAX_SPECS_IN_BOOT)]:
        entry = {name: row[name] for name in ("name", "version", "owner")}
        entry["age"] = format_age(row["updated_at"], call.now)
        if row["owner"] != start.agent:
            entry["to_change"] = f"ask {row['owner']}"
        entries.append(entry)
    return PartialSection(entries, len(about) - len(entries))


TASK_SPECS_SECTION = BootSection("specs", 35, list_task_specs)
STATE_SPEC_SECTION = BootSection("state_spec", 30, load_state_spec)


async def find_spec(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "spec", [project], id_prefix)
    spec = await store.load_spec_by_id(call.tx, *match[0]) if match else None
    if spec is None:
        return None
    version = await store.load_latest_version(call.tx, spec)
    await readers.record_reader(call, spec, version)
    latest = model.Spec.from_row(spec, version, spec["updated_at"])
    versions = await store.list_versions(call.tx, project, [spec["name"]])
    return model.render_spec_document(latest, versions, SPEC.format_uri(project=project, name=spec["name"]))


async def load_searched_specs(tx: Tx, project: str, spec_ids: Sequence[str]) -> list[SearchItem]:
    """The latest version of each."""
    rows = await store.list_latest_versions(tx, project, spec_ids)
    outdated = await find_outdated_citations(tx, project, {row["id"]: row["content"] for row in rows})
    return [_build_search_item(row, outdated.get(row["id"], "")) for row in rows]


def _build_search_item(row: Row, outdated: str) -> SearchItem:
    return SearchItem(
        id=row["id"],
        title=row["name"],
        text=row["content"],
        type=row["spec_type"],
        author=row["author"],
        tags=tuple(msgspec.json.decode(row["tags"], type=list[str])),
        created_at=row["spec_created_at"],
        updated_at=row["created_at"],
        changed_at=row["created_at"],
        doubts=(outdated,) if outdated else (),
        details={"version": row["version"], "owner": row["owner"]},
    )


SEARCH_SOURCE = SearchSource(kind="spec", load=load_searched_specs, table="spec", has_free_types=True)
