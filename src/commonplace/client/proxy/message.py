"""One line of an agent: what it is, and what has to be said about it over HTTP."""

import json
from typing import Any, Final

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
INTERNAL_ERROR: Final = -32603
# Of the range that JSON-RPC leaves to implementations and MCP does not use.
UNAVAILABLE: Final = -32000
LOST: Final = -32001
REFUSED: Final = -32003

LISTEN: Final = "subscriptions/listen"
CANCELLED: Final = "notifications/cancelled"

_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_WRAPPED: Final = "=?base64?"

Id = str | int


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """What the agent is told instead of an answer of the server."""

    def __init__(self, code: int, text: str, **details: Any) -> None:
        super().__init__(text)
        self.code, self.text, self.details = code, text, details

    def line(self, request_id: Id | None) -> bytes:
        error: dict[str, Any] = {"code": self.code, "message": self.text}
        if self.details:
            error["data"] = self.details
        return encoded({"jsonrpc": "2.0", "id": request_id, "error": error})


class Message:
    """A request, a notification, or an answer to a question of the server."""

    __slots__ = ("_read", "line", "version")

    def __init__(self, line: bytes) -> None:
        try:
            read = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            raise Refused(PARSE_ERROR, f"the line is not valid JSON: {wrong}") from None
        if not isinstance(read, dict):
            raise Refused(INVALID_REQUEST, "a line must be one JSON-RPC 2.0 message")
        self.line, self._read = line, read
        meta = self.params.get("_meta")
        self.version = meta.get(_VERSION) if isinstance(meta, dict) else None
        """The protocol version that a message of the stateless era carries; None in the era of sessions."""

    @property
    def id(self) -> Id | None:
        found = self._read.get("id")
        return found if isinstance(found, str) or type(found) is int else None

    @property
    def method(self) -> str:
        return str(self._read.get("method", ""))

    @property
    def params(self) -> dict[str, Any]:
        params = self._read.get("params")
        return params if isinstance(params, dict) else {}

    @property
    def asks(self) -> bool:
        return "id" in self._read and "method" in self._read

    @property
    def modern(self) -> bool:
        return self.version is not None

    def headers(self) -> list[str]:
        """What the stateless era repeats in headers; the era of sessions has its own."""
        if not self.modern:
            return []
        lines = [
            f"MCP-Protocol-Version: {header_value(str(self.version))}",
            f"Mcp-Method: {header_value(self.method)}",
        ]
        name = self.params.get(_NAMED_BY.get(self.method, ""))
        return [*lines, f"Mcp-Name: {header_value(name)}"] if isinstance(name, str) else lines


def encoded(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode()


def header_value(value: str) -> str:
    """As it is where a header can carry it, else wrapped as the protocol says; never with a line end."""
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not value.startswith(_WRAPPED):
        return value
    import base64  # noqa: PLC0415 - names are nearly always plain

    return f"{_WRAPPED}{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode()}?="
