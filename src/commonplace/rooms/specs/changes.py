"""What changed between two versions of a spec: a short diff by lines for its readers, and one phrase for a notice.

Texts are compared within bounds, because a spec may have thousands of lines and a reply must stay small.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from commonplace.shortening import ELLIPSIS, shorten_line
from commonplace.store.database import Row

_MAX_DIFF_CHARACTERS = 1500
# A comparison in order takes quadratic time, whatever the lines are.
_MAX_LINES_COMPARED = 80
# Of a longer text, a line that is in both versions counts as kept, however often it is there.
_MAX_LINES_COUNTED = 3000
# More than a reply can hold; the others are only counted.
_MAX_LINES_LISTED = 500
_MAX_LINE_CHARACTERS = 160
_MAX_NOTICE_LINE_CHARACTERS = 60
_CONTEXT_CHARACTERS = 40
_NO_SCHEMA = "{}"
# So few changed lines are always shown, even if they are the whole text.
_MAX_SMALL_DIFF_LINES = 8
_MAX_KEYS_NAMED = 20
_REWRITTEN = "mostly rewritten: read content"


class LineChanges(NamedTuple):
    """Removed and added lines, marked; and how many more there are of each."""

    lines: list[str]
    more_removed: int = 0
    more_added: int = 0


def render_spec_changes(old: Row, new: Row) -> str:
    """Return the removed (`-`) and added (`+`) lines of content and schema, cut to what a reply may hold.

    Of a text that is mostly new they would only repeat the old one: then return the keys of the schema that changed.
    """
    text = _compare_content(old, new)
    if _is_rewrite(text, old, new):
        return "\n".join([_REWRITTEN, *_name_changed_keys(old, new)])
    changes = _add_schema_changes(text, old, new)
    shown: list[str] = []
    remaining = _MAX_DIFF_CHARACTERS
    for line in changes.lines:
        short = shorten_line(line, _MAX_LINE_CHARACTERS)
        remaining -= len(short) + 1
        if remaining < 0:
            break
        shown.append(short)
    more = len(changes.lines) - len(shown) + changes.more_removed + changes.more_added
    if more:
        shown.append(f"… {more} more changed lines")
    if shown:
        return "\n".join(shown)
    return "The text is the same." if old["content"] == new["content"] else "Lines changed their places."


def summarize_spec_changes(old: Row, new: Row) -> str:
    """Return the numbers of added and removed lines, then the first removed one, which may break its reader, and the
    first added one."""
    changes = _add_schema_changes(_compare_content(old, new), old, new)
    added = [line for line in changes.lines if line[:2] == "+ "]
    removed = [line for line in changes.lines if line[:2] == "- "]
    count = f"+{len(added) + changes.more_added} -{len(removed) + changes.more_removed} lines"
    lines = _skip_common_start(_pick_line(removed), _pick_line(added))
    quoted = [
        f'{what} "{shorten_line(line, _MAX_NOTICE_LINE_CHARACTERS)}"'
        for what, line in zip(("removed", "added"), lines, strict=True)
        if line
    ]
    return f"{count}: {', '.join(quoted)}" if quoted else count


def _skip_common_start(old: str, new: str) -> tuple[str, str]:
    """Begin both lines a little before what differs, if that is too far from their beginning to be quoted."""
    same = _count_common_items(old, new)
    if old == new or same < _MAX_NOTICE_LINE_CHARACTERS - _CONTEXT_CHARACTERS // 2:
        return old, new
    first = same - _CONTEXT_CHARACTERS // 2
    return _cut_middle(old, first, 0), _cut_middle(new, first, 0)


def _pick_line(marked: Sequence[str]) -> str:
    """The first line that says something; one that is shown from its beginning, if there is one."""
    lines = [line[2:] for line in marked if any(map(str.isalnum, line))]
    return next((line for line in lines if not line.startswith(ELLIPSIS)), lines[0] if lines else "")


def _is_rewrite(text: LineChanges, old: Row, new: Row) -> bool:
    removed = sum(line.startswith("- ") for line in text.lines) + text.more_removed
    added = sum(line.startswith("+ ") for line in text.lines) + text.more_added
    is_most = 2 * removed > len(old["content"].splitlines()) and 2 * added > len(new["content"].splitlines())
    return is_most and removed + added > _MAX_SMALL_DIFF_LINES


def _name_changed_keys(old: Row, new: Row) -> list[str]:
    """Return one line with the keys of the schema that were removed (`-`), added (`+`) or changed (`~`), if any were."""
    if old["json_schema"] == new["json_schema"]:
        return []
    before, after = _load_schema_keys(old), _load_schema_keys(new)
    keys = [
        *(f"-{key}" for key in before if key not in after),
        *(f"+{key}" for key in after if key not in before),
        *(f"~{key}" for key in before if key in after and before[key] != after[key]),
    ]
    named = [shorten_line(key, _MAX_NOTICE_LINE_CHARACTERS) for key in keys[:_MAX_KEYS_NAMED]]
    more = f" and {len(keys) - len(named)} more" if len(keys) > len(named) else ""
    return [f"json_schema: {', '.join(named)}{more}" if named else "json_schema changed"]


def _load_schema_keys(version: Row) -> dict[str, Any]:
    """The properties at the top of the schema."""
    properties: dict[str, Any] = msgspec.json.decode(version["json_schema"]).get("properties", {})
    return properties


def _compare_content(old: Row, new: Row) -> LineChanges:
    return _compare_lines(old["content"].splitlines(), new["content"].splitlines())


def _add_schema_changes(text: LineChanges, old: Row, new: Row) -> LineChanges:
    schema = _compare_lines(_list_schema_lines(old), _list_schema_lines(new))
    if not schema.lines:
        return text
    return LineChanges(
        [*text.lines, "json_schema:", *schema.lines],
        text.more_removed + schema.more_removed,
        text.more_added + schema.more_added,
    )


def _list_schema_lines(version: Row) -> list[str]:
    schema: str = version["json_schema"]
    return msgspec.json.format(schema, indent=1).splitlines() if schema != _NO_SCHEMA else []


def _compare_lines(old: Sequence[str], new: Sequence[str]) -> LineChanges:
    """Compare what is between the common first and last lines; if that is long, without regard to the order."""
    start = _count_common_items(old, new)
    end = _count_common_items(old[start:][::-1], new[start:][::-1])
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if max(len(old), len(new)) > _MAX_LINES_COMPARED:
        is_short = max(len(old), len(new)) <= _MAX_LINES_COUNTED
        return _compare_counts(old, new) if is_short else _compare_sets(old, new)
    kept = [*_list_kept_lines(old, new), (len(old), len(new))]
    starts = [(0, 0), *((i + 1, j + 1) for i, j in kept)]
    return LineChanges(
        [
            line
            for (i1, j1), (i2, j2) in zip(starts, kept, strict=False)
            for line in _render_replacement(old[i1:i2], new[j1:j2])
        ]
    )


def _compare_sets(old: Sequence[str], new: Sequence[str]) -> LineChanges:
    """Compare which lines are there, at the speed of C; of lines that are in both, only how many there are in all."""
    old_lines, new_lines = frozenset(old), frozenset(new)
    kept_of_old = sum(map(new_lines.__contains__, old))
    kept_of_new = sum(map(old_lines.__contains__, new))
    removed, added = len(old) - min(kept_of_old, kept_of_new), len(new) - min(kept_of_old, kept_of_new)
    first_removed = list(islice((line for line in old if line not in new_lines), _MAX_LINES_LISTED))
    first_added = list(islice((line for line in new if line not in old_lines), _MAX_LINES_LISTED))
    return LineChanges(
        _render_replacement(first_removed, first_added),
        removed - len(first_removed),
        added - len(first_added),
    )


def _compare_counts(old: Sequence[str], new: Sequence[str]) -> LineChanges:
    """Compare how often each line is there."""
    counts, new_counts = Counter(old), Counter(new)
    gone, come = counts - new_counts, new_counts - counts
    removed, added = gone.total(), come.total()
    listed = _take_lines(old, gone), _take_lines(new, come)
    return LineChanges(_render_replacement(*listed), removed - len(listed[0]), added - len(listed[1]))


def _list_kept_lines(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the places, in both texts, of the lines of their longest common subsequence."""
    # rows[i][j]: the length of the longest common subsequence of old[i:] and new[j:].
    below = [0] * (len(new) + 1)
    rows = [below]
    for line in reversed(old):
        row = [0] * (len(new) + 1)
        for j in range(len(new) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if new[j] == line else max(below[j], row[j + 1])
        rows.append(row)
        below = row
    rows.reverse()
    i = j = 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            yield i, j
            i, j = i + 1, j + 1
        elif rows[i + 1][j] >= rows[i][j + 1]:
            i += 1
        else:
            j += 1


def _take_lines(lines: Sequence[str], counts: Counter[str]) -> list[str]:
    """Return the first lines, so many of each; not more than can be shown."""
    taken: list[str] = []
    for line in lines:
        if len(taken) == _MAX_LINES_LISTED:
            break
        if count := counts.get(line):
            counts[line] = count - 1
            taken.append(line)
    return taken


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
    """Return how many first items are the same, by halves: slices compare at the speed of C."""
    same, end = 0, min(len(old), len(new))
    while same < end:
        middle = (same + end + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same
