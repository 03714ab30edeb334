"""What a hook does for each kind of event: start a session, take a lease, report an edit, spool a transcript."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commonplace.client import remote
from commonplace.client.hooks import boot_context, leases
from commonplace.client.hooks.hook_event import EventKind, HookAnswer
from commonplace.client.hooks.hook_run import HookRun, list_ancestors
from commonplace.client.hooks.hook_state import delete_old_states
from commonplace.client.hooks.working_tree import repository_path

_COMPACTED_MARK = "compacted"
_INSTRUCTIONS_WARNING = "reads like instructions"

_WORK_TITLE = "Edits"
_LEARNING_TYPES = ["learning", "gotcha", "pattern", "solution"]
_MAX_PROMPT_CHARACTERS = 2_000
_UPLOAD_INTERVAL_SECONDS = 60
_MAX_FILES = 200


def on_session_start(visit: HookRun) -> HookAnswer:
    """Start a session, or continue a live one after a compaction or a resume."""
    delete_old_states()
    visit.state.clear_mark(_COMPACTED_MARK)
    session = visit.state.load_session()
    if session is None:
        visit.start_session()
        return HookAnswer()
    above = tuple(list_ancestors())
    if above != session.ancestors:
        visit.state.save_session(session._replace(ancestors=above))
    _add_reminder(visit)
    return HookAnswer()


def remind_after_compaction(visit: HookRun) -> None:
    """Remind the model at the first event that can add context, for agents that send no session start then."""
    if visit.state.has_mark(_COMPACTED_MARK):
        _add_reminder(visit)
        visit.state.clear_mark(_COMPACTED_MARK)


def on_prompt(visit: HookRun) -> HookAnswer:
    if visit.settings.learnings and visit.event.prompt.strip():
        reply = visit.call_in_session(
            "memory_query",
            query=visit.event.prompt[:_MAX_PROMPT_CHARACTERS],
            memory_types=_LEARNING_TYPES,
            limit=min(visit.settings.learnings, 10),
            detail="snippet",
        )
        found = [
            f"- {one['title']} ({one['age']}, {one['id']}): {one['content']}"
            for one in _list_results(reply)
            if _INSTRUCTIONS_WARNING not in one.get("warning", "")
        ]
        if found:
            visit.context.append("\n".join(["What this team has learned that may be relevant:", *found]))
    return HookAnswer()


def on_before_edit(visit: HookRun) -> HookAnswer:
    files = _repository_paths(visit)
    if not files or visit.settings.lock == "off":
        return HookAnswer()
    if visit.settings.lock == "check":
        conflicts = leases.list_conflicts(visit, files[:_MAX_FILES])
    else:
        conflicts = leases.acquire_leases(visit, files, visit.settings.minutes)
    return HookAnswer(denial=leases.render_denial(visit, conflicts)) if conflicts else HookAnswer()


def on_after_edit(visit: HookRun) -> HookAnswer:
    """Report the edited files, and tell the agent who else edited them."""
    files = _repository_paths(visit)
    if files:
        reply = visit.call_in_session(
            "memory_update_work", title=_WORK_TITLE, status="in_progress", files_touched=files[:_MAX_FILES]
        )
        overlaps = [
            each for each in reply.get("overlaps", []) if each["agent"] != visit.ensure_session().agent
        ]
        visit.context += [
            f"{each['file']} was also changed by {each['agent']} at {each['when']} ({each['how']})."
            for each in overlaps
            if visit.state.is_first_time(f"overlap {each['file']} {each['agent']}")
        ]
    return HookAnswer()


def on_before_compact(visit: HookRun) -> HookAnswer:
    visit.state.set_mark(_COMPACTED_MARK)
    _spool_transcript(visit)
    return HookAnswer()


def on_stop(visit: HookRun) -> HookAnswer:
    _spool_transcript(visit)
    return HookAnswer()


def on_session_end(visit: HookRun) -> HookAnswer:
    """End our session, which frees its leases. The summary is empty, so an earlier handoff is kept."""
    _spool_transcript(visit, at_once=True)
    session = visit.state.load_session()
    if session is not None:
        files = list(visit.state.load_leases())
        try:
            visit.call_operation(
                "memory_end_session",
                session_id=session.session_id,
                summary="",
                files_modified=files[:_MAX_FILES],
            )
        except remote.ServerRefusal as refused:
            if refused.code != "session_not_found":
                raise
    visit.state.delete_state()
    return HookAnswer()


ACTIONS: dict[EventKind, Callable[[HookRun], HookAnswer]] = {
    "session_start": on_session_start,
    "prompt": on_prompt,
    "before_edit": on_before_edit,
    "after_edit": on_after_edit,
    "before_compact": on_before_compact,
    "stop": on_stop,
    "session_end": on_session_end,
}


def _repository_paths(visit: HookRun) -> list[str]:
    found = (repository_path(file, visit.event.cwd, visit.tree) for file in visit.event.files)
    return list(dict.fromkeys(path for path in found if path))


def _add_reminder(visit: HookRun) -> None:
    """Add the boot pack again: the model lost it when its context was compacted."""
    before = visit.ensure_session()
    heartbeat = visit.call_in_session("memory_heartbeat", status="busy")
    session = visit.ensure_session()
    if session != before:
        return
    locks = visit.call_in_session("memory_get_locks")
    visit.context.append(boot_context.render_reminder(session, heartbeat, locks, visit.settings.lock))


def _spool_transcript(visit: HookRun, *, at_once: bool = False) -> None:
    """Spool the transcript, and start the uploader process at most once per interval: turns end often."""
    path = visit.event.transcript
    if not path or not visit.settings.transcripts:
        return
    from commonplace.client.sync import spool  # noqa: PLC0415 - most hooks spool nothing

    payload = {
        "tool": visit.tool,
        "transcript_path": str(Path(path).expanduser()),
        "session_id": visit.event.session,
        "cwd": visit.event.cwd,
    }
    if named := os.environ.get("COMMONPLACE_PROJECT"):
        payload["project"] = named
    spool.add_job(spool.TRANSCRIPT, payload)
    if at_once or visit.state.restart_interval("uploaded", _UPLOAD_INTERVAL_SECONDS):
        spool.start_uploader()


def _list_results(reply: dict[str, Any]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = reply.get("results", [])
    return results
