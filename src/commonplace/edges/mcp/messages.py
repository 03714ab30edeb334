"""JSON-RPC as both eras of MCP speak it: protocol versions, error codes, reading a message, the bytes of a reply.

What a message asks for is found in methods.py, modern/ and legacy/.
"""

import logging
from collections.abc import Awaitable
from typing import Any, Final

import msgspec

from commonplace.edges.http.refusals import MalformedJson
from commonplace.edges.http.request import read_json
from commonplace.edges.http.response import ReaderStalled
from commonplace.edges.limits import ClientLimits

MODERN_VERSIONS: Final = ("2026-07-28",)
LEGACY_VERSIONS: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
ALL_VERSIONS: Final = (*MODERN_VERSIONS, *LEGACY_VERSIONS)

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
RESOURCE_NOT_FOUND: Final = -32002
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

# Over HTTP an error of these codes has a status; every other one is a reply like any (200).
HTTP_STATUS: Final = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    INVALID_PARAMS: 400,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    METHOD_NOT_FOUND: 404,
}

RequestId = str | int
Message = dict[str, Any]

encode = msgspec.json.Encoder().encode

_log = logging.getLogger(__name__)


class Interruption(Exception):
    """Ends the serving of a request before it has a result."""


class ProtocolError(Interruption):
    """A request that cannot be served as it stands; becomes a JSON-RPC error."""

    def __init__(self, code: int, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class Notification(msgspec.Struct, frozen=True):
    """A JSON-RPC notification of the server: a method and its parameters."""

    method: str
    params: dict[str, Any]


async def read_message(body: bytes, limits: ClientLimits) -> Message:
    try:
        message = await read_json(body, limits)
    except MalformedJson as refusal:
        raise ProtocolError(PARSE_ERROR, refusal.message) from None
    if isinstance(message, list):
        raise ProtocolError(INVALID_REQUEST, "Batches are not supported; send one message at a time.")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, "The body must be one JSON-RPC 2.0 message.")
    return message


async def compute_reply(request_id: RequestId, result: Awaitable[bytes]) -> tuple[bytes, int | None]:
    """Exactly one reply, whatever happens while the result is computed, and its code if it is an error."""
    try:
        return encode_result(request_id, await result), None
    except ProtocolError as error:
        return encode_error(request_id, error), error.code
    except ReaderStalled:
        raise
    except Exception:  # noqa: BLE001 - the outermost line of this edge
        _log.exception("request failed")
        internal = ProtocolError(INTERNAL_ERROR, "Internal error; see the server log.")
        return encode_error(request_id, internal), INTERNAL_ERROR


def encode_result(request_id: RequestId, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + encode(request_id) + b',"result":' + result + b"}"


def encode_error(request_id: RequestId | None, error: ProtocolError) -> bytes:
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["data"] = error.details
    return b'{"jsonrpc":"2.0","id":' + encode(request_id) + b',"error":' + encode(body) + b"}"


def encode_notification(notification: Notification) -> bytes:
    return encode({"jsonrpc": "2.0", "method": notification.method, "params": notification.params})


def encode_server_request(request_id: str, method: str, params: dict[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def require_request_id(message: Message) -> RequestId:
    request_id = message.get("id")
    # An exact type: True is an int to Python, not to JSON.
    if (isinstance(request_id, str) or type(request_id) is int) and isinstance(message.get("method"), str):
        return request_id
    raise ProtocolError(
        INVALID_REQUEST, "A request needs a method, and an id that is a string or an integer."
    )


def read_params(message: Message) -> dict[str, Any]:
    params = message.get("params")
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params must be an object.")
    return params


def read_meta(params: dict[str, Any]) -> dict[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def require_text_param(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"params.{name} must be a string.")
    return value


def read_object_param(params: dict[str, Any], name: str) -> dict[str, Any]:
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_PARAMS, f"params.{name} must be an object.")
    return value
