"""Who wants to hear of what, and telling them.

A change that is still waiting to be told is not queued again: it says "look again", and saying it twice
says no more. So what waits for a listener never exceeds what it asked for, however slowly it reads.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, Final

from commonplace.edges.mcp.host import Context, Host
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import INTERNAL_ERROR, Notice, ProtocolError

# The method of a notification and the URI it is about; "" where it is about a list.
Topic = tuple[str, str]

TOOLS: Final[Topic] = ("notifications/tools/list_changed", "")
PROMPTS: Final[Topic] = ("notifications/prompts/list_changed", "")
RESOURCES: Final[Topic] = ("notifications/resources/list_changed", "")
LISTS: Final = (TOOLS, PROMPTS, RESOURCES)
_UPDATED: Final = "notifications/resources/updated"


def resource(uri: str) -> Topic:
    return (_UPDATED, uri)


class Listener:
    """One stream's share: the topics it asked for, and those of them that changed since it last looked."""

    __slots__ = ("_changed", "_waiting", "caller", "closed", "topics")

    def __init__(self, caller: Any, *, closed: bool) -> None:
        self.caller = caller
        self.topics: set[Topic] = set()
        self.closed = closed
        self._waiting: dict[Topic, None] = {}
        self._changed = asyncio.Event()

    def tell(self, topic: Topic) -> None:
        self._waiting[topic] = None
        self._changed.set()

    def close(self) -> None:
        self.closed = True
        self._changed.set()

    async def changes(self) -> list[Topic]:
        """Waits for something to have changed; nothing when the stream is to end."""
        await self._changed.wait()
        self._changed.clear()
        waiting, self._waiting = self._waiting, {}
        return list(waiting)


class Publisher:
    """Called on the event loop, after a change is committed."""

    def __init__(self, limits: Limits | None = None) -> None:
        self._limits = limits or Limits()
        self._by_topic: dict[Topic, set[Listener]] = {}
        self._listeners: set[Listener] = set()
        self._closed = False

    @property
    def listeners(self) -> int:
        return len(self._listeners)

    def resource_updated(self, uri: str, visible: Callable[[Any], bool] | None = None) -> None:
        """`visible` says which callers may hear of this one change; without it all who subscribed."""
        for listener in self._by_topic.get((_UPDATED, uri), ()):
            if visible is None or visible(listener.caller):
                listener.tell((_UPDATED, uri))

    def resources_changed(self) -> None:
        self._publish(RESOURCES)

    def tools_changed(self) -> None:
        self._publish(TOOLS)

    def prompts_changed(self) -> None:
        self._publish(PROMPTS)

    def close(self) -> None:
        """Ends every stream, and every later one at its start; for the shutdown of the server."""
        self._closed = True
        for listener in self._listeners:
            listener.close()

    def open(self, caller: Any, topics: Iterable[Topic]) -> Listener:
        if len(self._listeners) >= self._limits.listeners:
            raise ProtocolError(INTERNAL_ERROR, "too many listeners; try again later")
        listener = Listener(caller, closed=self._closed)
        self._listeners.add(listener)
        for topic in topics:
            self.add(listener, topic)
        return listener

    def add(self, listener: Listener, topic: Topic) -> None:
        listener.topics.add(topic)
        self._by_topic.setdefault(topic, set()).add(listener)

    def remove(self, listener: Listener, topic: Topic) -> None:
        listener.topics.discard(topic)
        interested = self._by_topic.get(topic, set())
        interested.discard(listener)
        if not interested:
            self._by_topic.pop(topic, None)

    def drop(self, listener: Listener) -> None:
        listener.close()
        self._listeners.discard(listener)
        for topic in tuple(listener.topics):
            self.remove(listener, topic)

    def _publish(self, topic: Topic) -> None:
        for listener in self._by_topic.get(topic, ()):
            listener.tell(topic)


async def notices(
    host: Host, context: Context, listener: Listener, tag: dict[str, Any] | None = None
) -> AsyncIterator[Notice]:
    """What this listener may know of, until it is closed."""
    while not listener.closed:
        for method, uri in await listener.changes():
            if uri and not await host.may_subscribe(context, uri):
                continue
            params: dict[str, Any] = {"uri": uri} if uri else {}
            yield Notice(method, params | {"_meta": tag} if tag else params)
