"""One line of a transcript as plain values, whatever it holds: text without NUL and without half characters."""

import json
import math
from datetime import UTC, datetime
from typing import Any

import msgspec

Record = dict[str, Any]

_decode = msgspec.json.Decoder().decode
_NUL = b"\\u0000"
_DIGITS = 18
_COUNT = 10**12
_CODE = 2**31
_LONGEST_TIME = 40
_MILLISECONDS = 10**11
_LATEST = 4_102_444_800


def decoded(line: bytes) -> Record | None:
    """The object on the line, or None for what is none."""
    try:
        value = _leniently(line) if _NUL in line else _decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = _leniently(line)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _leniently(line: bytes) -> Any:
    """What the strict decoder refuses: half surrogates, control characters, broken UTF-8, endless numbers."""
    return _cleaned(
        json.loads(
            line.decode("utf-8", "replace"),
            strict=False,
            parse_int=lambda digits: int(digits) if len(digits) <= _DIGITS else None,
            parse_float=lambda digits: value if math.isfinite(value := float(digits)) else None,
            parse_constant=lambda _: None,
        )
    )


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_cleaned(each) for each in value]
    if isinstance(value, dict):
        return {storable(name): _cleaned(each) for name, each in value.items()}
    return value


def storable(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def nested(value: Any, *names: str) -> Any:
    """What stands under these names, or None where the way there ends."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int:
    """A count; nothing that is no sane count."""
    return value if isinstance(value, int) and 0 <= value < _COUNT else 0


def exit_code(value: Any) -> int | None:
    return int(value) if isinstance(value, int) and -_CODE < value < _CODE else None


def inner(value: Any) -> Any:
    """A JSON object that was put into a string; what is none is given back as it is."""
    if not isinstance(value, str):
        return value
    read = decoded(value.encode())
    return value if read is None else read


def records(value: Any) -> list[Record]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def moment(value: Any) -> int | None:
    """A time in microseconds: ISO-8601, or seconds or milliseconds since 1970."""
    if isinstance(value, str) and len(value) <= _LONGEST_TIME:
        try:
            read = datetime.fromisoformat(value)
        except ValueError:
            return None
        seconds = read.replace(tzinfo=read.tzinfo or UTC).timestamp()
    elif isinstance(value, int | float) and 0 < value < _LATEST * 1000:
        seconds = value / 1000 if value > _MILLISECONDS else float(value)
    else:
        return None
    return round(seconds * 1_000_000) if 0 < seconds < _LATEST else None


def said(content: Any) -> str:
    """The words of a message's content: a string, or blocks that have a text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = [each if isinstance(each, str) else _spoken(each) for each in content]
    return "\n".join(part for part in parts if part)


def _spoken(block: Any) -> str:
    """Thoughts are nobody's words, and neither are calls and what they returned."""
    kind = nested(block, "type")
    return text(nested(block, "text")) if kind in _SPOKEN else ""


_SPOKEN = (None, "text", "Text", "input_text", "output_text")
