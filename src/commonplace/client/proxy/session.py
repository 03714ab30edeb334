"""The session of the era that has sessions: kept so that it can be opened again without a word to the agent."""

import contextlib
import json
import threading
from typing import Any, Final

from commonplace.client.proxy.message import Message, Refused, encoded
from commonplace.client.proxy.upstream import Exchange, SessionLost, Upstream

_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
SUBSCRIBE: Final = "resources/subscribe"
_UNSUBSCRIBE: Final = "resources/unsubscribe"
_LEVEL: Final = "logging/setLevel"
_LISTS: Final = ("tools", "prompts", "resources")


class Session:
    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._introduction: Message | None = None
        self._id = ""
        self._version = ""
        self._kept: dict[str, Message] = {}
        self._renewing = threading.Lock()
        self.open = threading.Event()
        """Clear while an introduction is under way: what follows it has to wait for its session."""
        self.open.set()

    @property
    def id(self) -> str:
        return self._id

    def begin(self) -> None:
        """The agent introduces itself: whatever session it had, it means another one now."""
        self.open.clear()
        self._kept.clear()

    def headers(self) -> list[str]:
        if not self._id:
            return []
        return [f"Mcp-Session-Id: {self._id}", f"MCP-Protocol-Version: {self._version}"]

    def introduced(self, message: Message, session_id: str, line: bytes) -> None:
        if session_id:
            self._version = str(json.loads(line).get("result", {}).get("protocolVersion", ""))
            self._introduction, self._id = message, session_id

    def remember(self, message: Message, line: bytes) -> None:
        """What a server forgets when it ends: subscriptions and the level of its log."""
        if message.method not in (SUBSCRIBE, _UNSUBSCRIBE, _LEVEL) or "error" in json.loads(line):
            return
        uri = str(message.params.get("uri", ""))
        if message.method == _UNSUBSCRIBE:
            self._kept.pop(uri, None)
        else:
            self._kept[uri] = message

    def renew(self, lost: str) -> None:
        """Another session in place of the lost one, with all that the agent set in it."""
        with self._renewing:
            if self._id != lost or self._introduction is None:
                return
            exchange = Exchange(self._introduction)
            for line in self._upstream.lines(exchange):
                self.introduced(self._introduction, exchange.session_id, line)
            self._say(Message(_INITIALIZED))
            self.restore()

    def restore(self) -> None:
        for message in tuple(self._kept.values()):
            self._say(message)

    def look_again(self) -> list[bytes]:
        """Nobody knows what changed while nobody listened, so everything the agent listens to may have."""
        lists = [_notice(f"notifications/{name}/list_changed", {}) for name in _LISTS]
        return lists + [_notice("notifications/resources/updated", {"uri": uri}) for uri in self._kept if uri]

    def _say(self, message: Message) -> None:
        with contextlib.suppress(SessionLost, Refused):
            for _ in self._upstream.lines(Exchange(message, self.headers())):
                pass


def _notice(method: str, params: dict[str, Any]) -> bytes:
    return encoded({"jsonrpc": "2.0", "method": method, "params": params})
