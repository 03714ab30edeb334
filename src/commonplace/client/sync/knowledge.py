"""Tracked files on their way to a workspace. Nothing that somebody else wrote there is written over."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from commonplace.client import remote
from commonplace.client.sync import workspaces
from commonplace.client.sync.lines import Masking
from commonplace.client.sync.state import State, Workspace
from commonplace.client.sync.upload import UploadClient

_NO_TEXT = "0" * 64
"""As a base: there must be no other text yet."""


@dataclass(slots=True)
class Outcome:
    sent: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)


class Knowledge:
    """The tracked files of one workspace."""

    def __init__(
        self,
        wire: UploadClient,
        kept: State,
        masking: Masking,
        workspace: Workspace,
        renewed: Callable[[], Workspace],
    ) -> None:
        self._wire, self._kept, self._masking = wire, kept, masking
        self._workspace, self._renewed = workspace, renewed
        self.outcome = Outcome()

    def send(self, local: Path, path: str) -> None:
        text = local.read_text(encoding="utf-8", errors="replace")
        digest = hashlib.sha256(text.encode()).hexdigest()
        before = self._kept.knowledge(self._workspace.id, path)
        if before and before[0] == digest:
            return
        safe = self._masking.text(text)
        try:
            stored = self._upload(path, safe, before[1] if before else _NO_TEXT)
        except remote.ServerRefusal as refused:
            if refused.code != "conflict":
                raise
            stored = self._beside(path, safe, digest, refused, known=before is not None)
        self._kept.keep_knowledge(self._workspace.id, path, digest, stored)

    def _beside(
        self, path: str, text: str, digest: str, refused: remote.ServerRefusal, *, known: bool
    ) -> str:
        """Somebody else's text stands there and stays; this one is kept beside it. The stored one's digest."""
        theirs = str(refused.body.get("sha256") or "")
        if not theirs and not known:
            return self._upload(path, text, None)
        place = PurePosixPath(path)
        beside = str(place.with_name(f"{place.stem}.conflict-{digest[:8]}{place.suffix}"))
        self._upload(beside, text, None)
        self.outcome.conflicts.append(f"{path}: the server has another text; this one is kept as {beside}")
        return theirs or _NO_TEXT

    def _upload(self, path: str, text: str, expected: str | None) -> str:
        """The digest of what is stored now; a token that ended is replaced once."""
        try:
            return self._uploaded(path, text, expected)
        except remote.ServerRefusal as refused:
            if refused.status not in workspaces.NOT_OURS:
                raise
        self._workspace = self._renewed()
        return self._uploaded(path, text, expected)

    def _uploaded(self, path: str, text: str, expected: str | None) -> str:
        given = {"path": path, "content": text} | ({"base_sha256": expected} if expected else {})
        own = {"workspace_id": self._workspace.id, "write_token": self._workspace.write_token}
        reply = self._wire.call("upload_knowledge", **own, **given)
        self.outcome.sent.append(path)
        return str(reply["sha256"])
