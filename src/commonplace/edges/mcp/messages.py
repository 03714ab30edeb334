"""JSON-RPC as both protocol eras speak it: versions, codes, and the bytes of an answer."""

from typing import Any, Final

import msgspec

# What a refusal is called when no JSON-RPC message is there to be answered, as on every other route.
_REFUSALS: Final = {
    400: "invalid",
    401: "unauthenticated",
    403: "foreign_origin",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "too_slow",
    413: "too_large",
    415: "unsupported_media_type",
    421: "foreign_origin",
    429: "too_many",
    500: "internal",
}

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

RequestId = str | int
Message = dict[str, Any]

encode = msgspec.json.Encoder().encode


class Interruption(Exception):  # noqa: N818 - the way out of serving a request, not a fault
    """Whatever ends the serving of a request before it has a result."""


class ProtocolError(Interruption):
    """A request that cannot be served as it stands; becomes a JSON-RPC error."""

    def __init__(self, code: int, message: str, details: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.details = details


class Notice(msgspec.Struct, frozen=True):
    """Something the server says without being asked: a method and its parameters."""

    method: str
    params: dict[str, Any]


def result_reply(request_id: RequestId, result: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":' + encode(request_id) + b',"result":' + result + b"}"


def error_reply(request_id: RequestId | None, error: ProtocolError) -> bytes:
    body: dict[str, Any] = {"code": error.code, "message": error.message}
    if error.details is not None:
        body["data"] = error.details
    return b'{"jsonrpc":"2.0","id":' + encode(request_id) + b',"error":' + encode(body) + b"}"


def refusal_body(status: int, message: str, hint: str = "") -> bytes:
    shown = {"error": _REFUSALS[status], "message": message}
    return encode(shown | {"hint": hint} if hint else shown)


def notification(notice: Notice) -> bytes:
    return encode({"jsonrpc": "2.0", "method": notice.method, "params": notice.params})


def server_request(request_id: str, method: str, params: dict[str, Any]) -> bytes:
    return encode({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})


def checked_request_id(message: Message) -> RequestId:
    found = message.get("id")
    # An exact type: True is an int to Python, not to JSON.
    if (isinstance(found, str) or type(found) is int) and isinstance(message.get("method"), str):
        return found
    raise ProtocolError(INVALID_REQUEST, "a request needs a method, and an id that is a string or an integer")


def params_of(message: Message) -> dict[str, Any]:
    params = message.get("params")
    if params is None:
        return {}
    if not isinstance(params, dict):
        raise ProtocolError(INVALID_PARAMS, "params must be an object")
    return params


def meta_of(params: dict[str, Any]) -> dict[str, Any]:
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}


def text_param(params: dict[str, Any], name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise ProtocolError(INVALID_PARAMS, f"params.{name} must be a string")
    return value


def object_param(params: dict[str, Any], name: str) -> dict[str, Any]:
    value = params.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ProtocolError(INVALID_PARAMS, f"params.{name} must be an object")
    return value
