"""Merge a scan of source files into the function registry, so that a moved function keeps its row."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from commonplace.rooms.functions import model, store
from commonplace.rooms.functions.scans import ScannedFunction
from commonplace.store.database import Row, Tx, Value


class FunctionSync:
    """One batch. Call `mark_gone` first, so that `update_scanned` recognizes moved functions."""

    def __init__(self, tx: Tx, project: str, now: int) -> None:
        self._tx, self._project, self._now = tx, project, now
        self.added = self.updated = self.moved = self.gone = 0

    async def mark_gone(self, functions: Sequence[tuple[str, str]]) -> None:
        rows = await store.list_functions_in_files(
            self._tx, self._project, sorted({file for file, _ in functions})
        )
        keys = set(functions)
        vanished = [row for row in rows if (row["file"], row["name"]) in keys and row["state"] != "gone"]
        await store.upsert_functions(
            self._tx, [(row, {**row, "state": "gone", "updated_at": self._now}) for row in vanished]
        )
        self.gone += len(vanished)

    async def update_scanned(self, functions: Sequence[ScannedFunction]) -> None:
        if not functions:
            return
        rows = await store.list_functions_in_files(
            self._tx, self._project, sorted({function.file for function in functions})
        )
        row_by_key = {(row["file"], row["name"]): row for row in rows}
        unknown = [function for function in functions if (function.file, function.name) not in row_by_key]
        recognized = _adopt_registered(unknown, rows) | await self._find_moved(unknown)
        changes: list[tuple[Row | None, Mapping[str, Value]]] = []
        for function in functions:
            key = (function.file, function.name)
            changes.append(self._build_change(function, row_by_key.get(key) or recognized.get(key)))
        await store.upsert_functions(self._tx, changes)

    async def _find_moved(self, unknown: Sequence[ScannedFunction]) -> dict[tuple[str, str], Row]:
        """Match unknown functions with gone rows of the same name and body."""
        with_body = [function for function in unknown if function.body]
        if not with_body:
            return {}
        rows = await store.list_gone_functions(
            self._tx,
            self._project,
            sorted({model.unqualified_name(function.name) for function in with_body}),
            sorted({function.body for function in with_body}),
        )
        gone_rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            gone_rows[row["short"], row["body"]].append(row)
        moved: dict[tuple[str, str], Row] = {}
        for function in with_body:
            candidates = gone_rows[model.unqualified_name(function.name), function.body]
            same = [row for row in candidates if row["name"] == function.name]
            chosen = same[0] if same else candidates[0] if len(candidates) == 1 else None
            if chosen is not None:
                candidates.remove(chosen)
                moved[function.file, function.name] = chosen
        return moved

    def _build_change(
        self, function: ScannedFunction, before: Row | None
    ) -> tuple[Row | None, Mapping[str, Value]]:
        if before is None:
            self.added += 1
            new_row = model.new_function_row(
                self._project, store.new_function_id(), function.file, function.name, self._now
            )
            return None, self._merge_scan(function, new_row)
        if before["file"] != function.file:
            self.moved += 1
            origin = before["moved_from"] or before["file"]
            moved = {"moved_from": origin if model.is_described(before) and origin != function.file else ""}
            return before, self._merge_scan(function, {**before, **moved})
        self.updated += 1
        return before, self._merge_scan(function, before)

    def _merge_scan(self, function: ScannedFunction, row: Row) -> dict[str, Value]:
        """Return the row with the scan merged in; on the first scan, drift starts from this code."""
        is_first_scan = not row["digest"]
        after: dict[str, Value] = {
            **row,
            "file": function.file,
            "name": function.name,
            "short": model.unqualified_name(function.name),
            "line": function.line,
            "end_line": function.end_line,
            "kind": function.kind,
            "language": function.language,
            "state": "present",
            "signature": function.signature,
            "body": function.body,
            "digest": function.digest,
            "scanned": msgspec.json.encode(function.to_stored_facts()).decode(),
            "complexity": function.complexity,
            "code": function.code,
            "updated_at": self._now,
        }
        for kind in ("described", "enriched"):
            if is_first_scan and row[f"{kind}_at"] is not None:
                after |= {f"{kind}_signature": function.signature, f"{kind}_body": function.body}
        return after


def _adopt_registered(unknown: Sequence[ScannedFunction], rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """Match rows registered by hand under a shorter name, where only one function of the file fits."""
    adopted: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["digest"]:
            continue
        matches = [
            function
            for function in unknown
            if function.file == row["file"] and model.name_matches(row["name"], function.name)
        ]
        if len(matches) == 1:
            adopted.setdefault((matches[0].file, matches[0].name), row)
    return adopted
