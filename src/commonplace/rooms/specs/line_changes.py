"""Which lines of a text were removed and added, and which of them are two versions of one line. How they are shown:
`changes.py`.

Texts are compared within bounds, because a spec may have thousands of lines.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

# A comparison in order takes quadratic time, whatever the lines are.
_MAX_LINES_COMPARED = 80
# Of a longer text, a line that is in both versions counts as kept, however often it is there.
_MAX_LINES_COUNTED = 3000
# More than a reply can hold; the others are only counted.
_MAX_LINES_LISTED = 500
_MAX_LINES_PAIRED = 100
_MAX_CANDIDATES = 4
# Two versions of a line have at least twice as many characters in common: one end is at least so long.
_KEY_CHARACTERS = 10
# Of a longer word, as in JSON without spaces, only a part is shown.
_MAX_WORD_CHARACTERS = 40

REMOVED, ADDED = "-", "+"


class ChangedLine(NamedTuple):
    mark: str
    text: str
    twin: str | None = None
    """The other version of the same line."""


class LineChanges(NamedTuple):
    """Removed and added lines, two versions of a line next to each other; and how many more there are of each."""

    lines: list[ChangedLine]
    more_removed: int = 0
    more_added: int = 0

    def count(self, mark: str) -> int:
        more = self.more_removed if mark == REMOVED else self.more_added
        return sum(line.mark == mark for line in self.lines) + more


def compare_lines(old: Sequence[str], new: Sequence[str]) -> LineChanges:
    changes = _list_changes(old, new)
    return changes._replace(lines=_join_versions(changes.lines))


def _list_changes(old: Sequence[str], new: Sequence[str]) -> LineChanges:
    """Compare what is between the common first and last lines; if that is long, without regard to the order."""
    start = count_common_items(old, new)
    end = count_common_items(old[start:][::-1], new[start:][::-1])
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
            for line in _list_replacement(old[i1:i2], new[j1:j2])
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
        _list_replacement(first_removed, first_added),
        removed - len(first_removed),
        added - len(first_added),
    )


def _compare_counts(old: Sequence[str], new: Sequence[str]) -> LineChanges:
    """Compare how often each line is there."""
    counts, new_counts = Counter(old), Counter(new)
    gone, come = counts - new_counts, new_counts - counts
    removed, added = gone.total(), come.total()
    listed = _take_lines(old, gone), _take_lines(new, come)
    return LineChanges(_list_replacement(*listed), removed - len(listed[0]), added - len(listed[1]))


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


def _list_replacement(old: Sequence[str], new: Sequence[str]) -> list[ChangedLine]:
    return [*(ChangedLine(REMOVED, line) for line in old), *(ChangedLine(ADDED, line) for line in new)]


def _join_versions(lines: Sequence[ChangedLine]) -> list[ChangedLine]:
    """Put a removed line before the added one that is its new version, which stays in the order of the new text."""
    removed, added = (
        [place for place, line in enumerate(lines) if line.mark == mark][:_MAX_LINES_PAIRED]
        for mark in (REMOVED, ADDED)
    )
    pairs = _pair_lines([lines[place].text for place in removed], [lines[place].text for place in added])
    former = {added[j]: removed[i] for i, j in pairs.items()}
    moved = set(former.values())
    joined: list[ChangedLine] = []
    for place, line in enumerate(lines):
        if place in former:
            twin = lines[former[place]]
            joined += [twin._replace(twin=line.text), line._replace(twin=twin.text)]
        elif place not in moved:
            joined.append(line)
    return joined


def _pair_lines(old: Sequence[str], new: Sequence[str]) -> dict[int, int]:
    """Return the places of lines that are versions of each other, found by their first or last characters."""
    places: dict[tuple[bool, str], deque[int]] = defaultdict(deque)
    for j, line in enumerate(new):
        for key in _list_keys(line):
            places[key].append(j)
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for i, line in enumerate(old):
        likeness = {j: _measure_likeness(line, new[j]) for j in _list_candidates(line, places, taken)}
        best = max(likeness, key=likeness.__getitem__, default=-1)
        if likeness.get(best):
            pairs[i] = best
            taken.add(best)
    return pairs


def _list_keys(line: str) -> list[tuple[bool, str]]:
    return [(True, line[:_KEY_CHARACTERS]), (False, line[-_KEY_CHARACTERS:])]


def _list_candidates(line: str, places: dict[tuple[bool, str], deque[int]], taken: set[int]) -> Iterator[int]:
    for key in _list_keys(line):
        if found := places.get(key):
            while found and found[0] in taken:
                found.popleft()
            yield from (j for j in islice(found, _MAX_CANDIDATES) if j not in taken)


def _measure_likeness(old: str, new: str) -> int:
    """Return how many first and last characters are the same; 0 if these are two different lines."""
    common = sum(_count_common_ends(old, new))
    is_most = 2 * common >= min(len(old), len(new))
    return common if is_most and common >= 2 * _KEY_CHARACTERS else 0


def cut_around_difference(line: str, twin: str, context: int) -> str:
    """Return what differs from the other version, and about so many characters before and after it."""
    start, end = _count_common_ends(line, twin)
    first = _count_skipped(line[:start], context)
    last = _count_skipped(line[len(line) - end :][::-1], context)
    return f"{'…' if first else ''}{line[first : len(line) - last]}{'…' if last else ''}"


def _count_skipped(common: str, context: int) -> int:
    """Return how many first characters of what both versions have are left out, up to the beginning of a word."""
    begin = common.rfind(" ") + 1
    if len(common) - begin > _MAX_WORD_CHARACTERS:
        begin = len(common)
    if begin <= context:
        return 0
    border = common.find(" ", begin - context - 1, begin - 1)
    return border + 1 if border >= 0 else begin - context


def _count_common_ends(old: str, new: str) -> tuple[int, int]:
    start = count_common_items(old, new)
    return start, count_common_items(old[start:][::-1], new[start:][::-1])


def count_common_items(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many first items are the same, by halves: slices compare at the speed of C."""
    same, end = 0, min(len(old), len(new))
    while same < end:
        middle = (same + end + 1) // 2
        if old[same:middle] == new[same:middle]:
            same = middle
        else:
            end = middle - 1
    return same
