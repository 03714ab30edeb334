"""Ends of sessions: on disk before the server is told, in COMMONPLACE_HOME/ends, so that none is lost.

An end survives a server that is away, a deadline, and an agent that kills its hooks. The companion sends what is left,
and so does `commonplace sync`. If the conversation is resumed first, its end is cancelled.
"""

import contextlib
import json
import os
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from commonplace.client.companion import fault_log, journal_delivery
from commonplace.client.companion.caller import unique_suffix
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.link import remote
from commonplace.window import IDEMPOTENCY_HEADER

_RETENTION_SECONDS = 7 * 86_400
_MAX_ENDS = 500
_MAX_FILES = 200
_SENDING_SECONDS = 60.0
"""A process that sends longer than this has died."""
_DELIVERY_SECONDS = 15.0
_PERMANENT_CODES = frozenset({"session_not_found", "invalid", "forbidden"})
"""The session has ended already, or the end can never be accepted: the key only reads, for instance."""


class PendingEnd(NamedTuple):
    path: Path
    url: str
    root: str
    """The working tree of the session: it may name the server."""
    session_id: str
    files: tuple[str, ...] = ()

    def claim_delivery(self) -> "PendingEnd | None":
        """The end for one caller that sends it; None if another has it, or the conversation was resumed."""
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

    def settle_refusal(self, refused: remote.ServerRefusal) -> None:
        """A server that lacks a key or is overloaded may accept the end later."""
        if refused.code in _PERMANENT_CODES:
            self.path.unlink(missing_ok=True)
        else:
            self.release_claim()
            fault_log.log_fault("end of a session", refused)

    def headers(self) -> list[str]:
        """The same key whenever this end is sent, so that a lost answer is answered again; plain ASCII."""
        return [f"{IDEMPOTENCY_HEADER}: {self.path.stem}-{self.session_id.rpartition('_')[2]}"]

    def arguments(self) -> dict[str, Any]:
        """The summary is empty, so an earlier handoff is kept."""
        return {"session_id": self.session_id, "summary": "", "files_modified": list(self.files)}


def end_sessions(hook_runs: Sequence[HookRun]) -> None:
    """End the sessions of an agent and its sub-agents; raises ServerUnreachable after all ends are on disk."""
    failure: remote.ServerUnreachable | None = None
    for hook_run in hook_runs:
        try:
            _end_session(hook_run)
        except remote.ServerUnreachable as error:
            failure = error
    if failure is not None:
        raise failure


def _end_session(hook_run: HookRun) -> None:
    """End our session, which frees its leases."""
    session = hook_run.state.load_session()
    if session is None:
        hook_run.state.delete_state()
        return
    files = list(dict.fromkeys([*hook_run.state.load_leases(), *hook_run.state.take_unreported_files()]))
    conversation, root = hook_run.event.session, hook_run.tree.root
    end = add_end(conversation, hook_run.server.url, root, session.session_id, files[:_MAX_FILES])
    journal_delivery.deliver_events(hook_run)  # while the session can still record them
    hook_run.state.delete_state()
    claimed = end.claim_delivery()
    if claimed is None:
        return
    try:
        hook_run.call_server("memory_end_session", headers=claimed.headers(), **claimed.arguments())
    except remote.ServerRefusal as refused:
        claimed.settle_refusal(refused)
    except remote.ServerUnreachable:
        claimed.release_claim()
        raise
    else:
        claimed.path.unlink(missing_ok=True)


def deliver_ends() -> None:
    """Send all ends in their order. The ends of a server that does not answer wait for the next time."""
    silent_urls: set[str] = set()
    for end in list_ends():
        server = _find_server_of_end(end)
        if server is None or end.url in silent_urls or (claimed := end.claim_delivery()) is None:
            continue
        arguments, headers = claimed.arguments(), claimed.headers()
        try:
            remote.call_operation(server, "memory_end_session", arguments, _DELIVERY_SECONDS, headers=headers)
        except remote.ServerRefusal as refused:
            claimed.settle_refusal(refused)
        except remote.ServerUnreachable as error:
            silent_urls.add(end.url)
            claimed.release_claim()
            fault_log.log_fault("delivery of ends", error)
        else:
            claimed.path.unlink(missing_ok=True)


def _find_server_of_end(end: PendingEnd) -> remote.RemoteServer | None:
    """The server with its key, if it is still the one that this working tree uses."""
    try:
        server = remote.find_server(folder=end.root)
    except (remote.ServerUnreachable, OSError, ValueError):
        return None
    return server if server and server.url == end.url else None


def add_end(conversation: str, url: str, root: str, session_id: str, files: list[str]) -> PendingEnd:
    folder = _ends_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = folder / f"{time.time_ns():020d}-{_conversation_name(conversation)}.json"
    temporary = path.with_suffix(f".{unique_suffix()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(descriptor, "w", encoding="utf-8") as text:  # noqa: PTH123 - of a descriptor
        json.dump({"url": url, "root": root, "session_id": session_id, "files": files}, text)
    temporary.replace(path)
    return PendingEnd(path, url, root, session_id, tuple(files))


def has_ends() -> bool:
    try:
        with os.scandir(_ends_folder()) as entries:
            return any(entry.name.endswith(".json") for entry in entries)
    except OSError:
        return False


def list_ends() -> list[PendingEnd]:
    """All ends that are not being sent, oldest first. Those that are too old, too many or damaged are deleted."""
    now = time.time()
    for path in _ends_folder().glob("*.sending"):
        with contextlib.suppress(FileNotFoundError):
            if now - path.stat().st_mtime > _SENDING_SECONDS:
                path.replace(path.with_suffix(".json"))
    ends = []
    for number, path in enumerate(sorted(_ends_folder().glob("*.json"), reverse=True)):
        is_recent = now - int(path.name.partition("-")[0]) / 1e9 < _RETENTION_SECONDS
        end = _read_end(path) if is_recent and number < _MAX_ENDS else None
        if end is None:
            path.unlink(missing_ok=True)
        else:
            ends.append(end)
    return ends[::-1]


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


def cancel_ends(conversation: str, wait_seconds: float = 1.0) -> None:
    """The conversation goes on. An end that is being sent right now is waited for."""
    folder, name = _ends_folder(), _conversation_name(conversation)
    if not folder.is_dir():
        return
    until = time.monotonic() + wait_seconds
    while paths := [path for path in folder.glob(f"*-{name}.*") if path.suffix in (".json", ".sending")]:
        for path in paths:
            if path.suffix == ".json":
                path.unlink(missing_ok=True)
        if time.monotonic() > until:
            return
        time.sleep(0.01)
