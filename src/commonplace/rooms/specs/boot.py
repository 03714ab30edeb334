"""The boot sections `state_spec`, in which the agent keeps its own state, and `specs`, the contracts of its task."""

from typing import Any

from commonplace.boot import BootSection, PartialSection, StartingSession, list_topic_words
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.rooms.specs import model, store
from commonplace.store.database import Row

_MAX_SPECS_SCANNED = 200
_MAX_SPECS_IN_BOOT = 5


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


async def list_task_specs(call: Call, start: StartingSession) -> PartialSection:
    """List the specs whose name is about the task."""
    words = start.topic_words
    rows, _ = await store.list_spec_rows(
        call.tx, call.list_read_projects(include_shared=True), None, _MAX_SPECS_SCANNED
    )
    about = [row for row in rows if words & list_topic_words(row["name"]) and not _is_state(row)]
    shown = about[: start.scale_limit(_MAX_SPECS_IN_BOOT)]
    entries = [_render_spec(row, start.agent, call.now) for row in shown]
    return PartialSection(entries, len(about) - len(shown))


def _is_state(row: Row) -> bool:
    return bool(row["name"].startswith(model.STATE_PREFIX))


def _render_spec(row: Row, reader: str, now: int) -> dict[str, Any]:
    entry = {
        "name": row["name"],
        "version": row["version"],
        "owner": row["owner"],
        "age": format_age(row["updated_at"], now),
    }
    to_change = model.name_whom_to_ask(row["owner"], reader)
    return entry | ({"to_change": to_change} if to_change else {})


TASK_SPECS_SECTION = BootSection("specs", 35, list_task_specs)
STATE_SPEC_SECTION = BootSection("state_spec", 30, load_state_spec)
