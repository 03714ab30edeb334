"""What guidelines contribute: their resource, event, section of the boot pack, notices, search source and finder."""

from collections.abc import Sequence
from typing import Any

from commonplace import access
from commonplace.boot import BootSection, StartingSession
from commonplace.call import Call
from commonplace.clock import iso
from commonplace.events import EventType
from commonplace.identity.liveness import list_live_sessions
from commonplace.notices import Notice, drop_notices, notify_sessions
from commonplace.operation import operation
from commonplace.project import list_all_project_names
from commonplace.resource import Resource
from commonplace.rooms.guidelines import model, store
from commonplace.search.source import SearchItem, SearchSource
from commonplace.store import ids
from commonplace.store.database import Row, Tx


@operation("resource:guidelines", role="readonly", session=False)
async def read_guidelines(call: Call, scope: model.GuidelineScope) -> model.GuidelineListing:
    """The guidelines of a project, or the global ones, by priority."""
    if scope != model.GLOBAL_SCOPE:
        call.project = call.resolve_project(scope)
    project = access.ALL_PROJECTS if scope == model.GLOBAL_SCOPE else call.project
    rows = await store.list_guidelines_of_projects(call.tx, [project])
    return model.GuidelineListing(count=len(rows), guidelines=[model.Guideline.from_row(row) for row in rows])


GUIDELINES = Resource("guidelines://{scope}", "Guidelines of a project, or `global`", read_guidelines)


GUIDELINE_CHANGED = EventType("GuidelineChanged", GUIDELINES)


async def list_confirmed_rules(call: Call, start: StartingSession) -> list[model.BootGuideline]:
    """The team's rules: what a person has set or confirmed."""
    return await _list_boot_guidelines(call, start, are_confirmed=True)


async def list_proposed_rules(call: Call, start: StartingSession) -> list[model.BootGuideline]:
    return await _list_boot_guidelines(call, start, are_confirmed=False)


async def _list_boot_guidelines(
    call: Call, start: StartingSession, *, are_confirmed: bool
) -> list[model.BootGuideline]:
    rows = await store.list_guidelines_of_projects(call.tx, [access.ALL_PROJECTS, start.project])
    return [
        model.BootGuideline(
            name=row["name"],
            rule=row["rule"],
            by=row["updated_by"],
            enforced=model.decode_enforcement(row["enforce"]).get("do", ""),
        )
        for row in rows
        if bool(row["confirmed_by"]) == are_confirmed
    ]


GUIDELINES_SECTION = BootSection("guidelines", 0, list_confirmed_rules)
PROPOSED_SECTION = BootSection("proposed_guidelines", 27, list_proposed_rules)


GUIDELINE_KIND = "guideline"


async def load_searched_guidelines(tx: Tx, project: str, ids: Sequence[str]) -> list[SearchItem]:
    return [_build_search_item(row) for row in await store.load_guidelines(tx, project, ids)]


def _build_search_item(row: Row) -> SearchItem:
    return SearchItem(
        id=row["id"],
        title=row["name"],
        text=row["rule"],
        type="guideline",
        author=row["updated_by"],
        created_at=row["created_at"] or row["updated_at"],
        updated_at=row["updated_at"],
        changed_at=row["updated_at"],
    )


SEARCH_SOURCE = SearchSource(
    kind=GUIDELINE_KIND, load=load_searched_guidelines, table="guideline", names=("rule",)
)


async def announce_guideline(call: Call, row: Row) -> list[str]:
    """Notify the live sessions that the guideline applies to, except that of the caller; return their agents."""
    project = row["project"]
    own_session = call.session.id if call.session else ""
    body = {
        "agent": call.agent,
        "name": row["name"],
        "scope": model.scope_from_project(project),
        "rule": row["rule"],
        "is_proposal": not row["confirmed_by"],
    }
    notice = Notice("guideline", body, row["id"])
    projects = await list_all_project_names(call.tx) if project == access.ALL_PROJECTS else [project]
    notified: set[str] = set()
    for target in projects:
        sessions = await list_live_sessions(call.tx, target, call.now, but=own_session)
        await notify_sessions(call.tx, target, [each["id"] for each in sessions], notice, call.now)
        notified.update(each["agent"] for each in sessions)
    return sorted(notified)


def forget_notices(call: Call, rows: Sequence[Row]) -> None:
    """Do not tell the session of the call again what this reply shows."""
    if call.session and call.session.has_notice:
        own, ids = call.session, [row["id"] for row in rows]
        call.deferred_writes.append(
            lambda tx: drop_notices(tx, own.project, "guideline", sessions=[own.id], subjects=ids)
        )


async def find_guideline(call: Call, project: str, id_prefix: str) -> dict[str, Any] | None:
    match = await ids.find_ids_by_prefix(call.tx, "guideline", [project], id_prefix)
    rows = await store.load_guidelines(call.tx, project, [match[0][1]]) if match else []
    if not rows:
        return None
    forget_notices(call, rows)
    row, scope = rows[0], model.scope_from_project(project)
    return {
        "id": row["id"],
        "title": row["name"],
        "type": "guideline",
        "status": "active",
        "project": scope,
        "created": iso(row["created_at"] or row["updated_at"]),
        "updated": iso(row["updated_at"]),
        "author": row["updated_by"],
        "content": row["rule"],
        "priority": row["priority"],
        "links": {"uri": GUIDELINES.format_uri(scope=scope)},
    }
