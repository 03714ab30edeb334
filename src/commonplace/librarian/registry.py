"""The function registry of the server, seen from the client: compare it with a scan and send the differences."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from commonplace.librarian.function import SourceFunction, compute_digest
from commonplace.librarian.scan import ProgressCallback, TreeScan

CallOperation = Callable[[str, Mapping[str, Any]], dict[str, Any]]
"""Runs an operation by name, in this process or on a remote server."""

FunctionKey = tuple[str, str]

_MAX_BATCH_FUNCTIONS = 500
_MAX_BATCH_BYTES = 2_500_000
_MAX_BATCH_KEYS = 5000


@dataclass(slots=True)
class RegistryDifference:
    """What differs between a scan and the registry."""

    changed: list[tuple[SourceFunction, str]] = field(default_factory=list)
    gone: list[FunctionKey] = field(default_factory=list)
    lines: list[tuple[str, str, int, int]] = field(default_factory=list)
    unchanged: int = 0

    def __bool__(self) -> bool:
        return bool(self.changed or self.gone or self.lines)


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    added: int = 0
    updated: int = 0
    moved: int = 0
    gone: int = 0

    def __add__(self, reply: Mapping[str, Any]) -> "SyncOutcome":
        return SyncOutcome(
            *(getattr(self, name) + reply.get(name, 0) for name in ("added", "updated", "moved", "gone"))
        )


class FunctionRegistry:
    def __init__(self, call: CallOperation, project: str) -> None:
        self._call, self._project = call, project

    def compute_difference(self, scan: TreeScan) -> RegistryDifference:
        """Compare the scan with what the server has of this tree."""
        row_by_key = {
            (row[0], row[1]): row for row in self._list_registered() if row[0].startswith(scan.tree.scope)
        }
        difference = RegistryDifference()
        seen: set[FunctionKey] = set()
        for function in scan.list_functions():
            key = (function.file, function.name)
            seen.add(key)
            self._compare_function(function, row_by_key.get(key), difference)
        difference.gone = [key for key in row_by_key if key not in seen and _is_file_gone(key[0], scan)]
        return difference

    def apply_difference(
        self, difference: RegistryDifference, progress: ProgressCallback = lambda _done, _all: None
    ) -> SyncOutcome:
        """Send the differences; gone functions first, so that the server recognizes moved ones."""
        outcome = SyncOutcome()
        for keys in split_batches(difference.gone, _MAX_BATCH_KEYS):
            outcome += self._sync_functions(gone=keys)
        done = 0
        for batch in _batch_by_size(difference.changed):
            outcome += self._sync_functions(functions=batch)
            done += len(batch)
            progress(done, len(difference.changed))
        for lines in split_batches(difference.lines, _MAX_BATCH_KEYS):
            self._sync_functions(lines=lines)
        return outcome

    def _compare_function(
        self, function: SourceFunction, row: Sequence[Any] | None, difference: RegistryDifference
    ) -> None:
        digest = compute_digest(function)
        if row is None or row[2] != digest:
            difference.changed.append((function, digest))
        elif (row[3], row[4]) != (function.line, function.end_line):
            difference.lines.append((function.file, function.name, function.line, function.end_line))
        else:
            difference.unchanged += 1

    def _list_registered(self) -> Iterator[Sequence[Any]]:
        cursor: dict[str, str] = {}
        while True:
            page = self._call("memory_list_functions", {"project": self._project} | cursor)
            yield from page.get("functions", ())
            if "next_cursor" not in page:
                return
            cursor = {"cursor": page["next_cursor"]}

    def _sync_functions(self, **changes: Any) -> dict[str, Any]:
        return self._call("memory_sync_functions", {"project": self._project} | changes)


def _is_file_gone(file: str, scan: TreeScan) -> bool:
    """False for an existing file that was not scanned: it may be ignored or in an unsupported language."""
    return file in scan.files or not scan.tree.resolve_file(file).exists()


def split_batches(items: Sequence[Any], size: int) -> Iterator[list[Any]]:
    for start in range(0, len(items), size):
        yield list(items[start : start + size])


def _batch_by_size(changed: Iterable[tuple[SourceFunction, str]]) -> Iterator[list[dict[str, Any]]]:
    """Yield batches that fit into one call, by number and by bytes."""
    batch: list[dict[str, Any]] = []
    batch_bytes = 0
    for function, digest in changed:
        fields: dict[str, Any] = {**msgspec.to_builtins(function), "digest": digest}
        size = len(msgspec.json.encode(fields))
        if batch and (len(batch) == _MAX_BATCH_FUNCTIONS or batch_bytes + size > _MAX_BATCH_BYTES):
            yield batch
            batch, batch_bytes = [], 0
        batch.append(fields)
        batch_bytes += size
    if batch:
        yield batch
