"""Read the events of a project in order, for clients that follow it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from commonplace import access, events
from commonplace.arguments import MAX_INTEGER
from commonplace.audience import EventReader, load_event_reader
from commonplace.call import Call
from commonplace.clock import DAY, SECOND, iso_exact
from commonplace.operation import Reply, operation

EventNumber = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
EventLimit = Annotated[int, Field(ge=1, le=1000)]
_MAX_EVENTS_OF_PROJECT = 200
_RESUME_OVERLAP = 10 * SECOND


class ProjectEvent(Reply):
    n: int
    kind: str
    uri: str
    at: str
    actor: str = ""
    body: dict[str, Any] = {}
    project: str = ""
    """Only where the events of several projects are followed at once."""


class ProjectEventPage(Reply):
    """`last` is the number to continue from; it also counts events that the caller may not see.

    With `reset` the events between `after` and `last` cannot be listed: read the state itself, then continue.
    """

    last: int
    events: list[ProjectEvent]
    reset: Literal["", "expired", "ahead"] = ""


@operation("resource:events", role="readonly", session=False)
async def read_events(
    call: Call, project: str, after: EventNumber | None = None, limit: EventLimit = 200
) -> ProjectEventPage:
    """List the events after a number; without `after`, return the latest number."""
    if after is None:
        return ProjectEventPage(last=await events.load_last_event_number(call.tx, project), events=[])
    stored = await events.list_events_after(call.tx, project, after, limit)
    if not stored or stored[0].n != after + 1:
        kept = await events.load_kept_numbers(call.tx, project)
        if reset := _find_reset(after, kept):
            return ProjectEventPage(last=kept.last, events=[], reset=reset)
    reader = await load_event_reader(call)
    visible = [_render_event(event) for event in stored if reader.can_see_audience(event.audience)]
    return ProjectEventPage(last=stored[-1].n if stored else after, events=visible)


class AllEventsPage(Reply):
    """`positions` are the numbers to continue from, by project.

    With `reset` the events between `since` and `last`, a time in microseconds, cannot be listed.
    """

    positions: dict[str, int]
    events: list[ProjectEvent]
    last: int = 0
    reset: Literal["", "expired", "ahead"] = ""


@operation("resource:all_events", role="readonly", session=False)
async def read_all_events(
    call: Call,
    positions: dict[str, EventNumber] | None = None,
    since: EventNumber | None = None,
) -> AllEventsPage:
    """List the events after these positions in every project that the caller may see, in the order of time.

    Without positions nothing is listed, or with `since` everything from shortly before that time: replicas have clocks
    of their own.
    """
    last_numbers = await events.list_last_event_numbers(call.tx)
    visible = {name: n for name, n in last_numbers.items() if access.can_read_project(call.caller, name)}
    if since is not None:
        last = await events.load_last_event_time(call.tx, list(visible))
        if reset := _find_reset_of_all(call, since, last):
            return AllEventsPage(positions=visible, events=[], last=last or call.now, reset=reset)
        known = await events.list_numbers_before(call.tx, list(visible), since - _RESUME_OVERLAP)
    else:
        known = visible if positions is None else positions
    rows: list[tuple[int, ProjectEvent]] = []
    for project, last in visible.items():
        if last > known.get(project, 0):
            stored = await events.list_events_after(
                call.tx, project, known.get(project, 0), _MAX_EVENTS_OF_PROJECT
            )
            call.project = project
            reader = await load_event_reader(call)
            rows += [
                (event.at, _render_event(event, project))
                for event in stored
                if reader.can_see_audience(event.audience)
            ]
            visible[project] = stored[-1].n if stored else last
    return AllEventsPage(
        positions=visible, events=[event for _, event in sorted(rows, key=lambda row: row[0])]
    )


@operation("resource:event_reader", role="readonly", session=False)
async def find_event_reader(call: Call, project: str) -> EventReader:
    """Who hears the events of this project on the caller's connection."""
    del project
    return await load_event_reader(call)


def _find_reset_of_all(call: Call, since: int, last: int | None) -> Literal["", "expired", "ahead"]:
    """Why events that follow this time are missing: those before a time are deleted, or none is as new."""
    if since < call.now - call.settings.event_days * DAY:
        return "expired"
    return "ahead" if last is None or since > last + _RESUME_OVERLAP else ""


def _find_reset(after: int, kept: events.KeptNumbers) -> Literal["", "expired", "ahead"]:
    """Why events that follow this number are missing. Numbers have no gaps, so a gap was deleted."""
    if after > kept.last:
        return "ahead"
    return "expired" if after < kept.first - 1 else ""


def _render_event(event: events.Event, project: str = "") -> ProjectEvent:
    return ProjectEvent(
        n=event.n,
        kind=event.kind,
        uri=event.uri,
        at=iso_exact(event.at),
        actor=event.actor,
        body=event.body,
        project=project,
    )
