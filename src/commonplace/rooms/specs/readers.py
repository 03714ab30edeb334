"""Who read which version of a spec: readers are told of the next version, at once or in their next boot pack."""

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from commonplace.access import SHARED
from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.identity import liveness
from commonplace.notices import Notice, drop_notices, notify_sessions
from commonplace.rooms.specs import model, store
from commonplace.rooms.specs.changes import summarize_changes
from commonplace.rooms.specs.store import SpecReader
from commonplace.rooms.work.waits import end_waits
from commonplace.store.database import Row

_MAX_SPEC_UPDATES = 10


async def record_reader(call: Call, spec: Row, version: Row) -> Row | None:
    """Remember what this session reads, and return what it, or its agent before it, read last.

    A version that the session has read before costs no write.
    """
    session = call.session
    if session is None:
        return None
    if session.has_notice and version["version"] == spec["version"]:
        call.deferred_writes.append(
            lambda tx: drop_notices(tx, session.project, "spec", sessions=[session.id], subjects=[spec["id"]])
        )
    reader = SpecReader(session.project, session.id, session.agent, version["n"], version["version"])
    last_read = await store.load_read_version(call.tx, spec, reader)
    if last_read and last_read["n"] > reader.n:  # who looks back does not forget what it knows
        reader = replace(reader, n=last_read["n"], version=last_read["version"])
    if last_read and (last_read["session"], last_read["n"]) == (session.id, reader.n):
        return last_read
    if call.writes:
        await store.upsert_reader(call.tx, spec, reader, call.now)
    else:
        call.deferred_writes.append(lambda tx: store.upsert_reader(tx, spec, reader, call.now))
    return last_read


async def list_read_versions(call: Call, spec: Row) -> dict[str, str]:
    """The version that each other agent of the project opened last."""
    versions: dict[str, str] = {}
    for row in await store.list_readers(call.tx, spec, spec["n"] + 1):
        if row["session_project"] == spec["project"] and row["agent"] != call.agent:
            versions.setdefault(row["agent"], row["version"])
    return versions


@dataclass(frozen=True, slots=True)
class SpecAnnouncement:
    """The agents that were told of a version, and which earlier one each of the live ones has read."""

    agents: list[str]
    read_before: dict[str, str]


async def announce_spec(call: Call, spec: Row, latest: Row, text: Row) -> SpecAnnouncement:
    """End the waits for this spec and tell live sessions of its version, and what changed since the one they read.

    `latest` is the version before, empty for a new spec; `text` has content and schema of the new one. Readers of an
    earlier version are told of every version. A new spec and a new major version are told to the whole project, because
    others may rely on the spec without having read it.
    """
    cause = f"{call.agent} published spec {spec['name']} {spec['version']}"
    unblocked = await end_waits(call, call.project, {spec["name"]: cause})
    # By agent: one that started anew relies on what it read before. The latest reading is the first.
    versions: dict[tuple[str, str], str] = {}
    for row in await store.list_readers(call.tx, spec, spec["n"]) if latest else []:
        versions.setdefault((row["session_project"], row["agent"]), row["version"])
    news = _format_news(call, spec, latest, text)
    text_by_version: dict[str, str] = {"": ""}
    told = dict.fromkeys(unblocked, "")
    for project in sorted({project for project, _ in versions} | ({call.project} if news else set())):
        own_news = news if project == call.project else ""
        sessions_by_text: dict[str, list[str]] = defaultdict(list)
        own_session = call.session.id if call.session else ""
        for row in await liveness.list_live_sessions(call.tx, project, call.now, but=own_session):
            agent, read = row["agent"], versions.get((project, row["agent"]), "")
            if read not in text_by_version:
                text_by_version[read] = await _format_change(call, spec, read, text)
            notice = text_by_version[read] or own_news
            if notice and agent not in unblocked:
                sessions_by_text[notice].append(row["id"])
            if notice or read:
                told[agent] = read
        for notice, sessions in sessions_by_text.items():
            await notify_sessions(
                call.tx, project, sessions, Notice("spec", {"text": notice}, spec["id"]), call.now
            )
    return SpecAnnouncement(sorted(told), {agent: told[agent] for agent in sorted(told) if told[agent]})


async def _format_change(call: Call, spec: Row, read: str, text: Row) -> str:
    old = await store.load_version(call.tx, spec, read)
    breaking = ", breaking" if model.is_new_major(read, spec["version"]) else ""
    lines = f": {summarize_changes(old, text)}" if old else ""
    return (
        f"{call.agent} changed spec {spec['name']} to {spec['version']} (you read {read}{breaking}){lines}."
        f" memory_get_spec has it, with version='{read}..' only what changed."
    )


def _format_news(call: Call, spec: Row, latest: Row, text: Row) -> str:
    """What the whole project is told; empty for a version that is neither the first nor a new major one."""
    if not latest:
        return f"{call.agent} published spec {spec['name']} {spec['version']}: read it with memory_get_spec."
    if not model.is_new_major(latest["version"], spec["version"]):
        return ""
    return (
        f"{call.agent} changed spec {spec['name']} from {latest['version']} to {spec['version']}, which may break"
        f" what relies on it ({summarize_changes(latest, text)}): read it with memory_get_spec."
    )


async def list_spec_updates(call: Call, start: StartingSession) -> list[dict[str, Any]]:
    """List the specs that changed since the agent last read them, for the boot section `interface_updates`."""
    rows: list[Row] = []
    for project in dict.fromkeys([start.project, SHARED]):
        rows += await store.list_changed_since_read(
            call.tx, project, start.project, start.agent, _MAX_SPEC_UPDATES
        )
    rows.sort(key=lambda row: (-row["updated_at"], row["name"]))
    return [
        {
            "id": row["id"],
            "interface": row["name"],
            "version": row["version"],
            "you_read": row["read_version"],
            **({"breaking": True} if model.is_new_major(row["read_version"], row["version"]) else {}),
            "changes": summarize_changes(
                {"content": row["read_content"], "json_schema": row["read_schema"]}, row
            ),
            "owner": row["owner"],
            "age": format_age(row["updated_at"], call.now),
        }
        for row in rows[:_MAX_SPEC_UPDATES]
    ]
