"""Report that an agent's program waits for a person, and bring back the answer that somebody gave elsewhere.

Where the program's own dialog stays open beside the hook (`beside`), waiting costs nobody anything. Where the dialog opens
only after the hook (`before`), the hook waits only if the setting `permission_seconds` says so. Whatever the program does
next closes what it waited for. The other side is `rooms/requests`.
"""

import os
import time
from pathlib import Path
from typing import Any

from commonplace.client.companion import fault_log
from commonplace.client.companion.agent_process import find_agent_pid, is_process_gone
from commonplace.client.companion.hook_event import EventKind, HookAnswer, WaitingRequest
from commonplace.client.companion.hook_run import HookRun
from commonplace.client.link import remote
from commonplace.window import machine_name

BESIDE_SECONDS = 3_500
"""Shorter than the timeout of the hooks that wait beside a dialog."""
MAX_BEFORE_SECONDS = 50
_MAX_TEXT_CHARACTERS = 20_000
_MAX_TITLE_CHARACTERS = 200
_LOCAL_SLICE_SECONDS, _REMOTE_SLICE_SECONDS = 4, 20
_RETRY_SECONDS = 5.0
_SETTLE_SECONDS = 2.0
"""The program may still write the call itself to its transcript when its dialog is open already."""
_WAITING_MARK = "waiting"
_NOT_THE_END: frozenset[EventKind] = frozenset({"waiting", "subagent_start", "session_end"})
_TERMINALS = ("/dev/pts/", "/dev/tty", "/dev/console")


def on_waiting(hook_run: HookRun) -> HookAnswer:
    request = hook_run.event.request
    seconds = _waiting_seconds(hook_run)
    if request is None or not hook_run.settings.answers or (not seconds and not request.is_certain):
        return HookAnswer()
    request_id = _report_request(hook_run, request, is_awaited=seconds > 0)
    if not request_id or not seconds:
        return HookAnswer()
    verdict = _wait_for_verdict(hook_run, request_id, seconds)
    if verdict is None:
        return HookAnswer()
    hook_run.state.clear_mark(_mark_name(hook_run))
    if verdict.get("decision") != "deny" and verdict.get("note"):
        hook_run.context.append(f"{verdict.get('answered_by', 'A person')} adds: {verdict['note']}")
    return HookAnswer(verdict=verdict)


def on_waiting_over(hook_run: HookRun) -> HookAnswer:
    """Every event but `waiting` closes what the program waited for; this one says nothing else."""
    del hook_run
    return HookAnswer()


def report_idle(hook_run: HookRun) -> None:
    """The agent has ended its turn and waits for the next prompt, if there is somebody who could write one."""
    setting = hook_run.settings.idle
    event = hook_run.event
    if event.subagent or event.source == "background" or event.name == "preCompact" or setting == "off":
        return
    if setting == "on" or has_terminal(hook_run.tool):
        _report_request(hook_run, WaitingRequest("idle"), is_awaited=False)


def has_terminal(tool: str) -> bool:
    """Whether a person could type something; a program without a terminal ends after its turn. True if unknown."""
    if os.environ.get("CLAUDE_CODE_SESSION_ATTENDED") == "0":
        return False
    try:
        return str(Path(f"/proc/{find_agent_pid(tool)}/fd/0").readlink()).startswith(_TERMINALS)
    except OSError:
        return not Path("/proc/self").exists()


def close_waiting(hook_run: HookRun) -> None:
    """The program went on: what it waited for needs no answer any more."""
    mark = _mark_name(hook_run)
    if hook_run.event.kind in _NOT_THE_END or not hook_run.state.has_mark(mark):
        return
    hook_run.state.clear_mark(mark)
    try:
        hook_run.call_in_session("memory_close_requests", subagent=hook_run.event.subagent)
    except remote.ServerRefusal as refused:
        fault_log.log_fault("close requests", refused)


def _mark_name(hook_run: HookRun) -> str:
    subagent = "".join(letter for letter in hook_run.event.subagent if letter.isalnum())
    return f"{_WAITING_MARK}-{subagent}" if subagent else _WAITING_MARK


def _waiting_seconds(hook_run: HookRun) -> float:
    request = hook_run.event.request
    if request is None or request.answered == "never":
        return 0
    if request.answered == "beside":
        return BESIDE_SECONDS
    return min(max(hook_run.settings.permission_seconds, 0), MAX_BEFORE_SECONDS)


def _report_request(hook_run: HookRun, request: WaitingRequest, *, is_awaited: bool) -> str:
    """The id of the request; empty if it is known already, or the server takes none."""
    if request.kind != "idle":  # which ends with whatever the session does next
        # Before the report: the program may go on as soon as people see the request.
        hook_run.state.renew_mark(_mark_name(hook_run))
    try:
        reply = hook_run.call_in_session(
            "memory_report_request",
            kind=request.kind,
            title=request.title[:_MAX_TITLE_CHARACTERS],
            text=request.text[:_MAX_TEXT_CHARACTERS],
            questions=list(request.questions),
            tool=hook_run.tool,
            machine=machine_name(),
            directory=hook_run.event.cwd,
            subagent=hook_run.event.subagent,
            is_awaited=is_awaited,
            is_hint=request.is_hint,
        )
    except remote.ServerRefusal as refused:  # an older server, or a key that may only read
        fault_log.log_fault("report of a request", refused)
        return ""
    return str(reply.get("request_id", ""))


def _wait_for_verdict(hook_run: HookRun, request_id: str, seconds: float) -> dict[str, Any] | None:
    """The answer; None if the program went on, or nobody answered in time."""
    ends, watch = time.monotonic() + seconds, ProgramWatch(hook_run)
    is_far = hook_run.link.is_remote
    while (left := ends - time.monotonic()) > 0:
        slice_seconds = max(1, int(min(left, _REMOTE_SLICE_SECONDS if is_far else _LOCAL_SLICE_SECONDS)))
        try:
            reply = hook_run.call_waiting("memory_wait_for_answer", slice_seconds, request_id=request_id)
        except remote.ServerUnreachable:
            time.sleep(min(_RETRY_SECONDS, max(left, 0)))
            continue
        if reply["status"] == "answered":
            return reply
        if reply["status"] == "closed":
            return None
        if watch.went_on():
            break
    return _give_up(hook_run, request_id, is_over=watch.went_on())


def _give_up(hook_run: HookRun, request_id: str, *, is_over: bool) -> dict[str, Any] | None:
    """Take no answer any more. One that was given in the last moment still counts; else people are told where to answer."""
    closed = hook_run.call_in_session("memory_close_requests", request_id=request_id)
    if not closed.get("closed"):
        reply = hook_run.call_in_session("memory_wait_for_answer", request_id=request_id)
        return reply if reply["status"] == "answered" else None
    request = hook_run.event.request
    if not is_over and request is not None and request.is_certain:
        _report_request(hook_run, request, is_awaited=False)
    return None


class ProgramWatch:
    """Whether the program went on while its hook waits: its transcript grew, or it is gone."""

    def __init__(self, hook_run: HookRun) -> None:
        session = hook_run.state.load_session()
        self._process = session.process if session else ""
        self._transcript = hook_run.event.transcript
        self._started, self._size = time.monotonic(), -1

    def went_on(self) -> bool:
        if self._process and is_process_gone(self._process):
            return True
        if not self._transcript or time.monotonic() - self._started < _SETTLE_SECONDS:
            return False
        try:
            size = Path(self._transcript).expanduser().stat().st_size
        except OSError:
            return False
        if self._size < 0:
            self._size = size
        return size > self._size
