"""The boot section `state_spec`: the spec in which the agent keeps its own state."""

from typing import Any

from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.rooms.specs import model, store


async def load_state_spec(call: Call, start: StartingSession) -> dict[str, Any] | None:
    spec = await store.load_spec(call.tx, start.project, f"{model.STATE_PREFIX}{start.agent}")
    if spec is None:
        return None
    latest = await store.load_latest_version(call.tx, spec)
    section = {
        "name": spec["name"],
        "version": spec["version"],
        "age": format_age(spec["updated_at"], call.now),
    }
    return (
        section
        | {"content": latest["content"]}
        | ({} if latest["author"] == start.agent else {"by": latest["author"]})
    )


STATE_SPEC_SECTION = BootSection("state_spec", 30, load_state_spec)
