"""Ends of sessions that the server does not know yet: one file per end, in COMMONPLACE_HOME/ends.

A hook writes the file before it tells the server, so an end survives a server that is away, a deadline, and an agent
that kills its hooks. `end_delivery.py` sends what is left. If the conversation is resumed first, its end is cancelled.
"""

import contextlib
import json
import os
import time
import zlib
from pathlib import Path
from typing import NamedTuple

from commonplace.client.link import remote

_RETENTION_SECONDS = 7 * 86_400
_MAX_ENDS = 500
_SENDING_SECONDS = 60.0
"""A process that sends longer than this has died."""
_CANCEL_SECONDS = 1.0
_POLL_SECONDS = 0.01


class PendingEnd(NamedTuple):
    path: Path
    url: str
    root: str
    """The working tree of the session: it may name the server."""
    session_id: str
    files: tuple[str, ...] = ()

    @property
    def idempotency_key(self) -> str:
        """The same whenever this end is sent, so that a lost answer is answered again; plain ASCII, for a header."""
        return f"{self.path.stem}-{self.session_id.rpartition('_')[2]}"

    def claim_delivery(self) -> "PendingEnd | None":
        """The end for one process that sends it; None if another has it, or the conversation was resumed."""
        sending = self.path.with_suffix(".sending")
        try:
            self.path.replace(sending)
            os.utime(sending)
        except FileNotFoundError:
            return None
        return self._replace(path=sending)

    def release_claim(self) -> None:
        """It could not be sent: leave it for the next attempt."""
        with contextlib.suppress(FileNotFoundError):
            self.path.replace(self.path.with_suffix(".json"))

    def delete_file(self) -> None:
        self.path.unlink(missing_ok=True)


def add_end(conversation: str, url: str, root: str, session_id: str, files: list[str]) -> PendingEnd:
    folder = _ends_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{time.time_ns():020d}-{_conversation_name(conversation)}.json"
    end = PendingEnd(path, url, root, session_id, tuple(files))
    temporary = path.with_suffix(f".{os.getpid()}.part")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as text:  # noqa: PTH123 - of a descriptor
        json.dump({name: value for name, value in end._asdict().items() if name != "path"}, text)
    temporary.replace(path)
    return end


def has_ends() -> bool:
    try:
        with os.scandir(_ends_folder()) as entries:
            return any(entry.name.endswith(".json") for entry in entries)
    except OSError:
        return False


def list_ends() -> list[PendingEnd]:
    """All ends that are not being sent, oldest first. Those that are too old, too many or damaged are deleted."""
    _release_abandoned_ends()
    ends = []
    oldest = time.time() - _RETENTION_SECONDS
    paths = sorted(_ends_folder().glob("*.json"))
    for path in paths[: max(0, len(paths) - _MAX_ENDS)]:
        path.unlink(missing_ok=True)
    for path in paths[-_MAX_ENDS:]:
        end = _read_end(path) if int(path.name.partition("-")[0]) / 1e9 > oldest else None
        if end is None:
            path.unlink(missing_ok=True)
        else:
            ends.append(end)
    return ends


def cancel_ends(conversation: str) -> None:
    """The conversation goes on. An end that is being sent right now is waited for."""
    folder, name = _ends_folder(), _conversation_name(conversation)
    if not folder.is_dir():
        return
    until = time.monotonic() + _CANCEL_SECONDS
    while paths := [path for path in folder.glob(f"*-{name}.*") if path.suffix in (".json", ".sending")]:
        for path in paths:
            if path.suffix == ".json":
                path.unlink(missing_ok=True)
        if time.monotonic() > until:
            return
        time.sleep(_POLL_SECONDS)


def _release_abandoned_ends() -> None:
    for path in _ends_folder().glob("*.sending"):
        with contextlib.suppress(FileNotFoundError):
            if time.time() - path.stat().st_mtime > _SENDING_SECONDS:
                path.replace(path.with_suffix(".json"))


def _read_end(path: Path) -> PendingEnd | None:
    try:
        fields = json.loads(path.read_bytes())
        return PendingEnd(path, **fields | {"files": tuple(fields["files"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _ends_folder() -> Path:
    return remote.client_home() / "ends"


def _conversation_name(conversation: str) -> str:
    return f"{zlib.crc32(conversation.encode('utf-8', 'replace')):08x}"
