"""What changed between two versions of a spec: a short diff by lines for its readers, and one phrase for a notice.

Texts are compared within bounds, because a spec may have thousands of lines and a reply must stay small.
"""

import difflib
import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from commonplace.notice import shorten_line
from commonplace.store.database import Row

_MAX_DIFF_CHARACTERS = 1500
# The comparison in order takes cubic time at worst: about 5 ms for this many lines.
_MAX_LINES_COMPARED = 80
_MAX_LINE_CHARACTERS = 160
_MAX_NOTICE_LINE_CHARACTERS = 60
_CONTEXT_CHARACTERS = 40


def render_spec_changes(old: Row, new: Row) -> str:
    """Return the removed (`-`) and added (`+`) lines of content and schema, cut to what a reply may hold."""
    lines = _list_changed_lines(old, new)
    shown: list[str] = []
    remaining = _MAX_DIFF_CHARACTERS
    for line in lines:
        short = shorten_line(line, _MAX_LINE_CHARACTERS)
        remaining -= len(short) + 1
        if remaining < 0:
            break
        shown.append(short)
    if len(shown) < len(lines):
        shown.append(f"… {len(lines) - len(shown)} more changed lines")
    if shown:
        return "\n".join(shown)
    return "The text is the same." if old["content"] == new["content"] else "Lines changed their places."


def summarize_spec_changes(old: Row, new: Row) -> str:
    """Return the numbers of added and removed lines, and the first added one, or the first removed one."""
    lines = [line for line in _list_changed_lines(old, new) if line.startswith(("+ ", "- "))]
    added = [line for line in lines if line.startswith("+")]
    first = next((line[2:] for line in [*added, *lines] if line[2:].strip()), "")
    count = f"+{len(added)} -{len(lines) - len(added)} lines"
    return f'{count}: "{shorten_line(first, _MAX_NOTICE_LINE_CHARACTERS)}"' if first else count


def _list_changed_lines(old: Row, new: Row) -> list[str]:
    changes = _compare_lines(old["content"].splitlines(), new["content"].splitlines())
    schema_changes = _compare_lines(_list_schema_lines(old), _list_schema_lines(new))
    return [*changes, "json_schema:", *schema_changes] if schema_changes else changes


def _list_schema_lines(version: Row) -> list[str]:
    schema: dict[str, Any] = msgspec.json.decode(version["json_schema"])
    return json.dumps(schema, indent=1, ensure_ascii=False).splitlines() if schema else []


def _compare_lines(old: Sequence[str], new: Sequence[str]) -> list[str]:
    """Compare what is between the common first and last lines; if that is long, without regard to the order."""
    start = _count_common_items(old, new)
    end = _count_common_items(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _MAX_LINES_COMPARED:
        return _render_replacement(_list_lines_besides(old, new), _list_lines_besides(new, old))
    return [
        line
        for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
        for line in _render_replacement(old[i1:i2], new[j1:j2])
    ]


def _list_lines_besides(lines: Sequence[str], others: Sequence[str]) -> list[str]:
    remaining = Counter(others)
    remaining.subtract(lines)
    surplus = {line: -count for line, count in remaining.items() if count < 0}
    return [line for line in lines if _take_one(surplus, line)]


def _take_one(surplus: dict[str, int], line: str) -> bool:
    count = surplus.get(line, 0)
    surplus[line] = count - 1
    return count > 0


def _render_replacement(old: Sequence[str], new: Sequence[str]) -> list[str]:
    if len(old) == len(new):
        pairs = [_shorten_pair(*pair) for pair in zip(old, new, strict=True)]
        old, new = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return [*(f"- {line}" for line in old), *(f"+ {line}" for line in new)]


def _shorten_pair(old: str, new: str) -> tuple[str, str]:
    """Of a long line that changed, keep what differs and a little before and after it."""
    if max(len(old), len(new)) <= _MAX_LINE_CHARACTERS:
        return old, new
    start = _count_common_items(old, new)
    end = _count_common_items(old[start:][::-1], new[start:][::-1])
    first = max(0, start - _CONTEXT_CHARACTERS)
    last = max(0, end - _CONTEXT_CHARACTERS)
    return _cut_middle(old, first, last), _cut_middle(new, first, last)


def _cut_middle(line: str, first: int, last: int) -> str:
    return f"{'…' if first else ''}{line[first : len(line) - last]}{'…' if last else ''}"


def _count_common_items(old: Sequence[str], new: Sequence[str]) -> int:
    return next(
        (index for index, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new))
    )
