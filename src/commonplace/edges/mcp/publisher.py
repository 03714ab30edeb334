"""Who subscribed to what, and the notifications that each stream must send.

A change that still waits to be sent is not queued again: it says "look again", and saying it twice says no
more. So what waits for a listener is bounded by what it asked for and by the audiences that changed, however slowly it
reads. Who belongs to an audience is asked when a notification is sent, since a connection may act as another agent by
then. The product publishes after commit (edges/product_host.py); the transports send.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from typing import Any, Final

from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import EVERYONE, Audience, Host, McpContext
from commonplace.edges.mcp.messages import INTERNAL_ERROR, Notification, ProtocolError

# The method of a notification and the URI it is about; "" where it is about a list.
Topic = tuple[str, str]

TOOLS_CHANGED: Final[Topic] = ("notifications/tools/list_changed", "")
PROMPTS_CHANGED: Final[Topic] = ("notifications/prompts/list_changed", "")
RESOURCES_CHANGED: Final[Topic] = ("notifications/resources/list_changed", "")
LIST_TOPICS: Final = (TOOLS_CHANGED, PROMPTS_CHANGED, RESOURCES_CHANGED)
_UPDATED: Final = "notifications/resources/updated"
# Not sent: the subscriptions of a stream have changed on another replica.
SUBSCRIPTIONS_CHANGED: Final[Topic] = ("", "")


def resource_topic(uri: str) -> Topic:
    return (_UPDATED, uri)


class Listener:
    """The topics that one stream asked for, and those of them that changed since it last looked."""

    __slots__ = ("_changed", "_pending", "caller", "closed", "topics")

    def __init__(self, caller: Any, *, closed: bool) -> None:
        self.caller = caller
        self.topics: set[Topic] = set()
        self.closed = closed
        self._pending: dict[Topic, set[Audience]] = {}
        self._changed = asyncio.Event()

    def add_change(self, topic: Topic, audience: Audience = EVERYONE) -> None:
        self._pending.setdefault(topic, set()).add(audience)
        self._changed.set()

    def close(self) -> None:
        self.closed = True
        self._changed.set()

    async def wait_for_changes(self) -> list[tuple[Topic, Sequence[Audience]]]:
        """Wait until something has changed, and for whom it is; an empty list when the stream must end."""
        await self._changed.wait()
        self._changed.clear()
        pending, self._pending = self._pending, {}
        return [(topic, sorted(audiences)) for topic, audiences in pending.items()]


class Publisher:
    """Called on the event loop, after a change is committed."""

    def __init__(self, limits: ClientLimits | None = None) -> None:
        self._limits = limits or ClientLimits()
        self._by_topic: dict[Topic, set[Listener]] = {}
        self._listeners: set[Listener] = set()
        self._closed = False

    @property
    def listener_count(self) -> int:
        return len(self._listeners)

    def publish_resource_update(self, uri: str, scope: str = "", audience: str = "") -> None:
        """Notify those who subscribed and may learn of this change: the host knows who belongs to an audience."""
        for listener in self._by_topic.get((_UPDATED, uri), ()):
            listener.add_change((_UPDATED, uri), (scope, audience) if audience else EVERYONE)

    def publish_list_change(self, topic: Topic) -> None:
        for listener in self._by_topic.get(topic, ()):
            listener.add_change(topic)

    def close(self) -> None:
        """End every stream, and every later one at its start, so that the server can stop."""
        self._closed = True
        for listener in self._listeners:
            listener.close()

    def open_listener(self, caller: Any, topics: Iterable[Topic]) -> Listener:
        if len(self._listeners) >= self._limits.listeners:
            raise ProtocolError(INTERNAL_ERROR, "Too many listeners; try again later.")
        listener = Listener(caller, closed=self._closed)
        self._listeners.add(listener)
        for topic in topics:
            self.add_topic(listener, topic)
        return listener

    def add_topic(self, listener: Listener, topic: Topic) -> None:
        listener.topics.add(topic)
        self._by_topic.setdefault(topic, set()).add(listener)

    def remove_topic(self, listener: Listener, topic: Topic) -> None:
        listener.topics.discard(topic)
        subscribed = self._by_topic.get(topic, set())
        subscribed.discard(listener)
        if not subscribed:
            self._by_topic.pop(topic, None)

    def remove_listener(self, listener: Listener) -> None:
        listener.close()
        self._listeners.discard(listener)
        for topic in tuple(listener.topics):
            self.remove_topic(listener, topic)


async def stream_notifications(
    host: Host,
    context: McpContext,
    listener: Listener,
    tag: dict[str, Any] | None = None,
    on_subscriptions: Callable[[], Awaitable[None]] | None = None,
) -> AsyncIterator[Notification]:
    """The notifications that this listener may see, until it is closed."""
    while not listener.closed:
        for (method, uri), audiences in await listener.wait_for_changes():
            if not method:
                if on_subscriptions is not None:
                    await on_subscriptions()
                continue
            if uri and not await host.can_notify(context, uri, audiences):
                continue
            params: dict[str, Any] = {"uri": uri} if uri else {}
            yield Notification(method, params | {"_meta": tag} if tag else params)
