"""Whose each uncommitted line of a file is: HEAD's lines and the working file's in one order, each with its author.

An entry is KEPT (in both), DELETED (only in HEAD) or ADDED (only in the working file). HEAD is what is kept or deleted,
the working file what is kept or added. There is no merge step, so there are no conflicts. Pure: no git, no files.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from difflib import SequenceMatcher
from itertools import groupby
from typing import NamedTuple

KEPT, DELETED, ADDED = "k", "d", "a"
NOBODY = ""
EXISTS = b"\0exists"
"""The first token of a file that exists; an absent file has no tokens."""

Entry = tuple[str, bytes, str]
Run = tuple[str, int, str]
IsOwn = Callable[[str], bool]

_BINARY_PROBE_BYTES = 8_000
_SMALL_TOKENS = 300
_MAX_COMPARISONS = 2_000_000
"""Beyond it a block without unique lines counts as replaced as a whole."""


class Change(NamedTuple):
    """Tokens `start:end` of the old text are replaced by `first:last` of the new one."""

    start: int
    end: int
    first: int
    last: int


class Alignment(NamedTuple):
    """Which entries another version of the file has, and its tokens that are in none: before which entry, and what."""

    present: list[bool]
    extra: list[tuple[int, bytes]]


class OwnVersion(NamedTuple):
    """What an author commits, and the weave as it is when that has become HEAD."""

    content: bytes | None
    entries: list[Entry]
    left_added: dict[str, int]
    """How many lines of whom were left out."""
    left_deleted: dict[str, int]


def split_tokens(content: bytes | None) -> list[bytes]:
    """Lines without their ends; a binary file is one token."""
    if content is None:
        return []
    if is_binary(content):
        return [EXISTS, content]
    return [EXISTS, *content.split(b"\n")]


def join_tokens(tokens: Sequence[bytes]) -> bytes | None:
    return b"\n".join(tokens[1:]) if tokens and tokens[0] == EXISTS else None


def is_binary(content: bytes) -> bool:
    return b"\0" in content[:_BINARY_PROBE_BYTES]


def diff_tokens(old: Sequence[bytes], new: Sequence[bytes]) -> list[Change]:
    """What differs, in order; the beginning and the end that both share are never looked at twice."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    same = 0
    while same < shorter - start and old[-1 - same] == new[-1 - same]:
        same += 1
    end, last = len(old) - same, len(new) - same
    if start == end and start == last:
        return []
    if start in (end, last):
        return [Change(start, end, start, last)]
    if end - start > _SMALL_TOKENS:
        return _diff_between_anchors(old, new, Change(start, end, start, last))
    return _diff_block(old, new, Change(start, end, start, last))


def _diff_block(old: Sequence[bytes], new: Sequence[bytes], block: Change) -> list[Change]:
    start, end, first, last = block
    if (end - start) * (last - first) > _MAX_COMPARISONS:
        return [block]
    matcher = SequenceMatcher(None, old[start:end], new[first:last], autojunk=False)
    return [
        Change(i1 + start, i2 + start, j1 + first, j2 + first)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _diff_between_anchors(old: Sequence[bytes], new: Sequence[bytes], block: Change) -> list[Change]:
    """Large texts: lines that are unique in both stay where they are (patience), and the rest is compared between."""
    anchors = _find_anchors(old, new, block)
    if not anchors:
        return _diff_block(old, new, block)
    found: list[Change] = []
    start, first = block.start, block.first
    for end, last in [*anchors, (block.end, block.last)]:
        found += [
            Change(change.start + start, change.end + start, change.first + first, change.last + first)
            for change in diff_tokens(old[start:end], new[first:last])
        ]
        start, first = end + 1, last + 1
    return found


def _find_anchors(old: Sequence[bytes], new: Sequence[bytes], block: Change) -> list[tuple[int, int]]:
    """The longest run of lines, unique in both, that have the same order in both."""
    unique_old = _index_unique(old, block.start, block.end)
    unique_new = _index_unique(new, block.first, block.last)
    pairs = [(at, unique_new[text]) for text, at in unique_old.items() if text in unique_new]
    pairs.sort()
    tails, tail_pairs, previous = list[int](), list[int](), [-1] * len(pairs)
    for number, (_, at) in enumerate(pairs):
        place = bisect_left(tails, at)
        previous[number] = tail_pairs[place - 1] if place else -1
        tails[place : place + 1], tail_pairs[place : place + 1] = [at], [number]
    chain: list[tuple[int, int]] = []
    number = tail_pairs[-1] if tail_pairs else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _index_unique(tokens: Sequence[bytes], start: int, end: int) -> dict[bytes, int]:
    places: dict[bytes, int] = {}
    for at in range(start, end):
        places[tokens[at]] = -1 if tokens[at] in places else at
    return {text: at for text, at in places.items() if at >= 0}


class Weave:
    def __init__(self, entries: list[Entry]) -> None:
        self.entries = entries

    @classmethod
    def from_head(cls, head: bytes | None) -> "Weave":
        return cls([(KEPT, token, NOBODY) for token in split_tokens(head)])

    @classmethod
    def from_runs(cls, head: bytes | None, work: bytes | None, runs: Sequence[Run]) -> "Weave":
        """From the two versions and how they are interleaved; ValueError if they do not fit together."""
        old, new = iter(split_tokens(head)), iter(split_tokens(work))
        entries: list[Entry] = []
        for kind, count, author in runs:
            for _ in range(count):
                token = next(new, None) if kind == ADDED else next(old, None)
                if token is None or (kind == KEPT and next(new, None) != token):
                    raise ValueError("the versions do not fit the runs")
                entries.append((kind, token, author))
        if next(old, None) is not None or next(new, None) is not None:
            raise ValueError("the versions are longer than the runs")
        return cls(entries)

    @property
    def runs(self) -> list[Run]:
        groups = groupby(self.entries, key=lambda entry: (entry[0], entry[2]))
        return [(kind, sum(1 for _ in entries), author) for (kind, author), entries in groups]

    @property
    def work(self) -> bytes | None:
        return join_tokens(self._work_tokens())

    @property
    def head(self) -> bytes | None:
        return join_tokens(self._head_tokens())

    @property
    def authors(self) -> set[str]:
        """Who has changed something that is not committed; nobody is not named."""
        return {author for kind, _, author in self.entries if kind != KEPT} - {NOBODY}

    @property
    def is_clean(self) -> bool:
        return all(kind == KEPT for kind, _, _ in self.entries)

    def _work_tokens(self) -> list[bytes]:
        return [token for kind, token, _ in self.entries if kind != DELETED]

    def _head_tokens(self) -> list[bytes]:
        return [token for kind, token, _ in self.entries if kind != ADDED]

    def list_lines(self, is_own: IsOwn) -> list[int]:
        """The numbers of the working file's lines that others have added, and of those after which they deleted some."""
        lines: list[int] = []
        number, is_gap = -1, False
        for kind, _, author in self.entries:
            is_other = self._is_other((kind, b"", author), is_own)
            if is_gap and kind != DELETED and not is_other:
                lines.append(max(number, 1))
            number += kind != DELETED
            is_gap = kind == DELETED and (is_other or is_gap)
            if is_other and kind == ADDED:
                lines.append(max(number, 1))
        if is_gap:
            lines.append(max(number, 1))
        return sorted(set(lines))

    def record_change(self, after: bytes | None, author: str) -> None:
        """The working file became `after` by the hand of the author."""
        new, old = split_tokens(after), self._work_tokens()
        if new == old:
            return
        alive = [at for at, entry in enumerate(self.entries) if entry[0] != DELETED]
        changes = diff_tokens(old, new)
        moved = self._find_moved(changes, new, alive)
        out: list[Entry] = []
        at = 0
        for change in changes:
            start = self._find_start(change, alive)
            out += self.entries[at:start]
            added = [(ADDED, token, moved.get(token, author)) for token in new[change.first : change.last]]
            at = self._replace(out, alive[change.start : change.end], added, start, author, moved)
        self.entries = out + self.entries[at:]
        if after is None:
            self.entries = [(DELETED, token, author) for _, token, _ in self.entries]
        self._undo()

    def _find_moved(
        self, changes: Sequence[Change], new: Sequence[bytes], alive: Sequence[int]
    ) -> dict[bytes, str]:
        """Lines that were added before, and that this change takes out and puts back elsewhere, with their authors."""
        if len(changes) < 2:  # noqa: PLR2004 - out of one place and into another
            return {}
        put = {token for change in changes for token in new[change.first : change.last] if token.strip()}
        removed = (self.entries[alive[at]] for change in changes for at in range(change.start, change.end))
        return {token: author for kind, token, author in removed if kind == ADDED and token in put}

    def _find_start(self, change: Change, alive: Sequence[int]) -> int:
        """A pure insertion stands directly after the living line before it."""
        if change.start == change.end:
            return alive[change.start - 1] + 1 if change.start else 0
        return alive[change.start]

    def _replace(
        self,
        out: list[Entry],
        removed: Sequence[int],
        added: list[Entry],
        at: int,
        author: str,
        moved: Collection[bytes],
    ) -> int:
        """Line by line: each removed line is followed by the one that replaces it. Who rewrites or deletes an added
        line owns it, with the deletion that it had replaced."""
        for number, place in enumerate(removed):
            out += self.entries[at:place]
            kind, token, before = self.entries[place]
            at = place + 1
            if kind == KEPT:
                out.append((DELETED, token, author))
            elif token not in moved:
                back = len(out)
                while back and out[back - 1][0] == DELETED and out[back - 1][2] in (before, author):
                    back -= 1
                    out[back] = (DELETED, out[back][1], author)
            if len(added) > 1 and number < len(removed) - 1:
                out.append(added.pop(0))
        out += added
        return at

    def _undo(self) -> None:
        """A deleted line that is back in the same gap is nobody's change."""
        out: list[Entry] = []
        for is_kept, group in groupby(self.entries, key=lambda entry: entry[0] == KEPT):
            gap = list(group)
            out += gap if is_kept else _undo_gap(gap)
        self.entries = out

    def align(self, content: bytes | None) -> Alignment:
        tokens = split_tokens(content)
        if tokens == self._work_tokens():
            return Alignment([kind != DELETED for kind, _, _ in self.entries], [])
        if tokens == self._head_tokens():
            return Alignment([kind != ADDED for kind, _, _ in self.entries], [])
        present, extra = [True] * len(self.entries), list[tuple[int, bytes]]()
        for start, end, first, last in diff_tokens([token for _, token, _ in self.entries], tokens):
            present[start:end] = [False] * (end - start)
            extra += [(end, token) for token in tokens[first:last]]
        return Alignment(present, extra)

    def join_aligned(self, found: Alignment) -> bytes | None:
        return join_tokens([token for _, token, is_present in self._walk(found) if is_present])

    def _walk(self, found: Alignment) -> Iterator[tuple[Entry | None, bytes, bool]]:
        """Every entry and whether the aligned version has it, between its tokens that are no entry's."""
        waiting = iter([*found.extra, (len(self.entries) + 1, b"")])
        place, extra = next(waiting)
        for at, entry in enumerate([*self.entries, None]):
            while place <= at:
                yield None, extra, True
                place, extra = next(waiting)
            if entry is not None:
                yield entry, entry[1], found.present[at]

    def follow_head(self, head: bytes | None, author: str = NOBODY) -> None:
        """HEAD has another version of the file; the working file is as known."""
        if split_tokens(head) != self._head_tokens():
            self.entries = self._entries_with_head(self.align(head), author)
            self._undo()

    def _entries_with_head(self, found: Alignment, author: str) -> list[Entry]:
        out: list[Entry] = []
        undone = NOBODY
        for entry, token, is_present in self._walk(found):
            if entry is None:
                # What a commit had replaced that is undone now is deleted by who had replaced it.
                out.append((DELETED, token, author or undone))
                continue
            undone = entry[2] if entry[0] == KEPT and not is_present else NOBODY
            if entry[0] == DELETED and is_present:
                out.append(entry)
            elif entry[0] != DELETED:
                out.append((KEPT if is_present else ADDED, token, entry[2]))
        return out

    def select_own(
        self, staged: bytes | None, is_own: IsOwn, author: str, base: tuple[bytes | None, ...] = ()
    ) -> OwnVersion:
        """What the author commits where git would take `staged`: that, with the lines of others as in HEAD, or as in
        another version if `base` has one: without what they added, and with what they deleted."""
        others = [self._is_other(entry, is_own) for entry in self.entries]
        before = self.align(staged)
        found = self._align_own(before, self.align(base[0] if base else self.head), others, is_own)
        left = {ADDED: dict[str, int](), DELETED: dict[str, int]()}
        changed = zip(self.entries, others, before.present, found.present, strict=True)
        for (kind, token, owner), other, had, has in changed:
            if other and had != has and token != EXISTS:
                left[kind][owner] = left[kind].get(owner, 0) + 1
        committed = Weave(self._entries_with_head(found, author))
        committed._undo()
        return OwnVersion(self.join_aligned(found), committed.entries, left[ADDED], left[DELETED])

    def _align_own(
        self, found: Alignment, base: Alignment, others: Sequence[bool], is_own: IsOwn
    ) -> Alignment:
        if self._is_binary:
            return base if self._belongs_to_other(is_own) else found
        if self._waits_for_creator(others):
            return base
        marked = zip(self.entries, others, found.present, strict=True)
        # Another's line may be staged at another place than where it stands in the file.
        absent = {token for (kind, token, _), other, has in marked if kind == ADDED and other and not has}
        extra = [(at, token) for at, token in found.extra if token not in absent or not token.strip()]
        chosen = zip(others, found.present, base.present, strict=True)
        return Alignment([was if other else has for other, has, was in chosen], extra)

    @staticmethod
    def _is_other(entry: Entry, is_own: IsOwn) -> bool:
        return entry[0] != KEPT and entry[2] != NOBODY and not is_own(entry[2])

    @property
    def _is_binary(self) -> bool:
        return any(token != EXISTS and is_binary(token) for _, token, _ in self.entries)

    def _belongs_to_other(self, is_own: IsOwn) -> bool:
        """A binary file is its last writer's."""
        writers = [owner for kind, _, owner in reversed(self.entries) if kind == ADDED]
        writers += [owner for kind, _, owner in self.entries if kind == DELETED]
        return bool(writers) and writers[0] != NOBODY and not is_own(writers[0])

    def _waits_for_creator(self, others: Sequence[bool]) -> bool:
        """Another's new file waits for its creator, unless no line in it is the creator's any more."""
        if not self.entries or self.entries[0][0] != ADDED or not others[0]:
            return False
        creator = self.entries[0][2]
        return any(kind == ADDED and owner == creator for kind, _, owner in self.entries[1:])

    def restore_others(self, after: bytes | None, is_own: IsOwn) -> bytes | None:
        """`after` with what others had added to this weave's file, and without what they had deleted."""
        if after is None or self._is_binary:
            return self.work if after is None or self._belongs_to_other(is_own) else after
        found = self.align(after)
        present = [
            entry[0] == ADDED if self._is_other(entry, is_own) else has
            for entry, has in zip(self.entries, found.present, strict=True)
        ]
        return self.join_aligned(Alignment(present, found.extra))


def _undo_gap(gap: list[Entry]) -> list[Entry]:
    deleted = [entry for entry in gap if entry[0] == DELETED]
    added = [entry for entry in gap if entry[0] == ADDED]
    gone, back = [entry[1] for entry in deleted], [entry[1] for entry in added]
    if not set(gone) & set(back):
        return gap
    matcher = SequenceMatcher(None, gone, back, autojunk=False)
    out: list[Entry] = []
    i = j = 0
    for first, second, length in matcher.get_matching_blocks():
        out += deleted[i:first] + added[j:second]
        out += [(KEPT, token, NOBODY) for token in gone[first : first + length]]
        i, j = first + length, second + length
    return out
