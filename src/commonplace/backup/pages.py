"""Pages of an export that people read: Markdown of documents, specs, guidelines, knowledge files and the backlog, and
the transcripts as they were uploaded. An import ignores them; the rows of the tables are what counts.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from typing import Any, Protocol

import msgspec

from commonplace import zstd
from commonplace.clock import iso
from commonplace.rooms.backlog.model import BACKLOG
from commonplace.store.snapshot import Snapshot
from commonplace.transcripts.archive.frame_storage import FrameStorage

_UNSAFE = re.compile(r"[^\w.-]+")
_MAX_NAME_CHARACTERS = 60
_Row = Mapping[str, Any]


class PageWriter(Protocol):
    def append_to_member(self, name: str, body: bytes) -> None: ...


async def write_pages(snapshot: Snapshot, writer: PageWriter, storage: FrameStorage | None) -> int:
    """Write every page; returns how many. A transcript whose body is missing ends before it."""
    reader, pages = _TableReader(snapshot), 0
    await reader.open()
    async for name, text in _list_pages(reader):
        writer.append_to_member(f"markdown/{name}", text.encode())
        pages += 1
    async for row in reader.rows("archive_frame"):
        body = await _read_frame(row, storage)
        if body is not None:
            session = f"{_clean(row['workspace'])}/{_clean(row['session'])}"
            writer.append_to_member(f"transcripts/{_clean(row['project'])}/{session}.jsonl", body)
    return pages


class _TableReader:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot

    async def open(self) -> None:
        self._tables = {table.name: table for table in await self._snapshot.tables()}

    async def rows(self, name: str) -> AsyncIterator[_Row]:
        table = self._tables[name]
        names = [column.name for column in table.columns]
        async for batch in self._snapshot.rows(table):
            for row in batch:
                yield dict(zip(names, row, strict=True))


async def _list_pages(reader: _TableReader) -> AsyncIterator[tuple[str, str]]:
    async for row in reader.rows("document"):
        yield _format_document(row)
    async for row in reader.rows("guideline"):
        fields = {
            "priority": row["priority"],
            "updated_by": row["updated_by"],
            "updated_at": iso(row["updated_at"]),
        }
        yield (
            f"{_clean(row['project'])}/guidelines/{_clean(row['name'])}.md",
            _format_page(row["name"], fields, row["rule"]),
        )
    async for row in _last_of_each(reader.rows("spec_version"), ("project", "name")):
        yield _format_spec(row)
    async for page in _list_knowledge_files(reader):
        yield page
    async for row in reader.rows("backlog"):
        yield format_backlog_item(row)


def _format_document(row: _Row) -> tuple[str, str]:
    fields = {name: row[name] for name in ("id", "type", "status", "author", "version")}
    fields |= {
        "tags": row["tags"],
        "created_at": iso(row["created_at"]),
        "updated_at": iso(row["updated_at"]),
    }
    name = f"{_clean(row['project'])}/documents/{_clean(row['type'])}/{_clean(row['title'])}-{_clean(row['id'])}.md"
    return name, _format_page(row["title"], fields, row["content"])


def _format_spec(row: _Row) -> tuple[str, str]:
    fields = {name: row[name] for name in ("version", "owner", "author", "spec_type", "tags")}
    fields["created_at"] = iso(row["created_at"])
    schema = f"\n\n```json\n{row['json_schema']}\n```" if row["json_schema"] else ""
    name = f"{_clean(row['project'])}/specs/{_clean(row['name'])}.md"
    return name, _format_page(row["name"], fields, row["content"] + schema)


def format_backlog_item(row: _Row) -> tuple[str, str]:
    fields = BACKLOG.describe(row)
    name = f"{_clean(row['project'])}/backlog/{_clean(row['title'])}-{_clean(row['id'])}.md"
    return name, _format_page(fields.pop("title"), fields, fields.pop("description", ""))


async def _list_knowledge_files(reader: _TableReader) -> AsyncIterator[tuple[str, str]]:
    """The newest version of every file that is not deleted."""
    files = {
        (row["project"], row["id"]): row async for row in reader.rows("workspace_file") if not row["deleted"]
    }
    async for row in _last_of_each(reader.rows("workspace_version"), ("project", "file")):
        if file := files.get((row["project"], row["file"])):
            # A path may also be the folder of another one.
            path = "/".join(_clean(part) for part in file["path"].split("/") if part).removesuffix(".md")
            yield f"{_clean(row['project'])}/workspaces/{_clean(file['workspace'])}/{path}.md", row["content"]


async def _last_of_each(rows: AsyncIterator[_Row], key: tuple[str, ...]) -> AsyncIterator[_Row]:
    """The last row of each key; rows are sorted by it."""
    last: _Row | None = None
    async for row in rows:
        if last is not None and any(last[name] != row[name] for name in key):
            yield last
        last = row
    if last is not None:
        yield last


def _format_page(title: str, fields: Mapping[str, Any], text: str) -> str:
    head = "\n".join(
        f"{name}: {msgspec.json.encode(value).decode()}" for name, value in fields.items() if value
    )
    return f"---\n{head}\n---\n\n# {title}\n\n{text}\n"


def _clean(name: str) -> str:
    """A part of a path that every file system takes."""
    return _UNSAFE.sub("-", name)[:_MAX_NAME_CHARACTERS].strip("-.") or "untitled"


async def _read_frame(row: _Row, storage: FrameStorage | None) -> bytes | None:
    if not row["address"]:
        return zstd.decompress(row["body"])
    if storage is None:
        return None
    try:
        return zstd.decompress(await asyncio.to_thread(storage.read_body, row["address"]))
    except FileNotFoundError:
        return None
