"""The report of `commonplace import`: what was stored, what was stored before, and what was left out and why."""

from collections import Counter

from commonplace.client.link.progress import format_count

_SHOWN_SKIPS = 20


class ImportReport:
    """Counts what was stored by its noun; `noun` is shown even if there was nothing of it."""

    def __init__(self, noun: str) -> None:
        self.stored = Counter({noun: 0})
        self.known = 0
        self.skipped: list[tuple[str, str]] = []

    def count_stored(self, noun: str) -> None:
        """Count one item; without a noun, one that was stored before."""
        if noun:
            self.stored[noun] += 1
        else:
            self.known += 1

    def skip(self, path: str, reason: str) -> None:
        self.skipped.append((path, reason))

    def print_lines(self, *, dry_run: bool) -> None:
        verb = "would store" if dry_run else "stored"
        for noun, count in self.stored.items():
            print(f"{verb:12}{format_count(count, noun)}")
        if self.known:
            print(f"{'known':12}{format_count(self.known, 'item')} stored before")
        for path, reason in self.skipped[:_SHOWN_SKIPS]:
            print(f"{'left out':12}{path}: {reason}")
        if len(self.skipped) > _SHOWN_SKIPS:
            print(f"{'left out':12}and {len(self.skipped) - _SHOWN_SKIPS} more")
