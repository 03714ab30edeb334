"""Sends the new lines of transcripts, each from where the last run stopped: whole lines only, secrets masked."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Literal

from commonplace.client.link import remote
from commonplace.client.link import transcript as transcripts
from commonplace.client.link.masked_lines import LineMasker
from commonplace.client.link.progress import ByteProgress
from commonplace.client.link.sync_state import LocalWorkspace, SentArchive, SyncState
from commonplace.client.link.transcript import Transcript, TranscriptStamp
from commonplace.client.link.upload_client import ArchiveDiffers, StoredArchive, UploadClient
from commonplace.client.link.workspaces import REGISTER_AGAIN_STATUSES, MachineWorkspaces

UploadStatus = Literal["sent", "unchanged", "waiting"]
_PART_BYTES = 4 * 1024 * 1024
_ATTEMPTS = 100


class TranscriptUpload:
    def __init__(
        self,
        client: UploadClient,
        state: SyncState,
        workspaces: MachineWorkspaces,
        masking: LineMasker,
        progress: ByteProgress,
    ) -> None:
        self._client, self._state, self._workspaces = client, state, workspaces
        self._masking, self._progress = masking, progress
        self.sent_bytes = 0

    def send_new_lines(
        self, transcript: Transcript, project: str, path: Path, *, at_rest: bool = False
    ) -> UploadStatus:
        """Send the new lines of a transcript from `path`, which may be its spooled text. `at_rest`: its agent has stopped."""
        stamp = TranscriptStamp.read_stamp(path)
        archive = self._state.find_archive(transcript.tool, transcript.archive_id)
        if stamp.size == 0 or (archive and archive.matches_file(stamp)):
            return "unchanged"
        if (stamp.is_being_written and not at_rest) or (transcript.whole and not stamp.is_settled):
            return "waiting"
        archive = self._find_archive_start(transcript, project, archive, path)
        before = archive
        try:
            archive = self._send_with_retries(
                archive, path, unfinished=stamp.is_settled or path.suffix == ".zst"
            )
        except remote.ServerRefusal as refused:
            if refused.code == "too_large":
                self._mark_given_up(transcript, stamp)
            raise
        return self._close_archive(archive, before, stamp)

    def _mark_given_up(self, transcript: Transcript, stamp: TranscriptStamp) -> None:
        """Report a transcript that is too large once, and again only when the file changes."""
        if archive := self._state.find_archive(transcript.tool, transcript.archive_id):
            self._state.save_archive(archive.mark_complete(stamp))

    def _find_archive_start(
        self, transcript: Transcript, project: str, archive: SentArchive | None, path: Path
    ) -> SentArchive:
        """The archive to continue; a rewritten file starts a new revision."""
        if archive is None:
            workspace = self._workspaces.find_or_register(transcript.tool, project)
            return SentArchive(transcript.tool, transcript.archive_id, workspace.id, project)
        if archive.raw_offset and transcripts.digest_before(path, archive.raw_offset) != archive.tail:
            return _start_next_revision(archive)
        return archive

    def _close_archive(
        self, archive: SentArchive, before: SentArchive, stamp: TranscriptStamp
    ) -> UploadStatus:
        """Mark the file as sent until it changes, unless its last line is incomplete."""
        if archive.raw_offset >= stamp.size or stamp.path.suffix == ".zst":
            self._state.save_archive(archive.mark_complete(stamp))
            return "sent"
        sent = archive.sent_offset > before.sent_offset or archive.revision > before.revision
        return "sent" if sent else "waiting"

    def _send_with_retries(self, archive: SentArchive, path: Path, *, unfinished: bool) -> SentArchive:
        registered = False
        for _ in range(_ATTEMPTS):
            workspace = self._workspaces.find_or_register(archive.tool, archive.project)
            try:
                return self._send_parts(archive, workspace, path, unfinished=unfinished)
            except ArchiveDiffers as other:
                archive = self._align_with_server(archive, other.stored, path, unfinished=unfinished)
            except remote.ServerRefusal as refused:
                if registered or refused.status not in REGISTER_AGAIN_STATUSES:
                    raise
                registered = True
                workspace = self._workspaces.register(archive.tool, archive.project)
                archive = _move_to_workspace(archive, workspace)
        raise remote.ServerRefusal(
            409, {"error": "conflict", "message": f"{path} cannot be matched with its archive on the server."}
        )

    def _send_parts(
        self, archive: SentArchive, workspace: LocalWorkspace, path: Path, *, unfinished: bool
    ) -> SentArchive:
        part, raw = bytearray(), archive.raw_offset
        lines = transcripts.read_lines_from(path, raw, unfinished=unfinished)
        for length, line in self._masking.mask_lines(lines):
            part += line
            raw += length
            if len(part) >= _PART_BYTES:
                archive = self._put_part(archive, workspace, path, raw, bytes(part))
                part.clear()
        return self._put_part(archive, workspace, path, raw, bytes(part)) if part else archive

    def _put_part(
        self, archive: SentArchive, workspace: LocalWorkspace, path: Path, raw: int, part: bytes
    ) -> SentArchive:
        stored = self._client.put_archive_part(
            workspace.id, workspace.write_token, archive.revision_id, archive.sent_offset, part
        )
        self._progress.add_bytes(raw - archive.raw_offset)
        self.sent_bytes += len(part)
        archive = replace(
            archive,
            raw_offset=raw,
            sent_offset=stored.bytes,
            tail=transcripts.digest_before(path, raw),
            size=-1,
        )
        self._state.save_archive(archive)
        return archive

    def _align_with_server(
        self, archive: SentArchive, stored: StoredArchive, path: Path, *, unfinished: bool
    ) -> SentArchive:
        """Find the end of the server's bytes in the file; if they are not its beginning, start a new revision."""
        raw = sent = 0
        digest = hashlib.sha256()
        lines = transcripts.read_lines_from(path, 0, unfinished=unfinished)
        for length, line in self._masking.copy_without_counts().mask_lines(lines) if stored.bytes else ():
            digest.update(line)
            raw, sent = raw + length, sent + len(line)
            if sent >= stored.bytes:
                break
        if stored.bytes and (sent, digest.hexdigest()) != (stored.bytes, stored.sha256):
            return _start_next_revision(archive)
        return replace(
            archive, raw_offset=raw, sent_offset=sent, tail=transcripts.digest_before(path, raw), size=-1
        )


def _start_next_revision(archive: SentArchive) -> SentArchive:
    return replace(archive, revision=archive.revision + 1, raw_offset=0, sent_offset=0, tail="", size=-1)


def _move_to_workspace(archive: SentArchive, workspace: LocalWorkspace) -> SentArchive:
    """A server without the workspace has no archives of it either."""
    if workspace.id == archive.workspace:
        return archive
    return SentArchive(archive.tool, archive.session, workspace.id, archive.project)
