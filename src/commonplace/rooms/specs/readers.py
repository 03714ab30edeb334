"""Who read which version of a spec: readers are told of the next version, at once or in their next boot pack."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any

from commonplace.access import SHARED
from commonplace.boot import StartingSession
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.identity import liveness
from commonplace.notices import Notice, drop_notices, notify_sessions
from commonplace.rooms.specs import model, store
from commonplace.rooms.specs.changes import summarize_spec_changes
from commonplace.rooms.specs.store import SpecReader
from commonplace.rooms.work.waits import end_waits
from commonplace.store.database import Row

_MAX_SPEC_UPDATES = 10
_MAX_VERSIONS_COMPARED = 5


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


async def announce_spec(call: Call, spec: Row, previous: str, summary: str, text: Row) -> SpecAnnouncement:
    """End the waits for this spec and tell live sessions of its version, and what changed since the one they read.

    `summary` says what changed since the previous version; `text` has content and schema of the new one.

    Readers of an earlier version are told of every version. A new spec and a new major version are told to the whole
    project, because others may rely on the spec without having read it.
    """
    cause = f"{call.agent} published spec {spec['name']} {spec['version']}"
    unblocked = await end_waits(call, call.project, {spec["name"]: cause})
    # By agent: one that started anew relies on what it read before. The latest reading is the first.
    versions: dict[tuple[str, str], str] = {}
    for row in await store.list_readers(call.tx, spec, spec["n"]) if previous else []:
        versions.setdefault((row["session_project"], row["agent"]), row["version"])
    others = sorted(set(versions.values()) - {previous})[:_MAX_VERSIONS_COMPARED]
    changes = _SpecChanges(call, spec, text, {previous, *others}, {previous: summary})
    news = ""
    if not previous or model.is_new_major(previous, spec["version"]):
        news = _format_news(call, spec, previous, summary)
    projects = {project for project, _ in versions} | ({call.project} if news else set())
    told = dict.fromkeys(unblocked, "")
    for project in sorted(projects):
        told |= await _notify_project(call, spec, project, versions, news, changes, unblocked)
    return SpecAnnouncement(sorted(told), {agent: told[agent] for agent in sorted(told) if told[agent]})


@dataclass(frozen=True, slots=True)
class _SpecChanges:
    """What changed since each earlier version, compared when somebody is to be told: that takes longer than the rest."""

    call: Call
    spec: Row
    text: Row
    versions: Collection[str]
    """Those that are compared at all."""
    described: dict[str, str]

    async def describe(self, version: str) -> str:
        """Empty for a version that is not compared."""
        if version not in self.versions:
            return ""
        if version not in self.described:
            old = await store.load_version(self.call.tx, self.spec, version)
            self.described[version] = summarize_spec_changes(old, self.text) if old else ""
        return self.described[version]


def _format_news(call: Call, spec: Row, previous: str, changes: str) -> str:
    change = (
        f"changed spec {spec['name']} from {previous} to" if previous else f"published spec {spec['name']}"
    )
    breaking = f", which may break what relies on it ({changes})" if previous else ""
    return f"{call.agent} {change} {spec['version']}{breaking}: read it with memory_get_spec."


async def _notify_project(
    call: Call,
    spec: Row,
    project: str,
    versions: Mapping[tuple[str, str], str],
    news: str,
    changes: _SpecChanges,
    but: Collection[str],
) -> dict[str, str]:
    """Tell this project's live sessions, except those of agents in `but`; return the agents, and what each had read."""
    sessions_by_text: dict[str, list[str]] = defaultdict(list)
    agents: dict[str, str] = {}
    own_session = call.session.id if call.session else ""
    for row in await liveness.list_live_sessions(call.tx, project, call.now, but=own_session):
        read = versions.get((project, row["agent"]))
        text = news if project == call.project else ""
        if read:
            breaking = ", breaking" if model.is_new_major(read, spec["version"]) else ""
            summary = await changes.describe(read)
            lines = f": {summary}" if summary else ""
            text = (
                f"{call.agent} changed spec {spec['name']} to {spec['version']} (you read {read}{breaking}){lines}."
                f" memory_get_spec has it, with version='{read}..' only what changed."
            )
        if read:
            agents[row["agent"]] = read
        if text and row["agent"] not in but:
            sessions_by_text[text].append(row["id"])
            agents.setdefault(row["agent"], "")
    for text, sessions in sessions_by_text.items():
        await notify_sessions(
            call.tx, project, sessions, Notice("spec", {"text": text}, spec["id"]), call.now
        )
    return agents


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
            **({"breaking": True} if model.is_new_major(row["read_version"], row["version"]) else {}),
            "changes": summarize_spec_changes(_take_read_version(row), row),
            "owner": row["owner"],
            "age": format_age(row["updated_at"], call.now),
        }
        for row in rows
    ]


def _take_read_version(row: Row) -> Row:
    return {"content": row["read_content"], "json_schema": row["read_schema"]}
