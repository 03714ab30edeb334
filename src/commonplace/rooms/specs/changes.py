"""What changed between two versions of a spec: a unified diff for who reads it, and one phrase for a notice."""

import difflib
import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from commonplace.shortening import shorten_line, shorten_text
from commonplace.store.database import Row

NO_SCHEMA = "{}"
REWRITTEN = "mostly rewritten: read content"
MAX_DIFF_CHARACTERS = 1500
MAX_WHOLE_DIFF_CHARACTERS = 8000
"""Where only what changed was asked for."""
_MAX_COMPARED_LINES = 10_000
_MAX_LINE_CHARACTERS = 500
_MAX_FIELDS_CHARACTERS = 300
_MAX_QUOTED_CHARACTERS = 60
_MAX_WHOLE_LINE_CHARACTERS = 160
# Of a long line, which is a paragraph or packed JSON, only a part changed.
_PART_END = re.compile(r'(?<=[.!?;]) +|(?<=[,}\]])(?=["{\[])')


def render_changes(old: Row, new: Row, limit: int, whole: str) -> str:
    """The fields and the diff in about so many characters; `whole` is the call that shows what was cut."""
    before, after = _list_lines(old), _list_lines(new)
    fields = [line] if (line := _format_field_changes(old, new)) else []
    if len(before) + len(after) > _MAX_COMPARED_LINES:
        return "\n".join([*fields, REWRITTEN])
    diff = [
        shorten_text(line, _MAX_LINE_CHARACTERS)
        for line in list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    ]
    if sum(map(len, diff)) > max(limit, len(new["content"])):
        return "\n".join([*fields, REWRITTEN])
    shown: list[str] = []
    for line in diff:
        limit -= len(line) + 1
        if limit < 0:
            break
        shown.append(line)
    more = len(diff) - len(shown)
    rest = [f"… {more} more lines: {whole}"] if more else []
    return "\n".join([*fields, *shown, *rest]) or "The text is the same."


def summarize_changes(old: Row, new: Row) -> str:
    """The fields, the numbers of added and removed lines, and the first of each: what is gone may break its reader."""
    before, after = Counter(_list_lines(old)), Counter(_list_lines(new))
    gone, come = list((before - after).elements()), list((after - before).elements())
    quoted = [
        f'{what} "{shorten_line(lines[0], _MAX_QUOTED_CHARACTERS)}"'
        for what, lines in (("removed", gone), ("added", come))
        if lines
    ]
    count = f"+{len(come)} -{len(gone)} lines{': ' if quoted else ''}{', '.join(quoted)}"
    return "; ".join(filter(None, (_format_field_changes(old, new), count)))


def list_removed_fields(old: Row, new: Row) -> list[str]:
    return _subtract_fields(old, new)


def _format_field_changes(old: Row, new: Row) -> str:
    changes = [f"-{name}" for name in _subtract_fields(old, new)]
    changes += [f"+{name}" for name in _subtract_fields(new, old)]
    return shorten_line(f"fields {', '.join(changes)}", _MAX_FIELDS_CHARACTERS) if changes else ""


def _subtract_fields(first: Row, second: Row) -> list[str]:
    """The top-level fields of the first schema that the second has not; none unless both versions have a schema."""
    if NO_SCHEMA in (first["json_schema"], second["json_schema"]):
        return []
    fields, others = (
        msgspec.json.decode(version["json_schema"]).get("properties", {}) for version in (first, second)
    )
    return [name for name in fields if name not in others]


def _list_lines(version: Row) -> Sequence[str]:
    lines = [
        part
        for line in version["content"].splitlines()
        if line.strip()
        for part in (_PART_END.split(line) if len(line) > _MAX_WHOLE_LINE_CHARACTERS else [line])
    ]
    schema: str = version["json_schema"]
    if schema == NO_SCHEMA:
        return lines
    return [*lines, "json_schema:", *msgspec.json.format(schema, indent=1).splitlines()]
