"""Who read which version of a spec: readers are told of the next version, at once or in their next boot pack."""

from collections import defaultdict
from typing import Any

from commonplace import activity
from commonplace.access import SHARED
from commonplace.activity import SESSION_LIVE_MICROSECONDS
from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.rooms.specs import store
from commonplace.rooms.specs.store import SpecReader
from commonplace.store.database import Row

_MAX_SPEC_UPDATES = 10


async def record_reader(call: Call, spec: Row, version: Row) -> None:
    """Remember what this session read; a version that it has read before costs no write."""
    session = call.session
    if session is None:
        return
    reader = SpecReader(session.project, session.id, session.agent, version["n"], version["version"])
    if await store.load_read_version(call.tx, spec, reader) == reader.n:
        return
    if call.writes:
        await store.upsert_reader(call.tx, spec, reader, call.now)
    else:
        call.deferred_writes.append(lambda tx: store.upsert_reader(tx, spec, reader, call.now))


async def announce_spec(call: Call, spec: Row) -> None:
    """Notify the live sessions of the project of a new spec."""
    own_session = call.session.id if call.session else ""
    text = f"{call.agent} published spec {spec['name']} {spec['version']}: read it with memory_get_spec."
    await activity.notify_project(call.tx, call.project, text, call.now, but=own_session)


async def notify_readers(call: Call, spec: Row) -> None:
    """Notify live sessions that read an earlier version of the spec."""
    own_session = call.session.id if call.session else ""
    readers_by_project: dict[str, dict[str, str]] = defaultdict(dict)
    for row in await store.list_readers(call.tx, spec):
        if row["session"] != own_session:
            readers_by_project[row["session_project"]][row["session"]] = row["version"]
    since = call.now - SESSION_LIVE_MICROSECONDS
    for project, versions in readers_by_project.items():
        for session in await activity.filter_live_sessions(call.tx, project, list(versions), since):
            text = (
                f"{call.agent} changed spec {spec['name']} to {spec['version']} (you read {versions[session]}):"
                " read it with memory_get_spec."
            )
            await activity.notify_sessions(call.tx, project, [session], text, call.now)


async def list_spec_updates(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    """List the specs that changed since the agent last read them, for the boot section `interface_updates`."""
    projects = list(dict.fromkeys([start.project, SHARED]))
    rows = await store.list_changed_since_read(
        call.tx, projects, start.project, start.agent, _MAX_SPEC_UPDATES
    )
    return [
        {
            "id": row["id"],
            "interface": row["name"],
            "version": row["version"],
            "you_read": row["read_version"],
            "owner": row["owner"],
            "age": format_age(row["updated_at"], call.now),
        }
        for row in rows
    ]
