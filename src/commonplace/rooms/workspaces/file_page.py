"""Lines of one version of a knowledge file, as many as fit into a reply."""

import sys

from commonplace.clock import iso
from commonplace.rooms.workspaces.json_size import json_bytes, truncate_to_json_bytes
from commonplace.rooms.workspaces.model import KnowledgeText
from commonplace.rooms.workspaces.write_access import name_author_of_file
from commonplace.store.database import Row

# About 8,000 tokens without a `limit`; with one, the 25,000 tokens beyond which agents truncate replies themselves.
DEFAULT_PAGE_BYTES, MAX_PAGE_BYTES = 32_000, 99_000
_MAX_ESCAPED_BYTES = len("\\u0001")


def build_file_page(
    path: str, version: Row, offset: int = 0, limit: int | None = None, max_bytes: int = sys.maxsize
) -> KnowledgeText:
    """Lines from `offset` on; size and hash are those of the whole text."""
    lines = version["content"].splitlines(keepends=True)
    page, cut = _select_fitting_lines(lines[offset:][:limit], max_bytes)
    end = offset + len(page)
    return KnowledgeText(
        path=path,
        content="".join(page),
        size=version["size"],
        sha256=version["sha256"],
        modified_at=iso(version["at"]),
        version=version["version"],
        total_lines=len(lines),
        has_more=end < len(lines),
        next_offset=end if end < len(lines) else None,
        cut=cut,
        author=name_author_of_file(version["author"]),
    )


def _select_fitting_lines(lines: list[str], max_bytes: int) -> tuple[list[str], bool]:
    """The lines that fit, and whether the first had to be cut because it is too long alone."""
    if sum(map(len, lines)) * _MAX_ESCAPED_BYTES <= max_bytes:
        return lines, False
    left = max_bytes
    for count, line in enumerate(lines):
        left -= json_bytes(line) - json_bytes("")
        if left < 0:
            return (lines[:count], False) if count else ([truncate_to_json_bytes(line, max_bytes)[0]], True)
    return lines, False
