"""From bytes to a message: nothing hostile passes, and the honest case stays cheap.

The costly checks run only where a cheap upper bound cannot rule the danger out: brackets and commas
bound the number of values, and as many colons as keys means that no key can be there twice.
"""

import asyncio
import json
import re
from typing import Any, Final

import msgspec

from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import INVALID_REQUEST, PARSE_ERROR, Message, ProtocolError

# Possessive, and the closing quote optional: linear even on a string that never ends.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_INT64: Final = range(-(2**63), 2**63)
_decode = msgspec.json.Decoder().decode


async def read_message(body: bytes, limits: Limits) -> Message:
    return _checked(await read_json(body, limits))


async def read_json(body: bytes, limits: Limits) -> Any:
    """Any value; a large one is read away from the loop."""
    if len(body) > limits.parse_inline_bytes:
        return await asyncio.to_thread(_parse, body, limits)
    return _parse(body, limits)


def _checked(message: Any) -> Message:
    if isinstance(message, list):
        raise ProtocolError(INVALID_REQUEST, "batches are not served; send one message at a time")
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        raise ProtocolError(INVALID_REQUEST, "the body must be one JSON-RPC 2.0 message")
    return message


def _parse(body: bytes, limits: Limits) -> Any:
    if _values_at_most(body) > limits.nodes and _values_at_most(_STRING.sub(b"", body)) > limits.nodes:
        raise ProtocolError(PARSE_ERROR, f"more than {limits.nodes} values in one message")
    try:
        tree = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ProtocolError(PARSE_ERROR, f"the body is not valid JSON: {error}") from None
    keys = _inspect(tree, limits.depth)
    if body.count(b":") != keys:
        _refuse_doubled_keys(body)
    if b"\\u0000" in body:
        _refuse_nul(tree)
    return tree


def _values_at_most(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{") + 1


def _inspect(tree: Any, depth: int) -> int:
    """Walks level by level; the number of object keys in the whole tree."""
    keys = 0
    level = [tree]
    while level:
        below: list[Any] = []
        for value in level:
            kind = type(value)
            if kind is dict:
                keys += len(value)
                below.extend(value.values())
            elif kind is list:
                below.extend(value)
            elif kind is int and value not in _INT64:
                raise ProtocolError(PARSE_ERROR, "a number is beyond 64 bits")
        depth -= 1
        # One level of plain values may lie below the deepest container.
        if depth < -1:
            raise ProtocolError(PARSE_ERROR, "the message is nested too deeply")
        level = below
    return keys


def _refuse_doubled_keys(body: bytes) -> None:
    def unique(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) != len(dict(pairs)):
            raise ProtocolError(PARSE_ERROR, "an object has the same key twice")

    json.loads(body, object_pairs_hook=unique)


def _refuse_nul(tree: Any) -> None:
    level = [tree]
    while level:
        value = level.pop()
        if isinstance(value, dict):
            level.extend(value.keys())
            level.extend(value.values())
        elif isinstance(value, list):
            level.extend(value)
        elif isinstance(value, str) and "\0" in value:
            raise ProtocolError(PARSE_ERROR, "text must not contain the character U+0000")
