"""One JSON-RPC message of an agent, and the HTTP headers that go with it."""

import json
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603
# In the range that JSON-RPC leaves to implementations and MCP does not use.
UNAVAILABLE: Final = -32000
REFUSED: Final = -32003

LISTEN: Final = "subscriptions/listen"
CANCELLED: Final = "notifications/cancelled"

_VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
_CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
_NAME_FIELDS: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_BASE64_PREFIX: Final = "=?base64?"

Id = str | int


class RpcRefusal(Exception):
    """The JSON-RPC error that the agent gets instead of the server's answer."""

    def __init__(self, code: int, text: str, **details: Any) -> None:
        super().__init__(text)
        self.code, self.text, self.details = code, text, details

    def to_line(self, request_id: Id | None) -> bytes:
        error: dict[str, Any] = {"code": self.code, "message": self.text}
        if self.details:
            error["data"] = self.details
        return encode_message({"jsonrpc": "2.0", "id": request_id, "error": error})


class RpcMessage:
    """A request, a notification, or an answer to a request of the server."""

    __slots__ = ("_fields", "line", "version")

    def __init__(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise RpcRefusal(PARSE_ERROR, f"the line is not valid JSON: {error}") from None
        if not isinstance(message, dict):
            raise RpcRefusal(INVALID_REQUEST, "a line must be one JSON-RPC 2.0 message")
        self.line, self._fields = line, message
        meta = self.params.get("_meta")
        self.version = meta.get(_VERSION_KEY) if isinstance(meta, dict) else None
        """The protocol version in a stateless message (2026); None in the protocol with sessions (2025)."""

    @property
    def id(self) -> Id | None:
        request_id = self._fields.get("id")
        return request_id if isinstance(request_id, str) or type(request_id) is int else None

    @property
    def method(self) -> str:
        return str(self._fields.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        params = self._fields.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def client_name(self) -> str:
        """The name of the agent program's MCP client, in the messages that say it; else empty."""
        meta = self.params.get("_meta")
        client = self.params.get("clientInfo") or (meta.get(_CLIENT_KEY) if isinstance(meta, dict) else None)
        return str(client.get("name", "")) if isinstance(client, dict) else ""

    @property
    def is_request(self) -> bool:
        return "id" in self._fields and "method" in self._fields

    @property
    def is_stateless(self) -> bool:
        return self.version is not None

    def protocol_headers(self) -> list[str]:
        """The headers that repeat parts of a stateless message."""
        if not self.is_stateless:
            return []
        lines = [
            f"MCP-Protocol-Version: {encode_header_value(str(self.version))}",
            f"Mcp-Method: {encode_header_value(self.method)}",
        ]
        name = self.params.get(_NAME_FIELDS.get(self.method, ""))
        return [*lines, f"Mcp-Name: {encode_header_value(name)}"] if isinstance(name, str) else lines


def encode_message(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def encode_header_value(value: str) -> str:
    """The value if a header can carry it, else base64 as the protocol defines; never with a line end."""
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not value.startswith(_BASE64_PREFIX):
        return value
    import base64  # names are nearly always plain

    return f"{_BASE64_PREFIX}{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="
