"""The MongoDB half of mcp-shared-memory, as `mongodump` or `mongoexport` writes it: its guidelines and checklists.

A guideline becomes a document, not a rule: who may set rules decides that again. Mail, locks, agents and keys are
counted. `bson_documents.py` decodes the files.
"""

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from io import BufferedIOBase
from pathlib import Path
from typing import Any, Self

from commonplace.client.day_zero import bson_documents
from commonplace.client.day_zero.found_note import FoundChecklist, FoundChecklistItem, FoundNote

OnSkip = Callable[[str, str], None]
Record = Mapping[str, Any]

_SOURCE = "shared-memory"
_GUIDELINE_FIELDS = frozenset({"name", "rule", "scope"})
_CHECKLIST_FIELDS = frozenset({"name", "project", "items"})
_EVERY_PROJECT = "global"
_SHARED_PROJECT = "shared"
_SUFFIXES = (".bson", ".bson.gz")
_GZIP_MAGIC = b"\x1f\x8b"
_MAX_BYTES = 8 * 1024**3
_UNREADABLE = (OSError, EOFError, ValueError, zlib.error)


def is_dump(path: Path) -> bool:
    if path.is_dir():
        return any(path.rglob("*.bson")) or any(path.rglob("*.bson.gz"))
    return path.name.endswith(_SUFFIXES) or _is_archive(path)


def list_dump(path: Path, on_skip: OnSkip) -> Iterator[FoundNote | FoundChecklist]:
    files = (
        sorted(file for file in path.rglob("*") if file.name.endswith(_SUFFIXES)) if path.is_dir() else [path]
    )
    for file in files:
        records: list[Record] = []
        try:
            with _BoundedFile(file) as stream:
                others = _collect_records(_read_file(file, stream), records)
        except _UNREADABLE as broken:
            on_skip(str(file), f"cannot be read ({broken})")
        else:
            _report_others(str(file), others, on_skip)
        yield from _list_known(str(file), records, on_skip)


def list_records(
    origin: str, records: Iterable[Record], on_skip: OnSkip
) -> Iterator[FoundNote | FoundChecklist]:
    known: list[Record] = []
    _report_others(origin, _collect_records(records, known), on_skip)
    yield from _list_known(origin, known, on_skip)


def is_known_record(record: Record) -> bool:
    return record.keys() >= _GUIDELINE_FIELDS or record.keys() >= _CHECKLIST_FIELDS


def parse_export(text: str) -> list[dict[str, Any]]:
    """`mongoexport --jsonArray`; empty if it is something else."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


class _BoundedFile:
    """A file, decompressed if it is compressed, that fails once it is larger than a dump can be."""

    def __init__(self, path: Path) -> None:
        self._file: BufferedIOBase = gzip.GzipFile(path) if _is_compressed(path) else path.open("rb")
        self._left = _MAX_BYTES

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_fault: object) -> None:
        self._file.close()

    def read(self, size: int, /) -> bytes:
        self._left -= size
        if self._left < 0:
            raise ValueError(f"larger than {_MAX_BYTES // 1024**3} GB")
        return self._file.read(size)


def _is_compressed(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_GZIP_MAGIC)) == _GZIP_MAGIC


def _is_archive(path: Path) -> bool:
    try:
        with _BoundedFile(path) as stream:
            return stream.read(len(bson_documents.ARCHIVE_MAGIC)) == bson_documents.ARCHIVE_MAGIC
    except _UNREADABLE:
        return False


def _read_file(path: Path, stream: _BoundedFile) -> Iterator[Record]:
    if path.name.endswith(_SUFFIXES):
        return bson_documents.read_documents(stream)
    return (archived.document for archived in bson_documents.read_archive(stream))


def _collect_records(records: Iterable[Record], known: list[Record]) -> int:
    """Keep those that are imported; what a broken file had before its fault is kept too. Returns how many others."""
    others = 0
    for record in records:
        if is_known_record(record):
            known.append(record)
        else:
            others += 1
    return others


def _report_others(origin: str, count: int, on_skip: OnSkip) -> None:
    if count:
        on_skip(origin, f"{count} records are neither guidelines nor checklists")


def _list_known(
    origin: str, records: Iterable[Record], on_skip: OnSkip
) -> Iterator[FoundNote | FoundChecklist]:
    for record in records:
        if record.keys() >= _GUIDELINE_FIELDS:
            yield from _read_guideline(origin, record, on_skip)
        else:
            yield from _read_checklist(origin, record, on_skip)


def _read_guideline(origin: str, record: Record, on_skip: OnSkip) -> Iterator[FoundNote]:
    name, rule, scope = (str(record[field]).strip() for field in ("name", "rule", "scope"))
    if record.get("active") is False:
        on_skip(f"{origin}: {name}", "it is not active")
    elif not rule:
        on_skip(f"{origin}: {name}", "it has no text")
    else:
        project = _SHARED_PROJECT if scope == _EVERY_PROJECT else scope
        title = f"Guideline: {name}"
        yield FoundNote(_SOURCE, f"{origin}: {name}", title, rule, "pattern", ("guideline",), project)


def _read_checklist(origin: str, record: Record, on_skip: OnSkip) -> Iterator[FoundChecklist]:
    name, project = (str(record[field]).strip() for field in ("name", "project"))
    listed = record["items"] if isinstance(record["items"], list) else []
    items = [
        FoundChecklistItem(
            str(item["text"]).strip(),
            item.get("done") is True,
            str(item.get("checked_by") or ""),
            str(item.get("notes") or ""),
        )
        for item in listed
        if isinstance(item, Mapping) and str(item.get("text") or "").strip()
    ]
    if items:
        yield FoundChecklist(_SOURCE, f"{origin}: {name}", name, tuple(items), project)
    else:
        on_skip(f"{origin}: {name}", "the checklist has no items")
