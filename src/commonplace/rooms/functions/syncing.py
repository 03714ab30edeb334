"""Brings the registry in step with what the librarian read: the same function stays the same record."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import msgspec

from commonplace.rooms.functions import model, store
from commonplace.rooms.functions.model import Scanned
from commonplace.store.database import Row, Tx, Value


class Sync:
    """One batch. What vanished is said first, so that what appears elsewhere can be known again."""

    def __init__(self, tx: Tx, project: str, now: int) -> None:
        self._tx, self._project, self._now = tx, project, now
        self.added = self.updated = self.moved = self.gone = 0

    async def vanish(self, places: Sequence[tuple[str, str]]) -> None:
        rows = await store.in_files(self._tx, self._project, sorted({file for file, _ in places}))
        named = set(places)
        lost = [row for row in rows if (row["file"], row["name"]) in named and row["state"] != "gone"]
        await store.put(self._tx, [(row, {**row, "state": "gone", "updated_at": self._now}) for row in lost])
        self.gone += len(lost)

    async def see(self, functions: Sequence[Scanned]) -> None:
        if not functions:
            return
        rows = await store.in_files(self._tx, self._project, sorted({each.file for each in functions}))
        here = {(row["file"], row["name"]): row for row in rows}
        strange = [each for each in functions if (each.file, each.name) not in here]
        known = _adopted(strange, rows) | await self._moved(strange)
        changes: list[tuple[Row | None, Mapping[str, Value]]] = []
        for each in functions:
            place = (each.file, each.name)
            changes.append(self._change(each, here.get(place) or known.get(place)))
        await store.put(self._tx, changes)

    async def _moved(self, strange: Sequence[Scanned]) -> dict[tuple[str, str], Row]:
        """The same name with the same body, where the record that had it is gone."""
        bodies = [each for each in strange if each.body]
        if not bodies:
            return {}
        rows = await store.gone(
            self._tx,
            self._project,
            sorted({model.short(each.name) for each in bodies}),
            sorted({each.body for each in bodies}),
        )
        gone: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in rows:
            gone[row["short"], row["body"]].append(row)
        found: dict[tuple[str, str], Row] = {}
        for each in bodies:
            candidates = gone[model.short(each.name), each.body]
            same = [row for row in candidates if row["name"] == each.name]
            chosen = same[0] if same else candidates[0] if len(candidates) == 1 else None
            if chosen is not None:
                candidates.remove(chosen)
                found[each.file, each.name] = chosen
        return found

    def _change(self, each: Scanned, before: Row | None) -> tuple[Row | None, Mapping[str, Value]]:
        if before is None:
            self.added += 1
            fresh = model.empty(self._project, store.made_id(), each.file, each.name, self._now)
            return None, self._read(each, fresh)
        if before["file"] != each.file:
            self.moved += 1
            origin = before["moved_from"] or before["file"]
            moved = {"moved_from": origin if model.is_described(before) and origin != each.file else ""}
            return before, self._read(each, {**before, **moved})
        self.updated += 1
        return before, self._read(each, before)

    def _read(self, each: Scanned, row: Row) -> dict[str, Value]:
        """The row with what was read; what was written before the first look is measured from that look on."""
        first = not row["digest"]
        after: dict[str, Value] = {
            **row,
            "file": each.file,
            "name": each.name,
            "short": model.short(each.name),
            "line": each.line,
            "end_line": each.end_line,
            "kind": each.kind,
            "language": each.language,
            "state": "present",
            "signature": each.signature,
            "body": each.body,
            "digest": each.digest,
            "scanned": msgspec.json.encode(each.facts()).decode(),
            "complexity": each.complexity,
            "code": each.code,
            "updated_at": self._now,
        }
        for what in ("described", "enriched"):
            if first and row[f"{what}_at"] is not None:
                after |= {f"{what}_signature": each.signature, f"{what}_body": each.body}
        return after


def _adopted(strange: Sequence[Scanned], rows: Sequence[Row]) -> dict[tuple[str, str], Row]:
    """Records of the same file that were made by hand under a shorter name, where only one function fits."""
    found: dict[tuple[str, str], Row] = {}
    for row in rows:
        if row["digest"]:
            continue
        fitting = [
            each for each in strange if each.file == row["file"] and model.means(row["name"], each.name)
        ]
        if len(fitting) == 1:
            found.setdefault((fitting[0].file, fitting[0].name), row)
    return found
