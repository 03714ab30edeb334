"""The events of a project, in order, for whoever follows it."""

from typing import Annotated, Any

from pydantic import Field

from commonplace import events
from commonplace.call import Call
from commonplace.clock import iso_exact
from commonplace.operation import Reply, operation


class Happened(Reply):
    n: int
    kind: str
    uri: str
    at: str
    actor: str = ""
    body: dict[str, Any] = {}


class Followed(Reply):
    """`last` is where to go on from; it passes over what the caller may not know."""

    last: int
    events: list[Happened] = []


@operation("resource:events", role="readonly", session=False)
async def read_events(
    call: Call, project: str, after: Annotated[int, Field(ge=0)] | None = None, limit: int = 200
) -> Followed:
    """What happened after an event; without one, where the project is now."""
    if after is None:
        return Followed(last=await events.last_number(call.tx, project))
    stored = await events.after(call.tx, project, after, limit)
    seen = [_happened(event) for event in stored if events.visible(event, call.caller)]
    return Followed(last=stored[-1].n if stored else after, events=seen)


def _happened(event: events.Event) -> Happened:
    return Happened(
        n=event.n, kind=event.kind, uri=event.uri, at=iso_exact(event.at), actor=event.actor, body=event.body
    )
