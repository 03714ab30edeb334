"""Truncate text to a number of bytes as JSON, in which some characters take more than one byte."""

import msgspec


def truncate_to_json_bytes(text: str, max_bytes: int) -> tuple[str, bool]:
    """The longest beginning that fits, and whether anything was left out."""
    length = len(text)
    while length and json_bytes(text[:length]) > max_bytes:
        length = min(length - 1, length * max(max_bytes, 0) // json_bytes(text[:length]))
    return text[:length], length < len(text)


def json_bytes(value: object) -> int:
    return len(msgspec.json.encode(value))
