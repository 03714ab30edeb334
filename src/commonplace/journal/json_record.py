"""Decode one line of a transcript, however malformed, into values that both stores accept: no NUL, no lone surrogates.

The other functions read a field of unknown type and return a safe default.
"""

import json
import math
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

Record = dict[str, Any]

_decode = msgspec.json.Decoder().decode
_ESCAPED_NUL = b"\\u0000"
_MAX_DIGITS = 18
_MAX_COUNT = 10**12
_MAX_DOLLARS = 1_000_000
_MAX_EXIT_CODE = 2**31
_MAX_TIME_CHARACTERS = 40
_MIN_MILLISECONDS = 10**11
_LATEST_SECONDS = 4_102_444_800
_MAX_DEPTH = 12


def decode_record(line: bytes) -> Record | None:
    """The JSON object on the line, or None if there is none."""
    try:
        value = _decode_leniently(line) if _ESCAPED_NUL in line else _decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = _decode_leniently(line)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _decode_leniently(line: bytes) -> Any:
    """Accepts what the strict decoder refuses: lone surrogates, control characters, invalid UTF-8, huge numbers."""
    return _clean_value(
        json.loads(
            line.decode("utf-8", "replace"),
            strict=False,
            parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else None,
            parse_float=lambda digits: value if math.isfinite(value := float(digits)) else None,
            parse_constant=lambda _: None,
        )
    )


def _clean_value(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(name): _clean_value(item) for name, item in value.items()}
    return value


def clean_text(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def get_nested(value: Any, *names: str) -> Any:
    """The value under these keys, or None if one of them is missing."""
    for name in names:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def text_or_empty(value: Any) -> str:
    return value if isinstance(value, str) else ""


def count_or_zero(value: Any) -> int:
    """A plausible count, else 0."""
    return int(value) if isinstance(value, int) and 0 <= value < _MAX_COUNT else 0


def parse_dollars(value: Any) -> int:
    """A plausible amount in millionths of a dollar, else 0."""
    return round(value * 1_000_000) if isinstance(value, int | float) and 0 <= value < _MAX_DOLLARS else 0


def parse_exit_code(value: Any) -> int | None:
    return int(value) if isinstance(value, int) and -_MAX_EXIT_CODE < value < _MAX_EXIT_CODE else None


def decode_inner_json(value: Any) -> Any:
    """Decode a JSON object inside a string; return any other value unchanged."""
    if not isinstance(value, str):
        return value
    record = decode_record(value.encode())
    return value if record is None else record


def list_texts(
    value: Any, skips: Callable[[Record], bool] | None = None, depth: int = _MAX_DEPTH
) -> Iterator[str]:
    """Every text in a decoded value, but for objects that `skips` is true of."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, dict) and not (skips and skips(value)):
        for child in value.values():
            yield from list_texts(child, skips, depth - 1)
    elif depth and isinstance(value, list):
        for child in value:
            yield from list_texts(child, skips, depth - 1)


def list_records(value: Any) -> list[Record]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def parse_time(value: Any) -> int | None:
    """A time in microseconds: ISO-8601, or seconds or milliseconds since 1970."""
    if isinstance(value, str) and len(value) <= _MAX_TIME_CHARACTERS:
        try:
            parsed = datetime.fromisoformat(value)
        except ValueError:
            return None
        seconds = parsed.replace(tzinfo=parsed.tzinfo or UTC).timestamp()
    elif isinstance(value, int | float) and 0 < value < _LATEST_SECONDS * 1000:
        seconds = value / 1000 if value > _MIN_MILLISECONDS else float(value)
    else:
        return None
    return round(seconds * 1_000_000) if 0 < seconds < _LATEST_SECONDS else None


def join_text_blocks(content: Any) -> str:
    """The text of a message's content: a string, or blocks with text."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        content = [content]
    if not isinstance(content, list):
        return ""
    parts = [block if isinstance(block, str) else _text_of_block(block) for block in content]
    return "\n".join(part for part in parts if part)


def _text_of_block(block: Any) -> str:
    """Empty for reasoning, tool calls and tool results."""
    kind = get_nested(block, "type")
    return text_or_empty(get_nested(block, "text")) if kind in _TEXT_BLOCK_TYPES else ""


_TEXT_BLOCK_TYPES = (None, "text", "Text", "input_text", "output_text")
