"""`commonplace import` of the folder tree of an earlier workspace server (`day_zero/workspace_tree.py` reads it).

Overviews and knowledge files become those of workspaces with the same names, written by the agent `importer`;
transcripts become archives, with secrets masked. A second run stores nothing, and nothing that differs is replaced.
"""

import base64
import gzip
import hashlib
import zlib
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from io import BufferedIOBase, BufferedReader
from pathlib import Path
from typing import Any

from commonplace import errors, masking, zstd
from commonplace.client.commands.import_report import ImportReport
from commonplace.client.day_zero.workspace_tree import FoundTranscript, FoundWorkspace, list_workspaces
from commonplace.client.link.masked_lines import LineMasker
from commonplace.client.link.progress import print_progress
from commonplace.client.link.transcript import MAX_PIECE_BYTES, Transcript
from commonplace.quoting import IMPORTER

CallOperation = Callable[[str, Mapping[str, Any]], dict[str, Any]]

_PART_BYTES = 4 * 1024 * 1024
_COMPRESSION_LEVEL = 6
_MAX_TEXT_BYTES = 1024 * 1024
_MAX_SESSION_BYTES = 256 * 1024 * 1024
_NO_TEXT_SHA256 = "0" * 64
_UNREADABLE = (OSError, EOFError, UnicodeDecodeError, zlib.error, zstd.ZstdError)
_FILE, _OVERVIEW, _TRANSCRIPT = "knowledge file", "overview", "transcript"


def run(root: Path, project: str | None, call_operation: CallOperation, *, dry_run: bool) -> int:
    report = ImportReport(_FILE)
    for workspace in list_workspaces(root, report.skip):
        if project:
            workspace.project = project
        if dry_run:
            _print_workspace(workspace, report)
            continue
        try:
            _WorkspaceImport(workspace, call_operation, report).store_all()
        except errors.Unavailable:
            raise
        except errors.Refusal as refusal:
            report.skip(str(workspace.folder), refusal.message)
    report.print_lines(dry_run=dry_run)
    return 0


def _print_workspace(workspace: FoundWorkspace, report: ImportReport) -> None:
    names = f"{workspace.machine} {workspace.tool} {workspace.project}"
    if workspace.overview:
        print(f"{_OVERVIEW:16}{names:40}{workspace.overview}")
    for path, file in workspace.knowledge.items():
        print(f"{_FILE:16}{names:40}{path:40}{file}")
    for transcript in workspace.transcripts:
        print(f"{_TRANSCRIPT:16}{names:40}{transcript.session_id:40}{transcript.file}")
    report.stored[_OVERVIEW] += workspace.overview is not None
    report.stored[_FILE] += len(workspace.knowledge)
    report.stored[_TRANSCRIPT] += len(workspace.transcripts)


class _WorkspaceImport:
    """Stores one workspace."""

    def __init__(
        self, workspace: FoundWorkspace, call_operation: CallOperation, report: ImportReport
    ) -> None:
        self._workspace, self._call_operation, self._report = workspace, call_operation, report
        self._names = {"machine": workspace.machine, "tool": workspace.tool, "project": workspace.project}
        self._session = ""
        self._id = ""

    def store_all(self) -> None:
        """In a session of the importer, so that every text says who wrote it."""
        starting = {"project": self._workspace.project, "claude_instance": IMPORTER}
        started = self._call_operation(
            "memory_start_session", starting | {"task_description": "import of a workspace"}
        )
        self._session = started["session_id"]
        self._id = self._call("register_workspace", self._names)["workspace_id"]
        if overview := self._workspace.overview:
            self._store_file(overview, lambda: self._store_overview(_read_text(overview)))
        for path, file in self._workspace.knowledge.items():
            self._store_file(file, partial(self._store_knowledge, path, file))
        self._store_transcripts()
        ending = {"session_id": self._session, "summary": f"Imported the workspace {self._id}"}
        self._call_operation("memory_end_session", ending)

    def _call(self, name: str, values: Mapping[str, Any]) -> dict[str, Any]:
        return self._call_operation(name, {**values, "agent_session": self._session})

    def _store_file(self, file: Path, store: Callable[[], str]) -> None:
        """`store` returns what was stored; nothing if it was stored before. A server that is gone ends the import."""
        try:
            noun = store()
        except _UNREADABLE as unreadable:
            self._report.skip(str(file), f"cannot be read ({unreadable})")
        except errors.Unavailable:
            raise
        except errors.Refusal as refusal:
            self._report.skip(str(file), refusal.message)
        else:
            self._report.count_stored(noun)

    def _store_knowledge(self, path: str, file: Path) -> str:
        """A base that no text has: the server accepts the stored text, and says so if there is none."""
        arguments = {"workspace_id": self._id, "path": path, "content": _read_text(file)}
        try:
            self._call("write_knowledge", arguments | {"base_sha256": _NO_TEXT_SHA256})
        except errors.Conflict as conflict:
            if conflict.details.get("sha256"):
                reason = f"The workspace {self._id} has another text under this path."
                raise errors.Conflict(reason) from None
            self._call("write_knowledge", arguments)
            return _FILE
        return ""

    def _store_overview(self, text: str) -> str:
        """An overview is written without a base, so what is stored is compared first."""
        try:
            newest = self._call("list_versions", {"workspace_id": self._id, "limit": 1})["versions"][0]
        except errors.NotFound:
            self._call("write_overview", {"workspace_id": self._id, "content": text})
            return _OVERVIEW
        if newest["sha256"] != hashlib.sha256(masking.mask_secrets(text).text.encode()).hexdigest():
            raise errors.Conflict(f"The workspace {self._id} has another overview.")
        return ""

    def _store_transcripts(self) -> None:
        transcripts = self._workspace.transcripts
        if not transcripts:
            return
        token = self._call("register_workspace", self._names | {"rotate": True})["write_token"]
        for number, transcript in enumerate(transcripts, 1):
            print_progress(f"transcripts of {self._id}", number, len(transcripts))
            self._store_file(transcript.file, partial(self._store_transcript, transcript, token))

    def _store_transcript(self, transcript: FoundTranscript, write_token: str) -> str:
        _require_size(transcript.file)
        archive_id = Transcript(self._workspace.tool, transcript.session_id, transcript.file).archive_id
        target = {"workspace_id": self._id, "write_token": write_token, "session_id": archive_id}
        offset, is_new = 0, False
        for part in _read_parts(transcript.file):
            is_new |= self._upload_part(target, offset, part)
            offset += len(part)
        return _TRANSCRIPT if is_new else ""

    def _upload_part(self, target: Mapping[str, Any], offset: int, part: bytes) -> bool:
        """Whether some of it was not stored before. Of a session that has grown, the stored beginning must be the same."""
        content = base64.b64encode(gzip.compress(part, _COMPRESSION_LEVEL)).decode()
        try:
            reply = self._call_operation(
                "upload_session", {**target, "offset": offset, "content_gzip_base64": content}
            )
        except errors.Conflict as conflict:
            stored = int(conflict.details.get("bytes") or 0) - offset
            if not 0 < stored < len(part):
                reason = f"The workspace {self._id} has another session {target['session_id']}."
                raise errors.Conflict(reason) from None
            self._upload_part(target, offset, part[:stored])
            return self._upload_part(target, offset + stored, part[stored:])
        return bool(reply["status"] != "duplicate")


def _read_text(file: Path) -> str:
    if file.stat().st_size > _MAX_TEXT_BYTES:
        raise errors.TooLarge("Larger than 1 MB.")
    return file.read_text(encoding="utf-8")


def _open_transcript(file: Path) -> BufferedIOBase:
    if file.suffix == ".gz":
        return gzip.GzipFile(file)
    return BufferedReader(zstd.ZstdFile(file)) if file.suffix == ".zst" else file.open("rb")


def _require_size(file: Path) -> None:
    """Refuse an empty transcript and one that is too large when decompressed, before any of it is sent."""
    size = 0
    with _open_transcript(file) as content:
        while size <= _MAX_SESSION_BYTES and (piece := content.read(MAX_PIECE_BYTES)):
            size += len(piece)
    if not size:
        raise errors.Invalid("Empty.")
    if size > _MAX_SESSION_BYTES:
        raise errors.TooLarge("Larger than 256 MB.")


def _read_parts(file: Path) -> Iterator[bytes]:
    """The lines with secrets masked, in parts of some megabytes: the same ones in every run."""
    part = bytearray()
    with _open_transcript(file) as content:
        lines = iter(lambda: content.readline(MAX_PIECE_BYTES), b"")
        for _, line in LineMasker().mask_lines(lines):
            part += line
            if len(part) >= _PART_BYTES:
                yield bytes(part)
                part.clear()
    if part:
        yield bytes(part)
