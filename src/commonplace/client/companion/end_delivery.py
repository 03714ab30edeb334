"""Tell the server of ended sessions: at once, or later what could not be told (`pending_ends.py`).

`commonplace hook deliver` sends what is left, in a process of its own that no agent waits for. A hook starts it when its
own end got no answer in time, or when the server answers and older ends wait; `commonplace sync` sends them too.
"""

import contextlib
import time
from collections.abc import Sequence
from typing import Any

from commonplace.client import detached_process
from commonplace.client.companion import fault_log, pending_ends
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.pending_ends import PendingEnd
from commonplace.client.link import remote
from commonplace.window import IDEMPOTENCY_HEADER

_DELIVERY_SECONDS = 15.0
_START_INTERVAL_SECONDS = 30.0
_MAX_FILES = 200
_PERMANENT_CODES = frozenset({"session_not_found", "invalid", "forbidden"})
"""The session has ended already, or the end can never be accepted: the key only reads, for instance."""


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
    """End our session, which frees its leases. The summary is empty, so an earlier handoff is kept."""
    session = hook_run.state.load_session()
    if session is None:
        hook_run.state.delete_state()
        return
    files = list(dict.fromkeys([*hook_run.state.load_leases(), *hook_run.state.take_unreported_files()]))
    end = pending_ends.add_end(
        hook_run.event.session,
        hook_run.server_url,
        hook_run.tree.root,
        session.session_id,
        files[:_MAX_FILES],
    )
    hook_run.state.delete_state()
    claimed = end.claim_delivery()
    if claimed is not None:
        _send_end(hook_run, claimed)


def _send_end(hook_run: HookRun, end: PendingEnd) -> None:
    try:
        hook_run.call_server("memory_end_session", headers=_end_headers(end), **_end_arguments(end))
    except remote.ServerRefusal as refused:
        _settle_refusal(end, refused)
    except remote.ServerUnreachable:
        end.release_claim()
        if hook_run.has_tried:
            _start_delivery()
        raise
    else:
        end.delete_file()


def start_delivery_if_due() -> None:
    """Send what is left in the background, at most once per interval."""
    mark = remote.client_home() / "ends" / "started"
    with contextlib.suppress(OSError):
        if mark.exists() and time.time() - mark.stat().st_mtime < _START_INTERVAL_SECONDS:
            return
        mark.touch(mode=0o600)
        _start_delivery()


def _start_delivery() -> None:
    with contextlib.suppress(OSError):
        detached_process.start_detached(["hook", "deliver"], remote.client_home() / "deliver.log")


def main(_words: list[str]) -> int:
    """`commonplace hook deliver`."""
    try:
        deliver_ends()
    except Exception as error:  # noqa: BLE001 - the outermost line of a process that nobody watches
        fault_log.log_fault("hook deliver", error)
    return 0


def deliver_ends() -> None:
    """Send all ends in their order. The ends of a server that does not answer wait for the next time."""
    silent_urls: set[str] = set()
    for end in pending_ends.list_ends():
        server = _find_server_of_end(end)
        if server is None or end.url in silent_urls or (claimed := end.claim_delivery()) is None:
            continue
        try:
            remote.call_operation(
                server,
                "memory_end_session",
                _end_arguments(claimed),
                _DELIVERY_SECONDS,
                headers=_end_headers(claimed),
            )
        except remote.ServerRefusal as refused:
            _settle_refusal(claimed, refused)
        except remote.ServerUnreachable as error:
            silent_urls.add(end.url)
            claimed.release_claim()
            fault_log.log_fault("hook deliver", error)
        else:
            claimed.delete_file()


def _settle_refusal(end: PendingEnd, refused: remote.ServerRefusal) -> None:
    """A server that lacks a key or is overloaded may accept the end later."""
    if refused.code in _PERMANENT_CODES:
        end.delete_file()
    else:
        end.release_claim()
        fault_log.log_fault("end of a session", refused)


def _find_server_of_end(end: PendingEnd) -> remote.RemoteServer | None:
    """The server with its key, if it is still the one that this working tree uses."""
    try:
        server = remote.find_server(folder=end.root)
    except (remote.ServerUnreachable, OSError, ValueError):
        return None
    return server if server and server.url == end.url else None


def _end_headers(end: PendingEnd) -> list[str]:
    return [f"{IDEMPOTENCY_HEADER}: {end.idempotency_key}"]


def _end_arguments(end: PendingEnd) -> dict[str, Any]:
    return {"session_id": end.session_id, "summary": "", "files_modified": list(end.files)}
