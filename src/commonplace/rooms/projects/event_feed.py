"""Read the events of a project in order, for clients that follow it."""

from typing import Annotated, Any

from pydantic import Field

from commonplace import events
from commonplace.audience import EventReader, load_event_reader
from commonplace.call import Call
from commonplace.clock import iso_exact
from commonplace.operation import Reply, operation


class ProjectEvent(Reply):
    n: int
    kind: str
    uri: str
    at: str
    actor: str = ""
    body: dict[str, Any] = {}


class ProjectEventPage(Reply):
    """`last` is the number to continue from; it also counts events that the caller may not see."""

    last: int
    events: list[ProjectEvent]


@operation("resource:events", role="readonly", session=False)
async def read_events(
    call: Call, project: str, after: Annotated[int, Field(ge=0)] | None = None, limit: int = 200
) -> ProjectEventPage:
    """List the events after a number; without `after`, return the latest number."""
    if after is None:
        return ProjectEventPage(last=await events.load_last_event_number(call.tx, project), events=[])
    stored = await events.list_events_after(call.tx, project, after, limit)
    reader = await load_event_reader(call)
    visible = [_render_event(event) for event in stored if reader.can_see_audience(event.audience)]
    return ProjectEventPage(last=stored[-1].n if stored else after, events=visible)


@operation("resource:event_reader", role="readonly", session=False)
async def find_event_reader(call: Call, project: str) -> EventReader:
    """Who hears the events of this project on the caller's connection."""
    del project
    return await load_event_reader(call)


def _render_event(event: events.Event) -> ProjectEvent:
    return ProjectEvent(
        n=event.n, kind=event.kind, uri=event.uri, at=iso_exact(event.at), actor=event.actor, body=event.body
    )
