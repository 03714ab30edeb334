"""Transcript lines with their secrets masked, as they leave this machine.

Masking a line depends on that line alone, so sent offsets can be found again from the file if the state is lost.
"""

import contextlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from commonplace import masking


class LineMasker:
    """Masks lines and counts what it masked."""

    def __init__(self, *, raw: bool = False) -> None:
        self._raw = raw
        self.counts: Counter[str] = Counter()

    def copy_without_counts(self) -> "LineMasker":
        """A masker with the same setting and no counts yet."""
        return LineMasker(raw=self._raw)

    def mask_lines(self, lines: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
        """For each line its original length and the bytes to send."""
        for line in lines:
            yield len(line), line if self._raw else self.mask_line(line)

    def mask_line(self, line: bytes) -> bytes:
        """The line with its secrets masked; other bytes stay as they are, and JSON stays valid."""
        text = line.decode("utf-8", "surrogateescape")
        masked = masking.mask_secrets(text)
        if not masked.counts:
            return line
        self.counts.update(masked.counts)
        safe = masked.text
        value = _parse_json(text)
        if value is not None and _parse_json(safe) is None:
            safe = json.dumps(_mask_value(value), ensure_ascii=False) + "\n" * text.endswith("\n")
        return safe.encode("utf-8", "surrogateescape")

    def mask_text(self, text: str) -> str:
        if self._raw:
            return text
        masked = masking.mask_secrets(text)
        self.counts.update(masked.counts)
        return masked.text


def _parse_json(text: str) -> Any:
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return None


def _mask_value(value: Any) -> Any:
    """The value with every string in it masked, for the rare line whose JSON a mask would break."""
    if isinstance(value, str):
        return masking.mask_secrets(value).text
    if isinstance(value, list):
        return [_mask_value(item) for item in value]
    if isinstance(value, dict):
        return {masking.mask_secrets(key).text: _mask_value(item) for key, item in value.items()}
    return value
