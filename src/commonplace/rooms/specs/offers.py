"""What this room gives to the others: an agent's own state for its starting session, and specs by id."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import age
from commonplace.rooms.specs import model, store
from commonplace.store import ids


async def _own_state(call: Call, start: StartingSession) -> dict[str, Any] | None:
    spec = await store.one(call.tx, start.project, f"{model.STATE}{start.agent}")
    if spec is None:
        return None
    latest = await store.latest(call.tx, spec)
    shown = {"name": spec["name"], "version": spec["version"], "age": age(spec["updated_at"], call.now)}
    return (
        shown
        | {"content": latest["content"]}
        | ({} if latest["author"] == start.agent else {"by": latest["author"]})
    )


async def _find(call: Call, project: str, given: str) -> dict[str, Any] | None:
    found = await ids.beginning(call.tx, "spec", [project], given)
    spec = await store.by_id(call.tx, *found[0]) if found else None
    if spec is None:
        return None
    shown = model.Spec.of(spec, await store.latest(call.tx, spec), spec["updated_at"])
    return model.found(shown, await store.versions(call.tx, [project], [spec["name"]]))


state_section = BootSection("state_spec", 30, _own_state)
finders = {"spec_": _find}
