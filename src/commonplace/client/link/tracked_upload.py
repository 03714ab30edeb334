"""Uploads tracked files to a workspace without overwriting the changes of others."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from commonplace.client.link import remote, workspaces
from commonplace.client.link.masked_lines import LineMasker
from commonplace.client.link.sync_state import LocalWorkspace, SyncState
from commonplace.client.link.upload_client import UploadClient

_NO_TEXT_SHA256 = "0" * 64
"""As `base_sha256`: the file must not exist yet."""


@dataclass(slots=True)
class TrackedOutcome:
    sent: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


class TrackedUpload:
    """Uploads the tracked files of one workspace."""

    def __init__(
        self,
        client: UploadClient,
        state: SyncState,
        masking: LineMasker,
        workspace: LocalWorkspace,
        renew_workspace: Callable[[], LocalWorkspace],
    ) -> None:
        self._client, self._state, self._masking = client, state, masking
        self._workspace, self._renew_workspace = workspace, renew_workspace
        self.outcome = TrackedOutcome()

    def send_file(self, local: Path, path: str) -> None:
        text = local.read_text(encoding="utf-8", errors="replace")
        digest = hashlib.sha256(text.encode()).hexdigest()
        before = self._state.find_tracked_digests(self._workspace.id, path)
        if before and before[0] == digest:
            return
        safe = self._masking.mask_text(text)
        try:
            stored = self._upload_with_renewal(path, safe, before[1] if before else _NO_TEXT_SHA256)
        except remote.ServerRefusal as refused:
            if refused.code != "conflict":
                raise
            stored = self._store_conflict_copy(path, safe, digest, refused, sent_before=before is not None)
        self._state.save_tracked_digests(self._workspace.id, path, digest, stored)

    def _store_conflict_copy(
        self, path: str, text: str, digest: str, refused: remote.ServerRefusal, *, sent_before: bool
    ) -> str:
        """Keep the other text that is stored, and store this one under another name; returns the digest of the stored text."""
        stored_digest = str(refused.body.get("sha256") or "")
        if not stored_digest and not sent_before:
            return self._upload_with_renewal(path, text, None)
        original = PurePosixPath(path)
        copy_path = str(original.with_name(f"{original.stem}.conflict-{digest[:8]}{original.suffix}"))
        self._upload_with_renewal(copy_path, text, None)
        self.outcome.conflicts.append(
            f"{path}: the server has another text; this one was stored as {copy_path}"
        )
        return stored_digest or _NO_TEXT_SHA256

    def _upload_with_renewal(self, path: str, text: str, expected: str | None) -> str:
        """Upload, renewing an expired write token once; returns the digest of the stored text."""
        try:
            return self._upload_once(path, text, expected)
        except remote.ServerRefusal as refused:
            if refused.status not in workspaces.REGISTER_AGAIN_STATUSES:
                raise
        self._workspace = self._renew_workspace()
        return self._upload_once(path, text, expected)

    def _upload_once(self, path: str, text: str, expected: str | None) -> str:
        arguments = {"path": path, "content": text} | ({"base_sha256": expected} if expected else {})
        workspace = {"workspace_id": self._workspace.id, "write_token": self._workspace.write_token}
        reply = self._client.call("upload_knowledge", **workspace, **arguments)
        self.outcome.sent.append(path)
        return str(reply["sha256"])
