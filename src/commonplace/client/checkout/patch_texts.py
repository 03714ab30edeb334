"""Applies a patch in the format of `apply_patch` to a text, as the tools do that understand it."""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

FIRST_LINE = "*** Begin Patch"

_HEADER = re.compile(r"\*\*\* (Add File|Update File|Delete File|Move to):[ \t]*(.*?)[ \t\r]*$")
_END_OF_FILE = "*** End of File"
_END = "*** End Patch"
# Tools accept lines that differ in white space at their end, then at both ends.
_READINGS: tuple[Callable[[str], str], ...] = (str, str.rstrip, str.strip)


class PatchChunk(NamedTuple):
    context: str
    """The line that follows `@@`: the chunk comes after it."""
    old: list[str]
    new: list[str]


def apply_patch(patch: str, file: str, text: str) -> str | None:
    """The text of this file after the patch; None if it is not updated in place, or cannot be located."""
    chunks = _list_chunks(patch, file)
    if not chunks:
        return None
    lines, cursor = text.split("\n"), 0
    for chunk in chunks:
        if chunk.context:
            at = _find_lines(lines, [chunk.context], cursor)
            if at is None:
                return None
            cursor = at + 1
        at = _find_lines(lines, chunk.old, cursor) if chunk.old else None
        if at is None:
            return None
        lines[at : at + len(chunk.old)] = chunk.new
        cursor = at + len(chunk.new)
    return "\n".join(lines)


def _list_chunks(patch: str, file: str) -> list[PatchChunk]:
    """The chunks of this file; empty if anything else is done to it."""
    chunks: list[PatchChunk] = []
    is_in_file = False
    for line in patch.replace("\r\n", "\n").split("\n"):
        if match := _HEADER.match(line):
            if match[1] == "Move to" and is_in_file:
                return []
            is_in_file = match[1] == "Update File" and match[2] == file
            if match[2] == file and not is_in_file:
                return []
        elif not is_in_file or line.startswith((_END_OF_FILE, _END)):
            continue
        elif line.startswith("@@"):
            chunks.append(PatchChunk(line[2:].strip(), [], []))
        else:
            if not chunks:
                chunks.append(PatchChunk("", [], []))
            _add_line(chunks[-1], line)
    return chunks


def _add_line(chunk: PatchChunk, line: str) -> None:
    if not line.startswith("+"):
        chunk.old.append(line[1:])
    if not line.startswith("-"):
        chunk.new.append(line[1:])


def _find_lines(lines: Sequence[str], wanted: Sequence[str], start: int) -> int | None:
    for reading in _READINGS:
        sought = [reading(line) for line in wanted]
        for at in range(start, len(lines) - len(sought) + 1):
            if all(reading(lines[at + offset]) == line for offset, line in enumerate(sought)):
                return at
    return None
