"""Search lines for a text or a pattern, in linear time and within a budget.

RE2 never goes back, so no pattern can make a search explode; what a pattern may still cost for each character is
bounded by its compiled size. Search away from the event loop: it waits for the processor, not for a store.
"""

import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import re2

from commonplace import errors

PatternMode = Literal["literal", "regex"]

MAX_QUERY_CHARACTERS = 1000
MAX_SHOWN_BYTES = 500
_MAX_PATTERN_BYTES = 1 << 20
_MAX_PROGRAM_SIZE = 1000
# A longer line is searched in pieces, with a check of the budget in between; `^` and `$` still mean the line.
_PIECE_BYTES = 16_384
OVERLAP_BYTES = 1024
# Syntax that means something else in many lines than in one: the ends of the text, and flags.
_WHOLE_TEXT_SYNTAX = re.compile(r"\\[AzZC]|\(\?(?!:)")


class ScanBudget:
    """The bytes, lines and seconds that one search may use over all its texts; `spent` is true if they ran out."""

    def __init__(
        self, *, bytes_: int, lines: int, seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._bytes, self._lines = bytes_, lines
        self._clock, self._ends = clock, clock() + seconds
        self.spent = False

    def spend(self, bytes_: int, lines: int = 1) -> bool:
        """Spend so much; return whether the budget still lasts."""
        self._bytes -= bytes_
        self._lines -= lines
        if self._bytes < 0 or self._lines < 0 or self._clock() > self._ends:
            self.spent = True
        return not self.spent


class Pattern:
    """A compiled pattern."""

    def __init__(self, query: str, mode: PatternMode = "literal", *, case_sensitive: bool = False) -> None:
        if not query or len(query) > MAX_QUERY_CHARACTERS:
            raise errors.Invalid(f"The query must have 1 to {MAX_QUERY_CHARACTERS} characters.")
        self._compiled = _compile_pattern(query, mode, case_sensitive)
        self._anywhere = self._compiled
        if mode == "regex":
            spans = not _WHOLE_TEXT_SYNTAX.search(query)
            self._anywhere = _compile_pattern(f"(?m:{query})", mode, case_sensitive) if spans else None
        if self._compiled.programsize > _MAX_PROGRAM_SIZE:
            raise errors.Invalid("The pattern is too large.", hint="Use smaller repetitions.")

    def may_match(self, block: Sequence[bytes]) -> bool:
        """Can one of these lines match? One test for a block of lines, because most blocks have no match."""
        if self._anywhere is None or len(block) == 1:
            return True
        return self._anywhere.search(b"\n".join(block)) is not None

    def find_match(
        self, line: bytes, budget: ScanBudget, *, begins: bool = True, ends: bool = True
    ) -> tuple[int, int] | None:
        """The first match in the line, as byte offsets; None also if the budget runs out. In a part of a line the outermost
        byte is only context, so that `^` and `$` mean the line."""
        start, last = int(not begins), len(line) - int(not ends)
        while True:
            end = min(start + _PIECE_BYTES, last)
            match = self._compiled.search(line, start, end)
            if match is not None:
                return (match.start(), match.end())
            if end == last or not budget.spend(0, 0):
                return None
            start = end - OVERLAP_BYTES


@dataclass(frozen=True, slots=True)
class LineMatch:
    """A matching line with its number and the lines around it; a long line is cut around the match."""

    line: int
    text: str
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


def search_lines(
    lines: Iterable[str | bytes], pattern: Pattern, budget: ScanBudget, context: int = 0, first: int = 1
) -> Iterator[LineMatch]:
    """The matching lines in order, until the lines or the budget end; the first line has the number `first`."""
    before: deque[bytes] = deque(maxlen=context)
    waiting: deque[LineMatch] = deque()
    for block in _split_blocks(lines, budget):
        suspect = pattern.may_match(block)
        if not suspect and not waiting:
            before.extend(block[-context:] if context else ())
            first += len(block)
            continue
        for number, line in enumerate(block, first):
            position = pattern.find_match(line, budget) if suspect else None
            for match in waiting:
                match.after.append(cut_line(line))
            if position is not None:
                waiting.append(
                    LineMatch(number, cut_line(line, *position), [cut_line(each) for each in before])
                )
            before.append(line)
            while waiting and len(waiting[0].after) >= context:
                yield waiting.popleft()
        first += len(block)
    yield from waiting


def _split_blocks(lines: Iterable[str | bytes], budget: ScanBudget) -> Iterator[list[bytes]]:
    """The lines in blocks that are searched in one step, as far as the budget allows."""
    block: list[bytes] = []
    size = 0
    for line in lines:
        text = line if isinstance(line, bytes) else line.encode()
        if not budget.spend(len(text)):
            break
        if size + len(text) > _PIECE_BYTES and block:
            yield block
            block, size = [], 0
        block.append(text)
        size += len(text) + 1
    if block:
        yield block


def cut_line(line: bytes, start: int = 0, end: int = 0, max_bytes: int = MAX_SHOWN_BYTES) -> str:
    """The line, or the part of it around the match."""
    if len(line) <= max_bytes:
        return line.decode(errors="replace")
    left = max(0, min(start - (max_bytes - min(end - start, max_bytes)) // 2, len(line) - max_bytes))
    shown = line[left : left + max_bytes].decode(errors="ignore")
    return ("…" if left else "") + shown + ("…" if left + max_bytes < len(line) else "")


def _compile_pattern(query: str, mode: PatternMode, case_sensitive: bool) -> Any:
    options = re2.Options()
    options.max_mem = _MAX_PATTERN_BYTES
    options.log_errors = False
    options.never_capture = True
    options.literal = mode == "literal"
    options.case_sensitive = case_sensitive
    try:
        return re2.compile(query, options)
    except re2.error as wrong:
        problem = wrong.args[0].decode(errors="replace") if wrong.args else "not a pattern"
        raise errors.Invalid(
            f"Invalid regular expression: {problem[:200]}.",
            hint="Use RE2 syntax, without look-around and back-references, or mode='literal'.",
        ) from None
    finally:
        re2.purge()  # its cache would keep the memory of 128 patterns
