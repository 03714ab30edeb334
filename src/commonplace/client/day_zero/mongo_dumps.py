"""The MongoDB half of mcp-shared-memory, as `mongodump --out DIR` or `mongoexport` writes it: its guidelines.

A guideline becomes a document, not a rule: who may set rules decides that again. Mail, locks, agents and keys are counted.
"""

import gzip
import json
import struct
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from commonplace.client.day_zero.found_note import FoundNote

OnSkip = Callable[[str, str], None]

_GUIDELINE_FIELDS = frozenset({"name", "rule", "scope"})
_EVERY_PROJECT = "global"
_SHARED_PROJECT = "shared"
_SUFFIXES = (".bson", ".bson.gz")
# Types of BSON with a fixed size, and how to unpack them: double, bool, date, int32, timestamp, int64.
_FIXED_TYPES = {0x01: "<d", 0x08: "<?", 0x09: "<q", 0x10: "<i", 0x11: "<Q", 0x12: "<q"}
_STRING_TYPES = (0x02, 0x0D, 0x0E)
_DOCUMENT, _ARRAY, _BINARY, _OBJECT_ID, _NULL = 0x03, 0x04, 0x05, 0x07, 0x0A
_OBJECT_ID_BYTES = 12


def is_dump(path: Path) -> bool:
    if path.is_dir():
        return any(path.rglob("*.bson")) or any(path.rglob("*.bson.gz"))
    return path.name.endswith(_SUFFIXES)


def list_dump(path: Path, on_skip: OnSkip) -> Iterator[FoundNote]:
    files = (
        sorted(file for file in path.rglob("*") if file.name.endswith(_SUFFIXES)) if path.is_dir() else [path]
    )
    for file in files:
        try:
            content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            records = list(_decode_documents(content))
        except (OSError, EOFError, ValueError, struct.error, IndexError) as broken:
            on_skip(str(file), f"cannot be read ({broken})")
            continue
        yield from list_guidelines(str(file), records, on_skip)


def is_guideline(record: Mapping[str, Any]) -> bool:
    return record.keys() >= _GUIDELINE_FIELDS


def list_guidelines(origin: str, records: list[dict[str, Any]], on_skip: OnSkip) -> Iterator[FoundNote]:
    others = sum(not is_guideline(record) for record in records)
    if others:
        on_skip(origin, f"{others} records are not guidelines")
    for record in filter(is_guideline, records):
        name, rule, scope = (str(record[field]).strip() for field in ("name", "rule", "scope"))
        if record.get("active") is False:
            on_skip(f"{origin}: {name}", "it is not active")
        elif not rule:
            on_skip(f"{origin}: {name}", "it has no text")
        else:
            project = _SHARED_PROJECT if scope == _EVERY_PROJECT else scope
            title = f"Guideline: {name}"
            yield FoundNote(
                "shared-memory", f"{origin}: {name}", title, rule, "pattern", ("guideline",), project
            )


def parse_export(text: str) -> list[dict[str, Any]]:
    """`mongoexport --jsonArray`; empty if it is something else."""
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        return []
    return [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []


def _decode_documents(content: bytes) -> Iterator[dict[str, Any]]:
    position = 0
    while position < len(content):
        document, position = _decode_document(content, position)
        yield document


def _decode_document(content: bytes, position: int) -> tuple[dict[str, Any], int]:
    (length,) = struct.unpack_from("<i", content, position)
    end = position + length
    if length < len("....0") or end > len(content):
        raise ValueError("the file ends inside a document")
    position += 4
    fields: dict[str, Any] = {}
    while content[position]:
        kind, name_end = content[position], content.index(0, position + 1)
        name = content[position + 1 : name_end].decode("utf-8", "replace")
        fields[name], position = _decode_value(kind, content, name_end + 1)
    return fields, end


def _decode_value(kind: int, content: bytes, position: int) -> tuple[Any, int]:
    if form := _FIXED_TYPES.get(kind):
        return struct.unpack_from(form, content, position)[0], position + struct.calcsize(form)
    if kind in (_DOCUMENT, _ARRAY):
        fields, end = _decode_document(content, position)
        return (list(fields.values()) if kind == _ARRAY else fields), end
    if kind == _NULL:
        return None, position
    if kind == _OBJECT_ID:
        end = position + _OBJECT_ID_BYTES
        return content[position:end].hex(), end
    (length,) = struct.unpack_from("<i", content, position)
    if kind in _STRING_TYPES:
        end = position + 4 + length
        return content[position + 4 : end - 1].decode("utf-8", "replace"), end
    if kind == _BINARY:
        end = position + 5 + length
        return content[position + 5 : end], end
    raise ValueError(f"a value of type {kind}")
