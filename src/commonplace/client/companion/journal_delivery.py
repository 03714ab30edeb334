"""Sends spooled hook events to the journals of their sessions, and asks for what a session lost by a compaction."""

import contextlib
from typing import Any

from commonplace.client.companion import event_spool, fault_log
from commonplace.client.companion.hook_event import HookEvent
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.companion.hook_settings import read_hook_settings
from commonplace.client.companion.hook_state import list_hook_sessions
from commonplace.client.link import remote
from commonplace.window import IDEMPOTENCY_HEADER

_EVENTS_PER_CALL = 100


def deliver_events(hook_run: HookRun) -> None:
    """Send what the session did since the last time. What cannot be sent now is sent later."""
    session = hook_run.state.load_session()
    if session is None:
        return
    for path in event_spool.claim_events(hook_run.event.session):
        events = event_spool.read_events(path)
        for first in range(0, len(events), _EVENTS_PER_CALL):
            try:
                hook_run.call_server(
                    "memory_record_events",
                    headers=[f"{IDEMPOTENCY_HEADER}: {path.stem}-{first}"[:100]],
                    session_id=session.session_id,
                    conversation=hook_run.event.session[:200],
                    tool=hook_run.tool,
                    directory=hook_run.tree.root,
                    events=[
                        {"at": event.get("at"), "event": event.get("event")}
                        for event in events[first : first + _EVENTS_PER_CALL]
                    ],
                )
            except (remote.ServerUnreachable, remote.ServerRefusal) as refused:
                fault_log.log_fault("journal of a session", refused)
                return
        path.unlink(missing_ok=True)


def deliver_all_events(root: str = "") -> None:
    """Send what the sessions of this machine did, or those of one working tree."""
    settings = read_hook_settings()
    for name, session in list_hook_sessions().items():
        if event_spool.has_events(name) and (not root or session.root == root):
            event = HookEvent("stop", "", name, session.root)
            deliver_events(HookRun(session.tool, event, settings, starts_sessions=False))


def ask_for_resume(hook_run: HookRun) -> dict[str, Any]:
    """What this session did so far; empty where the server does not know."""
    deliver_events(hook_run)
    with contextlib.suppress(remote.ServerRefusal):
        reply: dict[str, Any] = hook_run.call_in_session("memory_resume").get("resume", {})
        return reply
    return {}
