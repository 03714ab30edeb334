"""Uploads tracked files to a workspace without overwriting what others wrote there."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from commonplace.client import remote
from commonplace.client.sync import workspaces
from commonplace.client.sync.masked_lines import LineMasker
from commonplace.client.sync.sync_state import LocalWorkspace, SyncState
from commonplace.client.sync.upload_client import UploadClient

_NO_TEXT_SHA256 = "0" * 64
"""As `base_sha256`: there must be no text yet."""


@dataclass(slots=True)
class TrackedOutcome:
    sent: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


class TrackedUpload:
    """Uploads the tracked files of one workspace."""

    def __init__(
        self,
        wire: UploadClient,
        kept: SyncState,
        masking: LineMasker,
        workspace: LocalWorkspace,
        renewed: Callable[[], LocalWorkspace],
    ) -> None:
        self._client, self._state, self._masking = wire, kept, masking
        self._workspace, self._renew_workspace = workspace, renewed
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
            stored = self._store_conflict_copy(path, safe, digest, refused, known=before is not None)
        self._state.save_tracked_digests(self._workspace.id, path, digest, stored)

    def _store_conflict_copy(
        self, path: str, text: str, digest: str, refused: remote.ServerRefusal, *, known: bool
    ) -> str:
        """Another text is stored and stays; store this one beside it. Returns the digest of the stored text."""
        theirs = str(refused.body.get("sha256") or "")
        if not theirs and not known:
            return self._upload_with_renewal(path, text, None)
        place = PurePosixPath(path)
        beside = str(place.with_name(f"{place.stem}.conflict-{digest[:8]}{place.suffix}"))
        self._upload_with_renewal(beside, text, None)
        self.outcome.conflicts.append(f"{path}: the server has another text; this one was stored as {beside}")
        return theirs or _NO_TEXT_SHA256

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
        given = {"path": path, "content": text} | ({"base_sha256": expected} if expected else {})
        own = {"workspace_id": self._workspace.id, "write_token": self._workspace.write_token}
        reply = self._client.call("upload_knowledge", **own, **given)
        self.outcome.sent.append(path)
        return str(reply["sha256"])
