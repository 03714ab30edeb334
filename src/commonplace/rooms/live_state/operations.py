"""Read what is live in one project or in all that the caller may see, and the events of the past."""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from commonplace.access import ALL_PROJECTS
from commonplace.arguments import AgentName, ProjectOrAll, TimeArgument
from commonplace.audience import load_event_reader
from commonplace.call import Call
from commonplace.clock import DAY, HOUR, MINUTE, iso
from commonplace.identity.liveness import SESSION_LIVE_MICROSECONDS
from commonplace.operation import operation
from commonplace.project import is_project_admin, list_visible_project_names
from commonplace.rooms.backlog.contributes import BACKLOG_CHANGED
from commonplace.rooms.live_state import model, store
from commonplace.rooms.live_state.standup import Standup, build_standup
from commonplace.rooms.messages.model import MESSAGE_STATUSES
from commonplace.rooms.requests import model as request_model
from commonplace.rooms.requests import store as request_store
from commonplace.store.database import Row

_MAX_LISTED_PREVENTED = 20
_ACTIVE_MICROSECONDS = 5 * MINUTE
_LATEST = (2**62, 2**62)
_COMPLETED = MESSAGE_STATUSES.index("completed")


@operation("memory_get_live_state", role="readonly", session="optional", example={"project": "shop"})
async def get_live_state(
    call: Call,
    project: Annotated[
        ProjectOrAll | None, Field(description="A project; left out or `*`, every project that you may see.")
    ] = None,
    limit: model.RowLimit = 500,
) -> model.LiveState:
    """Who waits for a person, who works on what, which files are held, and what was prevented today."""
    projects = await list_chosen_projects(call, project)
    leases = await store.list_leases(call.tx, projects, call.now)
    acts = await store.list_recent_acts(call.tx, projects, call.now - model.ACTS_MINUTES * MINUTE)
    sessions = await store.list_live_sessions(call.tx, projects, call.now - SESSION_LIVE_MICROSECONDS)
    touched = await store.list_touched_files(call.tx, projects, call.now - HOUR)
    refusals = await store.list_prevented(call.tx, projects, call.now - call.now % DAY)
    prevented = model.build_prevented_list(refusals)
    needs = await _list_needs(call, projects)
    idle = sum(need.kind == "idle" for need in needs)
    changed = model.leave_out_held(touched, leases)
    items = await store.count_open_items(call.tx, projects)
    return model.LiveState(
        now=iso(call.now),
        agent="" if call.is_anonymous else call.agent,
        counts={
            "needs_you": len(needs) - idle,
            "idle": idle,
            "agents": len(sessions),
            "files": len(leases) + len(changed),
        },
        needs_you=needs[:limit],
        agents=model.build_agent_cards(sessions[:limit], leases, acts, call.now),
        files=model.build_files(leases, changed, limit),
        prevented=prevented[:_MAX_LISTED_PREVENTED],
        prevented_counts=dict(Counter(entry.kind for entry in prevented)),
        items={name: int(items[name]) for name in ("open", "in_progress")} if items else {},
    )


@operation("memory_get_live_counts", role="readonly", session="optional", example={"project": "shop"})
async def get_live_counts(
    call: Call,
    project: Annotated[
        ProjectOrAll | None, Field(description="A project; left out or `*`, every project that you may see.")
    ] = None,
) -> model.LiveCounts:
    """How many wait for a person, work, hold files, and were prevented from something today: for one line of text."""
    projects = await list_chosen_projects(call, project)
    needs = [need for need in await _list_needs(call, projects) if need.kind != "idle"]
    row = await store.count_live(
        call.tx, projects, call.now - SESSION_LIVE_MICROSECONDS, call.now, call.now - _ACTIVE_MICROSECONDS
    )
    prevented = model.build_prevented_list(
        await store.list_prevented(call.tx, projects, call.now - call.now % DAY)
    )
    return model.LiveCounts(
        needs_you=len(needs),
        agents=int(row["agents"]) if row else 0,
        active=int(row["active"]) if row else 0,
        locks=int(row["locks"]) if row else 0,
        prevented=len(prevented),
    )


@operation("memory_get_standup", role="readonly", session="optional", example={"project": "shop"})
async def get_standup(
    call: Call,
    project: Annotated[
        ProjectOrAll | None, Field(description="A project; left out or `*`, every project that you may see.")
    ] = None,
    since: TimeArgument | None = None,
) -> Standup:
    """What was done since a time (default: a day ago), by whom, with what proof, and what is open."""
    projects = await list_chosen_projects(call, project)
    return await build_standup(call.tx, projects, call.now - DAY if since is None else since, call.now)


@operation("memory_list_events", role="readonly", session="optional", example={"project": "shop"})
async def list_events(
    call: Call,
    project: Annotated[
        ProjectOrAll | None, Field(description="A project; left out or `*`, every project that you may see.")
    ] = None,
    since: TimeArgument | None = None,
    until: TimeArgument | None = None,
    kinds: model.EventKinds | None = None,
    actor: Annotated[AgentName | None, Field(description="Only events that this agent caused.")] = None,
    limit: model.EventLimit = 200,
    cursor: model.EventCursor | None = None,
) -> model.EventPage:
    """Events that the caller may see, newest first."""
    projects = await list_chosen_projects(call, project)
    before = _parse_cursor(cursor) if cursor else (until, _LATEST[1]) if until is not None else _LATEST
    filters = store.EventFilters(call.now, kinds or (), actor)
    rows = await store.list_events_before(call.tx, projects, since or 0, before, filters, limit)
    events = [model.build_event(row) for row in await _filter_visible(call, rows)]
    await _add_titles_of_items(call, events)
    return model.EventPage(
        count=len(events),
        events=events,
        next_cursor=f"{rows[-1]['at']}-{rows[-1]['n']}" if len(rows) == limit else "",
    )


async def _add_titles_of_items(call: Call, events: Sequence[model.ListedEvent]) -> None:
    """Events of the backlog have the id of their item only: its title may change."""
    named = [event for event in events if event.kind == BACKLOG_CHANGED.name and "id" in event.body]
    if not named:
        return
    projects, ids = {event.project for event in named}, {str(event.body["id"]) for event in named}
    titles = {
        (row["project"], row["id"]): row["title"]
        for row in await store.list_titles_of_items(call.tx, sorted(projects), sorted(ids))
    }
    for event in named:
        if title := titles.get((event.project, str(event.body["id"]))):
            event.body["title"] = title


async def list_chosen_projects(call: Call, project: object) -> list[str]:
    """The named project, or every project that the caller may see."""
    return (
        [call.project] if isinstance(project, str) else await list_visible_project_names(call.tx, call.caller)
    )


def _parse_cursor(cursor: str) -> tuple[int, int]:
    at, _, n = cursor.partition("-")
    return int(at), int(n)


async def _filter_visible(call: Call, rows: Sequence[Row]) -> list[Row]:
    """Leave out the events whose audience the caller does not belong to."""
    own_project, readers = call.project, {}
    for project in {row["project"] for row in rows}:
        call.project = project
        readers[project] = await load_event_reader(call)
    call.project = own_project
    return [row for row in rows if readers[row["project"]].can_see_audience(row["audience"])]


async def _list_needs(call: Call, projects: list[str]) -> list[model.NeedsYou]:
    administered = [project for project in projects if await _is_admin(call, project)]
    agent = "" if call.is_anonymous else call.agent
    needs = [
        *await _list_requests(call, projects),
        *await _list_mail(call, projects, administered, agent),
        *await _list_blocked(call, projects),
        *await _list_questions(call, projects),
        *await _list_pending(call, administered),
    ]
    newest_first = sorted(needs, key=lambda need: need.since, reverse=True)
    return sorted(newest_first, key=model.rank_need)


async def _list_requests(call: Call, projects: list[str]) -> list[model.NeedsYou]:
    return [
        model.NeedsYou(
            kind="idle" if row["kind"] == "idle" else "request",
            project=row["project"],
            id=row["id"],
            since=iso(row["created_at"]),
            agent=row["agent"],
            title=row["title"],
            request=request_model.build_request(row, call.now),
        )
        for row in await request_store.list_waiting_requests(call.tx, projects, call.now)
    ]


async def _is_admin(call: Call, project: str) -> bool:
    """Without keys the person at this machine administers everything."""
    if not call.settings.auth_on and ALL_PROJECTS in call.caller.projects:
        return True
    return await is_project_admin(call.tx, project, call.caller, call.agent)


async def _list_mail(
    call: Call, projects: list[str], administered: list[str], agent: str
) -> list[model.NeedsYou]:
    """What asks this agent for something, and what any agent asks of a person in projects that they administer."""
    rows = [
        *await store.list_mail_for_agent(call.tx, projects, agent, _COMPLETED),
        *await store.list_mail_for_people(call.tx, administered, _COMPLETED),
    ]
    newest = sorted({row["id"]: row for row in rows}.values(), key=lambda row: -row["created_at"])
    return [
        model.NeedsYou(
            kind="mail",
            project=row["project"],
            id=row["id"],
            since=iso(row["created_at"]),
            agent=row["sender"],
            title=row["subject"] or row["category"],
            text=model.short_text(row["body"]),
            thread_id=row["thread"],
        )
        for row in newest[: store.MAX_WAITING]
    ]


async def _list_blocked(call: Call, projects: list[str]) -> list[model.NeedsYou]:
    return [
        model.NeedsYou(
            kind="blocked",
            project=row["project"],
            id=row["id"],
            since=iso(row["updated_at"]),
            agent=row["agent"],
            title=row["title"],
            text=row["blocked_reason"],
            where=row["blocked_by"] or row["waiting_for"],
        )
        for row in await store.list_blocked_work(call.tx, projects)
    ]


async def _list_questions(call: Call, projects: list[str]) -> list[model.NeedsYou]:
    questions = [
        model.NeedsYou(
            kind="question",
            project=row["project"],
            id=row["id"],
            since=iso(row["updated_at"]),
            agent=row["assigned_to"] or row["created_by"],
            title=row["title"],
        )
        for row in await store.list_questions_of_items(call.tx, projects)
    ]
    disputed = [
        model.NeedsYou(
            kind="disputed",
            project=row["project"],
            id=row["id"],
            since=iso(row["changed_at"]),
            agent=row["author"],
            title=row["title"],
        )
        for row in await store.list_doubtful_documents(call.tx, projects)
    ]
    return questions + disputed


async def _list_pending(call: Call, projects: list[str]) -> list[model.NeedsYou]:
    return [
        model.NeedsYou(
            kind="pending_agent",
            project=row["project"],
            id=row["name"],
            since=iso(row["created_at"]),
            agent=row["name"],
            title=row["last_task"],
        )
        for row in await store.list_pending_agents(call.tx, projects)
    ]
