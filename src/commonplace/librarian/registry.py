"""The registry on the server: what it knows, what differs, and the calls that make it true."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from commonplace.librarian.function import Function, digest
from commonplace.librarian.scan import Progress, Scan

Call = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Runs an operation by its name, wherever the server is."""

Place = tuple[str, str]

_FUNCTIONS = 500
_BYTES = 2_500_000
_PLACES = 5000


@dataclass(slots=True)
class Difference:
    """What the server must be told."""

    changed: list[tuple[Function, str]] = field(default_factory=list)
    gone: list[Place] = field(default_factory=list)
    lines: list[tuple[str, str, int, int]] = field(default_factory=list)
    unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone or self.lines)


@dataclass(frozen=True, slots=True)
class Outcome:
    added: int = 0
    updated: int = 0
    moved: int = 0
    gone: int = 0

    def __add__(self, reply: Mapping[str, Any]) -> "Outcome":
        return Outcome(
            *(getattr(self, name) + reply.get(name, 0) for name in ("added", "updated", "moved", "gone"))
        )


class Registry:
    def __init__(self, call: Call, project: str) -> None:
        self._call, self._project = call, project

    def difference(self, scan: Scan) -> Difference:
        """What was read against what the server has of this tree."""
        known = {(row[0], row[1]): row for row in self._known() if row[0].startswith(scan.tree.scope)}
        found = Difference()
        seen: set[Place] = set()
        for function in scan.functions():
            place = (function.file, function.name)
            seen.add(place)
            self._compare(function, known.get(place), found)
        found.gone = [place for place in known if place not in seen and _is_lost(place[0], scan)]
        return found

    def tell(self, difference: Difference, progress: Progress = lambda _done, _all: None) -> Outcome:
        """What vanished goes first: what turns up elsewhere is then the same function, moved."""
        outcome = Outcome()
        for places in _batches(difference.gone, _PLACES):
            outcome += self._sync(gone=places)
        done = 0
        for batch in _by_weight(difference.changed):
            outcome += self._sync(functions=batch)
            done += len(batch)
            progress(done, len(difference.changed))
        for lines in _batches(difference.lines, _PLACES):
            self._sync(lines=lines)
        return outcome

    def _compare(self, function: Function, row: Sequence[Any] | None, found: Difference) -> None:
        made = digest(function)
        if row is None or row[2] != made:
            found.changed.append((function, made))
        elif (row[3], row[4]) != (function.line, function.end_line):
            found.lines.append((function.file, function.name, function.line, function.end_line))
        else:
            found.unchanged += 1

    def _known(self) -> Iterator[Sequence[Any]]:
        cursor: dict[str, str] = {}
        while True:
            page = self._call("memory_list_functions", {"project": self._project} | cursor)
            yield from page.get("functions", ())
            if "next_cursor" not in page:
                return
            cursor = {"cursor": page["next_cursor"]}

    def _sync(self, **told: Any) -> dict[str, Any]:
        return self._call("memory_sync_functions", {"project": self._project} | told)


def _is_lost(file: str, scan: Scan) -> bool:
    """A file that was read would have shown it; one that was not may only be in an unknown language, or ignored."""
    return file in scan.files or not scan.tree.path(file).exists()


def _batches(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _by_weight(changed: Iterable[tuple[Function, str]]) -> Iterator[list[dict[str, Any]]]:
    """As many as one call takes, by number and by size."""
    batch: list[dict[str, Any]] = []
    weight = 0
    for function, made in changed:
        sent: dict[str, Any] = {**msgspec.to_builtins(function), "digest": made}
        size = len(msgspec.json.encode(sent))
        if batch and (len(batch) == _FUNCTIONS or weight + size > _BYTES):
            yield batch
            batch, weight = [], 0
        batch.append(sent)
        weight += size
    if batch:
        yield batch
