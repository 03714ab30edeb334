"""Finds a spec by its id, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.rooms.specs import model, readers, store
from commonplace.rooms.specs.resources import SPEC
from commonplace.store import ids


async def find_spec(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "spec", [project], id_prefix)
    spec = await store.load_spec_by_id(call.tx, *match[0]) if match else None
    if spec is None:
        return None
    version = await store.load_latest_version(call.tx, spec)
    await readers.record_reader(call, spec, version)
    latest = model.Spec.from_row(spec, version, spec["updated_at"])
    versions = await store.list_versions(call.tx, [project], [spec["name"]])
    return model.render_spec_document(latest, versions, SPEC.format_uri(project=project, name=spec["name"]))


FINDERS = {"spec_": find_spec}
