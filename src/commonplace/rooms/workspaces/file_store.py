"""Knowledge files and their versions in the store. Each change adds a version and updates the search index.

The overview of a workspace is stored the same way under the empty path, which no file can have; it is not indexed.
"""

import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from commonplace.rooms.workspaces.model import Workspace, file_not_found, find_title, version_not_found
from commonplace.search import index, text
from commonplace.store.counters import lock_project
from commonplace.store.database import Row, Tx

KNOWLEDGE_KIND = "knowledge"
OVERVIEW_PATH = ""
MAX_VERSIONS_PER_FILE = 200
"""Older versions are deleted."""

_SELECT_FILE = (
    "select project, id, workspace, path, title, size, sha256, given_sha256, version, versions, deleted,"
    " created_at, modified_at from workspace_file"
)
_WHERE_LISTED = "project = $1 and workspace = $2 and deleted = 0 and path > '' and path >= $3 and path < $4"
_SELECT_TEXT = (
    "select f.project, f.id, f.workspace, f.path, f.title, f.modified_at, v.content, v.author from workspace_file f"
    " join workspace_version v on v.project = f.project and v.file = f.id and v.version = f.version"
)
_LAST_CHARACTER = chr(0x10FFFF)
# Enough for what people write; literal and regex search also find the rest of a larger file.
_INDEXED_CHARACTERS = 256_000


@dataclass(frozen=True, slots=True)
class VersionDraft:
    """A new version; `given_sha256` is the hash of the text before secrets were masked."""

    path: str
    content: str
    size: int
    sha256: str
    given_sha256: str
    author: str
    what: str
    now: int
    content_words: Counter[str] = field(default_factory=Counter)
    """Those that the file is found by."""


def count_indexed_words(content: str) -> Counter[str]:
    return text.count_tokens(content[:_INDEXED_CHARACTERS])


async def lock_files(tx: Tx, workspace: Workspace) -> None:
    """Serialize writers of the project, because a write depends on the version that it reads."""
    await lock_project(tx, workspace.project, "workspace_files")


async def find_file(tx: Tx, workspace: Workspace, path: str) -> Row | None:
    return await tx.one(
        f"{_SELECT_FILE} where project = $1 and workspace = $2 and path = $3",
        workspace.project,
        workspace.id,
        path,
    )


async def find_overview(tx: Tx, workspace: Workspace) -> Row | None:
    """The latest version of the overview, with its text."""
    row = await find_file(tx, workspace, OVERVIEW_PATH)
    return await find_file_version(tx, row, row["version"]) if row else None


async def load_overview_text(tx: Tx, workspace: Workspace) -> str:
    overview = await find_overview(tx, workspace)
    return overview["content"] if overview else ""


async def load_version_text(tx: Tx, workspace: Workspace, path: str, number: int | None) -> Row:
    """One version of a file with its text; the latest if `number` is None."""
    row = await find_file(tx, workspace, path)
    if row is None or (row["deleted"] and number is None):
        raise file_not_found(path)
    version = await find_file_version(tx, row, number or row["version"])
    if version is None or version["what"] == "deleted":
        raise version_not_found()
    return version


async def list_files(
    tx: Tx, workspace: Workspace, prefix: str, limit: int, offset: int
) -> tuple[Sequence[Row], int]:
    """One page of the files with this path prefix, ordered by path, and the total count."""
    scope = (workspace.project, workspace.id, prefix, prefix + _LAST_CHARACTER)
    total = await tx.one(f"select count(*) as n from workspace_file where {_WHERE_LISTED}", *scope)
    rows = await tx.all(
        f"{_SELECT_FILE} where {_WHERE_LISTED} order by path limit $5 offset $6", *scope, limit, offset
    )
    return rows, total["n"] if total else 0


async def insert_file_version(tx: Tx, workspace: Workspace, before: Row | None, draft: VersionDraft) -> int:
    """Insert a version and return its number."""
    file_id = before["id"] if before else f"know_{secrets.token_hex(6)}"
    version = before["version"] + 1 if before else 1
    title = find_title(draft.content, draft.path)
    await tx.run(
        "insert into workspace_file (project, id, workspace, path, title, size, sha256, given_sha256, version,"
        " versions, deleted, created_at, modified_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1, 0, $10, $10)"
        " on conflict (project, id) do update set title = excluded.title, size = excluded.size,"
        " sha256 = excluded.sha256, given_sha256 = excluded.given_sha256, version = excluded.version,"
        " versions = workspace_file.versions + 1, deleted = 0, modified_at = excluded.modified_at",
        workspace.project,
        file_id,
        workspace.id,
        draft.path,
        title,
        draft.size,
        draft.sha256,
        draft.given_sha256,
        version,
        draft.now,
    )
    await _insert_version(tx, workspace.project, file_id, version, draft)
    if draft.path != OVERVIEW_PATH:
        await index.put_entries(tx, [_build_index_entry(workspace, file_id, title, draft)])
    return version


async def delete_file(tx: Tx, row: Row, author: str, now: int) -> int:
    """Mark the file as deleted with a new version, and return its number. Older texts stay."""
    version = int(row["version"]) + 1
    await tx.run(
        "update workspace_file set deleted = 1, version = $3, versions = versions + 1, modified_at = $4"
        " where project = $1 and id = $2",
        row["project"],
        row["id"],
        version,
        now,
    )
    draft = VersionDraft(row["path"], "", 0, "", "", author, "deleted", now)
    await _insert_version(tx, row["project"], row["id"], version, draft)
    await index.remove_entries(tx, row["project"], KNOWLEDGE_KIND, [row["id"]])
    return version


async def _insert_version(tx: Tx, project: str, file: str, version: int, draft: VersionDraft) -> None:
    await tx.run(
        "insert into workspace_version (project, file, version, at, author, what, size, sha256, content)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        project,
        file,
        version,
        draft.now,
        draft.author,
        draft.what,
        draft.size,
        draft.sha256,
        draft.content,
    )
    deleted = await tx.run(
        "delete from workspace_version where project = $1 and file = $2 and version <= $3",
        project,
        file,
        version - MAX_VERSIONS_PER_FILE,
    )
    if deleted:
        await tx.run(
            "update workspace_file set versions = versions - $3 where project = $1 and id = $2",
            project,
            file,
            deleted,
        )


async def list_file_versions(tx: Tx, row: Row, limit: int, offset: int = 0) -> Sequence[Row]:
    """Newest first, without texts."""
    return await tx.all(
        "select version, at, author, what, size, sha256 from workspace_version"
        " where project = $1 and file = $2 order by version desc limit $3 offset $4",
        row["project"],
        row["id"],
        limit,
        offset,
    )


async def find_file_version(tx: Tx, row: Row, number: int) -> Row | None:
    return await tx.one(
        "select version, at, author, what, size, sha256, content from workspace_version"
        " where project = $1 and file = $2 and version = $3",
        row["project"],
        row["id"],
        number,
    )


async def find_previous_text(tx: Tx, row: Row, number: int) -> Row | None:
    """The latest version before this one that has a text."""
    return await tx.one(
        "select version, at, what, sha256, content from workspace_version where project = $1 and file = $2"
        " and version < $3 and what <> 'deleted' order by version desc limit 1",
        row["project"],
        row["id"],
        number,
    )


async def list_file_sizes(
    tx: Tx, projects: Sequence[str], workspace: str | None, limit: int
) -> Sequence[Row]:
    """Most recently changed files first, without texts."""
    return await tx.all(
        "select project, id, size from workspace_file where project = any($1) and deleted = 0 and path > ''"
        " and (CAST($2 as text) is null or workspace = $2) order by modified_at desc, id limit $3",
        list(projects),
        workspace,
        limit,
    )


async def list_file_texts(tx: Tx, project: str, ids: Sequence[str]) -> Sequence[Row]:
    return await tx.all(
        f"{_SELECT_TEXT} where f.project = $1 and f.id = any($2) and f.deleted = 0", project, list(ids)
    )


def _build_index_entry(
    workspace: Workspace, file_id: str, title: str, draft: VersionDraft
) -> index.IndexEntry:
    """The type of an entry is its workspace, so that a search in one workspace reads no other entries."""
    entry = index.IndexEntry(
        project=workspace.project,
        kind=KNOWLEDGE_KIND,
        id=file_id,
        type=workspace.id,
        title=title,
        body=f"{draft.content[:_INDEXED_CHARACTERS]}\n{draft.path}",
        changed_at=draft.now,
    )
    words = text.add_counts(draft.content_words, text.count_tokens(draft.path))
    return replace(entry, counted=index.count_entry_words(entry, words))
