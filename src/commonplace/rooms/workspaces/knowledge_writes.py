"""Write knowledge files and overviews: size and hash checks, secrets, the base version, one new version for each write.

A text is masked, hashed and counted before its transaction, because SQLite has one writer.
Who may write is decided in `write_access.py`; the tables are in `file_store.py`.
"""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from commonplace import errors, masking
from commonplace.access import Caller
from commonplace.call import Call, Calls
from commonplace.rooms.workspaces import file_store, model, store
from commonplace.rooms.workspaces.events import KNOWLEDGE_WRITTEN, OVERVIEW_WRITTEN
from commonplace.rooms.workspaces.model import Workspace, file_not_found, version_not_found
from commonplace.rooms.workspaces.write_access import name_writer
from commonplace.store.database import Row


@dataclass(frozen=True, slots=True)
class PreparedText:
    """A text without secrets, with its digests and the words that it is found by."""

    given_sha256: str
    masked: masking.MaskedText
    sha256: str
    words: Counter[str]


async def prepare_file(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> PreparedText:  # noqa: ARG001 - the signature of `prepare`
    model.require_max_bytes(arguments["content"], model.MAX_FILE_BYTES)
    return await asyncio.to_thread(_prepare_text, arguments["content"])


async def prepare_overview(calls: Calls, arguments: Mapping[str, Any], caller: Caller) -> PreparedText:  # noqa: ARG001 - as above
    model.require_max_bytes(arguments["content"], model.MAX_OVERVIEW_BYTES)
    return await asyncio.to_thread(_prepare_text, arguments["content"])


def _prepare_text(content: str) -> PreparedText:
    masked = masking.mask_secrets(content)
    words = file_store.count_indexed_words(masked.text)
    return PreparedText(_hash_text(content), masked, _hash_text(masked.text), words)


async def write_file(
    call: Call,
    workspace: Workspace,
    path: str,
    base_sha256: str | None,
    sha256: str | None = None,
) -> model.WrittenKnowledge:
    """Add a version unless the text is the same; refuse it if the stored text is not the one it was based on."""
    text: PreparedText = call.prepared
    content_sha256 = text.given_sha256
    if sha256 is not None and sha256 != content_sha256:
        raise errors.Invalid(
            "sha256 does not match content.", hint="Compute it over the UTF-8 text.", sha256=content_sha256
        )
    await file_store.lock_files(call.tx, workspace)
    row = await file_store.find_file(call.tx, workspace, path)
    current = row if row is not None and not row["deleted"] else None
    call.subject = f"{workspace.id} {path}"
    if current is not None and content_sha256 in (current["sha256"], current["given_sha256"]):
        return model.WrittenKnowledge(
            status="unchanged", sha256=current["sha256"], version=current["version"]
        )
    _require_base(current, base_sha256)
    what: Literal["updated", "created"] = "updated" if current else "created"
    version = await _write_version(call, workspace, row, path, text, what)
    await store.update_workspace_activity(call.tx, workspace, call.now, knowledge=int(current is None))
    call.emit(KNOWLEDGE_WRITTEN, workspace.file_address(path), path=path, version=version)
    return model.WrittenKnowledge(
        status=what, sha256=text.sha256, version=version, masked=_list_kinds(text.masked)
    )


async def write_overview(call: Call, workspace: Workspace) -> model.OverviewWritten:
    text: PreparedText = call.prepared
    await file_store.lock_files(call.tx, workspace)
    row = await file_store.find_file(call.tx, workspace, file_store.OVERVIEW_PATH)
    call.subject = workspace.id
    if row is not None and row["given_sha256"] == text.given_sha256:
        return model.OverviewWritten(workspace_id=workspace.id, version=row["version"])
    version = await _write_version(
        call, workspace, row, file_store.OVERVIEW_PATH, text, "updated" if row else "created"
    )
    await _update_overview(call, workspace, text.masked.text, version)
    return model.OverviewWritten(workspace_id=workspace.id, version=version, masked=_list_kinds(text.masked))


async def restore_text(
    call: Call, workspace: Workspace, path: str, number: int | None
) -> model.RestoredVersion:
    """Write the text of an older version as a new version."""
    await file_store.lock_files(call.tx, workspace)
    row = await file_store.find_file(call.tx, workspace, path)
    if row is None:
        raise file_not_found(path)
    old = await _load_older_version(call, row, number)
    digest = old["sha256"]
    if not row["deleted"] and digest == row["sha256"]:
        return model.RestoredVersion(
            path=path, restored=old["version"], version=row["version"], sha256=digest
        )
    version = await _write_version(
        call, workspace, row, path, _prepare_text(old["content"]), f"restored {old['version']}"
    )
    call.subject = f"{workspace.id} {path} version {old['version']}"
    if path == file_store.OVERVIEW_PATH:
        await _update_overview(call, workspace, old["content"], version)
    else:
        await store.update_workspace_activity(call.tx, workspace, call.now, knowledge=row["deleted"])
        call.emit(KNOWLEDGE_WRITTEN, workspace.file_address(path), path=path, version=version)
    return model.RestoredVersion(path=path, restored=old["version"], version=version, sha256=digest)


async def _load_older_version(call: Call, row: Row, number: int | None) -> Row:
    if number is None:
        version = await file_store.find_previous_text(call.tx, row, row["version"])
    else:
        version = await file_store.find_file_version(call.tx, row, number)
    if version is None or version["what"] == "deleted":
        raise version_not_found()
    return version


async def _update_overview(call: Call, workspace: Workspace, content: str, version: int) -> None:
    await store.update_workspace_summary(call.tx, workspace, model.summarize_overview(content))
    await store.update_workspace_activity(call.tx, workspace, call.now)
    call.emit(OVERVIEW_WRITTEN, workspace.address, version=version)


async def _write_version(
    call: Call, workspace: Workspace, row: Row | None, path: str, text: PreparedText, what: str
) -> int:
    if text.masked.kinds and call.settings.secrets == "refuse":
        raise errors.Invalid(
            f"The text contains a secret ({', '.join(_list_kinds(text.masked))}).",
            hint="Remove it: knowledge is shared.",
        )
    draft = file_store.VersionDraft(
        path,
        text.masked.text,
        len(text.masked.text.encode()),
        text.sha256,
        text.given_sha256,
        call.agent if call.session or call.caller.agent else name_writer(call),
        what,
        call.now,
        text.words,
    )
    return await file_store.insert_file_version(call.tx, workspace, row, draft)


def _require_base(current: Row | None, base_sha256: str | None) -> None:
    if base_sha256 is None or (
        current is not None and base_sha256 in (current["sha256"], current["given_sha256"])
    ):
        return
    raise errors.Conflict(
        "The stored text has changed since base_sha256.",
        hint="Read it again, merge its changes, and send its sha256 as base_sha256.",
        sha256=current["sha256"] if current else "",
        version=current["version"] if current else 0,
    )


def _hash_text(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _list_kinds(masked: masking.MaskedText) -> list[str]:
    return sorted(set(masked.kinds))
