"""From bytes to a JSON value: hostile input is refused, and an honest body stays cheap.

The costly checks run only where a cheap upper bound cannot rule the danger out: brackets and commas
bound the number of values, and as many colons as keys means that no key is repeated.
Arguments of operations are checked later, in `operation.py`; JSON-RPC in `mcp/messages.py`.
"""

import asyncio
import json
import re
from typing import Any, Final

import msgspec

from commonplace.edges.http.refusals import MalformedJson
from commonplace.edges.limits import ClientLimits

# Possessive, and the closing quote optional: linear even on a string that never ends.
_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_INT64: Final = range(-(2**63), 2**63)
_decode = msgspec.json.Decoder().decode


async def read_json(body: bytes, limits: ClientLimits) -> Any:
    """Decode any JSON value; a large body is decoded in a thread."""
    if len(body) > limits.decode_inline_bytes:
        return await asyncio.to_thread(_decode_checked, body, limits)
    return _decode_checked(body, limits)


def _decode_checked(body: bytes, limits: ClientLimits) -> Any:
    most = limits.json_values
    if _count_values_at_most(body) > most and _count_values_at_most(_STRING.sub(b"", body)) > most:
        raise MalformedJson(f"The body has more than {most} values.", hint="Send less at once.")
    try:
        tree = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise MalformedJson(f"The body is not valid JSON: {error}.", hint="Send JSON in UTF-8.") from None
    keys = _count_keys(tree, limits.json_depth)
    if body.count(b":") != keys:
        _refuse_repeated_keys(body)
    if b"\\u0000" in body:
        _refuse_nul(tree)
    return tree


def _count_values_at_most(body: bytes) -> int:
    return body.count(b",") + body.count(b"[") + body.count(b"{") + 1


def _count_keys(tree: Any, depth: int) -> int:
    """Count the object keys of the whole tree, and refuse what is too deep or a number too large."""
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
                raise MalformedJson("A number does not fit in 64 bits.", hint="Send it as a string.")
        depth -= 1
        # One level of plain values may lie below the deepest container.
        if depth < -1:
            raise MalformedJson("The body is nested too deeply.", hint="Send a flatter value.")
        level = below
    return keys


def _refuse_repeated_keys(body: bytes) -> None:
    def require_unique(pairs: list[tuple[str, Any]]) -> None:
        if len(pairs) != len(dict(pairs)):
            raise MalformedJson("An object repeats a key.", hint="Send each key once.")

    json.loads(body, object_pairs_hook=require_unique)


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
            raise MalformedJson("Text must not contain the character U+0000.", hint="Remove it.")
