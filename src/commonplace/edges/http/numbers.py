"""Whole numbers in headers, queries and paths, read in one place: ASCII digits, within 64 bits, nothing else."""

import re

_DIGITS = re.compile(r"[0-9]{1,19}")
_MAX_INTEGER = 2**63 - 1


def parse_integer(text: str) -> int | None:
    """The number, or None if the text is anything but digits or does not fit in 64 bits."""
    if not _DIGITS.fullmatch(text):
        return None
    number = int(text)
    return number if number <= _MAX_INTEGER else None
