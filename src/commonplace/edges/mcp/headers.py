"""Headers that repeat the body, so that a proxy may route on them: they must say the same."""

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from commonplace.edges.mcp.host import MirroredParameter
from commonplace.edges.mcp.messages import HEADER_MISMATCH, Message, ProtocolError

VERSION: Final = "mcp-protocol-version"
METHOD: Final = "mcp-method"
NAME: Final = "mcp-name"
PARAM_PREFIX: Final = "mcp-param-"
ROUTING: Final = frozenset({VERSION, METHOD, NAME, "mcp-session-id", "authorization", "host", "origin"})

_NAMED_BY: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_BASE64_FORM: Final = re.compile(r"=\?base64\?(.*)\?=")
_DECIMAL: Final = re.compile(r"(-?[0-9]{1,20})(?:\.0+)?")


def check_routing(message: Message, params: dict[str, Any], headers: Mapping[str, str]) -> None:
    """The method and the name, once their protocol version is known to agree."""
    method = message.get("method")
    if headers.get(METHOD) != method:
        raise ProtocolError(HEADER_MISMATCH, f"{METHOD} differs from the body's method")
    named_by = _NAMED_BY.get(str(method))
    if named_by is None:
        return
    name = params.get(named_by)
    if name is not None and decoded(headers.get(NAME)) != name:
        raise ProtocolError(HEADER_MISMATCH, f"{NAME} differs from the body's params.{named_by}")


def check_mirrored(
    mirrored: Sequence[MirroredParameter], arguments: dict[str, Any], headers: Mapping[str, str]
) -> None:
    for parameter in mirrored:
        header = headers.get(PARAM_PREFIX + parameter.header.lower())
        expected = _rendered(_value_at(arguments, parameter.path))
        if header is None and expected is None:
            continue
        if not _same(parameter, decoded(header), expected):
            raise ProtocolError(HEADER_MISMATCH, f"Mcp-Param-{parameter.header} differs from the argument")


def decoded(header: str | None) -> str | None:
    """The value as sent, or unwrapped from `=?base64?...?=`; None where that is malformed."""
    if header is None:
        return None
    wrapped = _BASE64_FORM.fullmatch(header)
    if wrapped is None:
        return header
    try:
        value = base64.b64decode(wrapped[1], validate=True)
        # Only the canonical form: two spellings of one value would let a proxy and us disagree.
        return value.decode() if base64.b64encode(value).decode() == wrapped[1] else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _value_at(arguments: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        if not isinstance(arguments, dict):
            return None
        arguments = arguments.get(key)
    return arguments


def _rendered(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


def _same(parameter: MirroredParameter, header: str | None, expected: str | None) -> bool:
    if header is None or expected is None:
        return False
    if parameter.type != "integer":
        return header == expected
    left, right = _DECIMAL.fullmatch(header), _DECIMAL.fullmatch(expected)
    return left is not None and right is not None and int(left[1]) == int(right[1])
