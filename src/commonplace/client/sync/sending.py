"""One transcript after another, each from where it stopped; only whole lines, secrets masked."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Literal

from commonplace.client import remote
from commonplace.client.sync import source
from commonplace.client.sync.lines import Masking
from commonplace.client.sync.progress import Progress
from commonplace.client.sync.source import Stamp
from commonplace.client.sync.state import Archive, State, Workspace
from commonplace.client.sync.transcript import Transcript
from commonplace.client.sync.upload import ArchiveDiffers, StoredArchive, UploadClient
from commonplace.client.sync.workspaces import NOT_OURS, Workspaces

Status = Literal["sent", "unchanged", "waiting"]
_PART = 4 * 1024 * 1024
_ATTEMPTS = 100


class Sending:
    def __init__(
        self, wire: UploadClient, kept: State, workspaces: Workspaces, masking: Masking, progress: Progress
    ) -> None:
        self._wire, self._kept, self._workspaces = wire, kept, workspaces
        self._masking, self._progress = masking, progress
        self.sent_bytes = 0

    def send(self, transcript: Transcript, project: str, path: Path, *, at_rest: bool = False) -> Status:
        """Send what is new of a transcript, whose text may lie elsewhere by now; `at_rest`: its agent says so."""
        stamp = Stamp.of(path)
        archive = self._kept.archive(transcript.tool, transcript.archive_id)
        if stamp.size == 0 or (archive and archive.is_of(stamp)):
            return "unchanged"
        if (stamp.moving and not at_rest) or (transcript.whole and not stamp.settled):
            return "waiting"
        archive = self._begun(transcript, project, archive, path)
        before = archive
        try:
            archive = self._streamed(archive, path, unfinished=stamp.settled or path.suffix == ".zst")
        except remote.ServerRefusal as refused:
            if refused.code == "too_large":
                self._give_up(transcript, stamp)
            raise
        return self._closed(archive, before, stamp)

    def _give_up(self, transcript: Transcript, stamp: Stamp) -> None:
        """What is too large stays so: it is told once, and again only when the file changes."""
        if archive := self._kept.archive(transcript.tool, transcript.archive_id):
            self._kept.keep_archive(archive.finished(stamp))

    def _begun(self, transcript: Transcript, project: str, archive: Archive | None, path: Path) -> Archive:
        """Where to go on; a file that was written anew begins another archive."""
        if archive is None:
            workspace = self._workspaces.of(transcript.tool, project)
            return Archive(transcript.tool, transcript.archive_id, workspace.id, project)
        if archive.raw_offset and source.tail(path, archive.raw_offset) != archive.tail:
            return _next_revision(archive)
        return archive

    def _closed(self, archive: Archive, before: Archive, stamp: Stamp) -> Status:
        """The file need not be looked at again until it changes, unless its last line has no end yet."""
        if archive.raw_offset >= stamp.size or stamp.path.suffix == ".zst":
            self._kept.keep_archive(archive.finished(stamp))
            return "sent"
        sent = archive.sent_offset > before.sent_offset or archive.revision > before.revision
        return "sent" if sent else "waiting"

    def _streamed(self, archive: Archive, path: Path, *, unfinished: bool) -> Archive:
        registered = False
        for _ in range(_ATTEMPTS):
            workspace = self._workspaces.of(archive.tool, archive.project)
            try:
                return self._parts(archive, workspace, path, unfinished=unfinished)
            except ArchiveDiffers as other:
                archive = self._aligned(archive, other.stored, path, unfinished=unfinished)
            except remote.ServerRefusal as refused:
                if registered or refused.status not in NOT_OURS:
                    raise
                registered = True
                workspace = self._workspaces.registered(archive.tool, archive.project)
                archive = _moved(archive, workspace)
        raise remote.ServerRefusal(
            409, {"error": "conflict", "message": f"{path} cannot be brought in step."}
        )

    def _parts(self, archive: Archive, workspace: Workspace, path: Path, *, unfinished: bool) -> Archive:
        part, raw = bytearray(), archive.raw_offset
        lines = source.pieces(path, raw, unfinished=unfinished)
        for length, line in self._masking.lines(lines):
            part += line
            raw += length
            if len(part) >= _PART:
                archive = self._put(archive, workspace, path, raw, bytes(part))
                part.clear()
        return self._put(archive, workspace, path, raw, bytes(part)) if part else archive

    def _put(self, archive: Archive, workspace: Workspace, path: Path, raw: int, part: bytes) -> Archive:
        stored = self._wire.put_archive_part(
            workspace.id, workspace.write_token, archive.id, archive.sent_offset, part
        )
        self._progress.add(raw - archive.raw_offset)
        self.sent_bytes += len(part)
        archive = replace(
            archive, raw_offset=raw, sent_offset=stored.bytes, tail=source.tail(path, raw), size=-1
        )
        self._kept.keep_archive(archive)
        return archive

    def _aligned(self, archive: Archive, stored: StoredArchive, path: Path, *, unfinished: bool) -> Archive:
        """Find what the server holds in the file again; what is not its beginning stays there as it is."""
        raw = sent = 0
        digest = hashlib.sha256()
        lines = source.pieces(path, 0, unfinished=unfinished)
        for length, line in self._masking.again().lines(lines) if stored.bytes else ():
            digest.update(line)
            raw, sent = raw + length, sent + len(line)
            if sent >= stored.bytes:
                break
        if stored.bytes and (sent, digest.hexdigest()) != (stored.bytes, stored.sha256):
            return _next_revision(archive)
        return replace(archive, raw_offset=raw, sent_offset=sent, tail=source.tail(path, raw), size=-1)


def _next_revision(archive: Archive) -> Archive:
    return replace(archive, revision=archive.revision + 1, raw_offset=0, sent_offset=0, tail="", size=-1)


def _moved(archive: Archive, workspace: Workspace) -> Archive:
    """A server that forgot the workspace forgot its archives too."""
    if workspace.id == archive.workspace:
        return archive
    return Archive(archive.tool, archive.session, workspace.id, archive.project)
