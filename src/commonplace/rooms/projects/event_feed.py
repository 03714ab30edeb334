"""Read the events of a project in order, for clients that follow it."""

from typing import Annotated, Any, Literal

from pydantic import Field

from commonplace import events
from commonplace.arguments import MAX_INTEGER
from commonplace.audience import EventReader, load_event_reader
from commonplace.call import Call
from commonplace.clock import iso_exact
from commonplace.operation import Reply, operation

EventNumber = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
EventLimit = Annotated[int, Field(ge=1, le=1000)]


class ProjectEvent(Reply):
    n: int
    kind: str
    uri: str
    at: str
    actor: str = ""
    body: dict[str, Any] = {}


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


@operation("resource:event_reader", role="readonly", session=False)
async def find_event_reader(call: Call, project: str) -> EventReader:
    """Who hears the events of this project on the caller's connection."""
    del project
    return await load_event_reader(call)


def _find_reset(after: int, kept: events.KeptNumbers) -> Literal["", "expired", "ahead"]:
    """Why events that follow this number are missing. Numbers have no gaps, so a gap was deleted."""
    if after > kept.last:
        return "ahead"
    return "expired" if after < kept.first - 1 else ""


def _render_event(event: events.Event) -> ProjectEvent:
    return ProjectEvent(
        n=event.n, kind=event.kind, uri=event.uri, at=iso_exact(event.at), actor=event.actor, body=event.body
    )
