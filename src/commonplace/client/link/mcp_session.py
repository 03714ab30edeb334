"""The MCP session of the 2025 protocol, which is reopened on a restarted server without the agent noticing."""

import contextlib
import json
import threading
from typing import Any, Final

from commonplace.client.link.message import RpcMessage, RpcRefusal, encode_message
from commonplace.client.link.upstream import Exchange, McpUpstream, SessionLost

_INITIALIZED_MESSAGE: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
SUBSCRIBE: Final = "resources/subscribe"
_UNSUBSCRIBE: Final = "resources/unsubscribe"
_LEVEL: Final = "logging/setLevel"
_LIST_KINDS: Final = ("tools", "prompts", "resources")


class ProxySession:
    def __init__(self, upstream: McpUpstream) -> None:
        self._upstream = upstream
        self._introduction: RpcMessage | None = None
        self._id = ""
        self._version = ""
        self._settings: dict[str, RpcMessage] = {}
        self._renew_lock = threading.Lock()
        self.is_open = threading.Event()
        """Clear during `initialize`: later messages wait for its session."""
        self.is_open.set()

    @property
    def session_id(self) -> str:
        return self._id

    def begin_session(self) -> None:
        """The agent sends `initialize`: forget the previous session."""
        self.is_open.clear()
        self._settings.clear()

    def session_headers(self) -> list[str]:
        if not self._id:
            return []
        return [f"Mcp-Session-Id: {self._id}", f"MCP-Protocol-Version: {self._version}"]

    def record_introduction(self, message: RpcMessage, session_id: str, line: bytes) -> None:
        if session_id:
            self._version = str(json.loads(line).get("result", {}).get("protocolVersion", ""))
            self._introduction, self._id = message, session_id

    def remember_setting(self, message: RpcMessage, line: bytes) -> None:
        """Remember subscriptions and the log level, which a restarted server does not know."""
        if message.method not in (SUBSCRIBE, _UNSUBSCRIBE, _LEVEL) or "error" in json.loads(line):
            return
        uri = str(message.params.get("uri", ""))
        if message.method == _UNSUBSCRIBE:
            self._settings.pop(uri, None)
        else:
            self._settings[uri] = message

    def renew_session(self, lost: str) -> None:
        """Replace a lost session, with the subscriptions and log level that the agent had set."""
        with self._renew_lock:
            if self._id != lost or self._introduction is None:
                return
            exchange = Exchange(self._introduction)
            for line in self._upstream.send_anywhere(exchange):
                self.record_introduction(self._introduction, exchange.session_id, line)
            self._send_quietly(RpcMessage(_INITIALIZED_MESSAGE))
            self.restore_settings()

    def restore_settings(self) -> None:
        for message in tuple(self._settings.values()):
            self._send_quietly(message)

    def change_notices(self) -> list[bytes]:
        """Notices that everything the agent subscribed to may have changed while the stream was closed."""
        lists = [_encode_notice(f"notifications/{name}/list_changed", {}) for name in _LIST_KINDS]
        return lists + [
            _encode_notice("notifications/resources/updated", {"uri": uri}) for uri in self._settings if uri
        ]

    def _send_quietly(self, message: RpcMessage) -> None:
        with contextlib.suppress(SessionLost, RpcRefusal):
            for _ in self._upstream.send_anywhere(Exchange(message, self.session_headers())):
                pass


def _encode_notice(method: str, params: dict[str, Any]) -> bytes:
    return encode_message({"jsonrpc": "2.0", "method": method, "params": params})
