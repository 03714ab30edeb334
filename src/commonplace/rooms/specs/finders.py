"""Finds a spec by its id, for memory_get_by_id."""

from typing import Any

from commonplace.call import Call
from commonplace.rooms.specs import model, store
from commonplace.store import ids


async def find_spec(call: Call, project: str, given: str) -> dict[str, Any] | None:
    found = await ids.beginning(call.tx, "spec", [project], given)
    spec = await store.by_id(call.tx, *found[0]) if found else None
    if spec is None:
        return None
    shown = model.Spec.of(spec, await store.latest(call.tx, spec), spec["updated_at"])
    return model.found(shown, await store.versions(call.tx, [project], [spec["name"]]))


FINDERS = {"spec_": find_spec}
