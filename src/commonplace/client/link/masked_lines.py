"""Transcript lines with their secrets masked, as they leave this machine.

Masking a line depends on that line alone, so sent offsets can be found again from the file if the state is lost.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from commonplace import masking
from commonplace.masking.transcript_lines import mask_line


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
        masked = mask_line(line)
        self.counts.update(masked.counts)
        return masked.content

    def mask_text(self, text: str) -> str:
        if self._raw:
            return text
        masked = masking.mask_secrets(text)
        self.counts.update(masked.counts)
        return masked.text
