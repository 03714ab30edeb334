"""What each kind of event brings about."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from commonplace.client import remote
from commonplace.client.hooks import leases, pack
from commonplace.client.hooks.event import Answer, Kind
from commonplace.client.hooks.state import forget_old
from commonplace.client.hooks.tree import place
from commonplace.client.hooks.visit import Visit, ancestors

_COMPACTED = "compacted"
_INSTRUCTIONS = "reads like instructions"

_EDITS = "Edits"
_LEARNED = ["learning", "gotcha", "pattern", "solution"]
_LONGEST_PROMPT = 2_000
_SENT_EVERY = 60
_LISTED = 200


def session_start(visit: Visit) -> Answer:
    """Also after a compaction or a resume: the session goes on if it is alive, else another begins."""
    forget_old()
    visit.state.unmark(_COMPACTED)
    session = visit.state.session()
    if session is None:
        visit.start()
        return Answer()
    above = tuple(ancestors())
    if above != session.ancestors:
        visit.state.keep(session._replace(ancestors=above))
    _remind(visit)
    return Answer()


def recall(visit: Visit) -> None:
    """After a compaction some agents start again; others are reminded by the first event that they hear."""
    if visit.state.marked(_COMPACTED):
        _remind(visit)
        visit.state.unmark(_COMPACTED)


def prompt(visit: Visit) -> Answer:
    if visit.settings.learnings and visit.event.prompt.strip():
        reply = visit.ask_as_session(
            "memory_query",
            query=visit.event.prompt[:_LONGEST_PROMPT],
            memory_types=_LEARNED,
            limit=min(visit.settings.learnings, 10),
            detail="snippet",
        )
        found = [
            f"- {one['title']} ({one['age']}, {one['id']}): {one['content']}"
            for one in _results(reply)
            if _INSTRUCTIONS not in one.get("warning", "")
        ]
        if found:
            visit.context.append("\n".join(["What this team has learnt that may bear on this:", *found]))
    return Answer()


def before_edit(visit: Visit) -> Answer:
    files = _places(visit)
    if not files or visit.settings.lock == "off":
        return Answer()
    if visit.settings.lock == "check":
        conflicts = leases.held_by_others(visit, files[:_LISTED])
    else:
        conflicts = leases.take(visit, files, visit.settings.minutes)
    return Answer(denial=leases.denial(visit, conflicts)) if conflicts else Answer()


def after_edit(visit: Visit) -> Answer:
    """Tell the others what was touched, and the agent who else was there."""
    files = _places(visit)
    if files:
        reply = visit.ask_as_session(
            "memory_update_work", title=_EDITS, status="in_progress", files_touched=files[:_LISTED]
        )
        met = [each for each in reply.get("overlaps", []) if each["agent"] != visit.session().agent]
        visit.context += [
            f"{each['file']} was also changed by {each['agent']} at {each['when']} ({each['how']})."
            for each in met
            if visit.state.once(f"overlap {each['file']} {each['agent']}")
        ]
    return Answer()


def before_compact(visit: Visit) -> Answer:
    visit.state.mark(_COMPACTED)
    _hand_over(visit)
    return Answer()


def stop(visit: Visit) -> Answer:
    _hand_over(visit)
    return Answer()


def session_end(visit: Visit) -> Answer:
    """Leases are free at once; what was handed over stays: who ends nothing in words hands nothing over."""
    _hand_over(visit, at_once=True)
    session = visit.state.session()
    if session is not None:
        files = list(visit.state.leases())
        try:
            visit.ask(
                "memory_end_session",
                session_id=session.session_id,
                summary="",
                files_modified=files[:_LISTED],
            )
        except remote.ServerRefusal as refused:
            if refused.code != "session_not_found":
                raise
    visit.state.remove()
    return Answer()


ACTS: dict[Kind, Callable[[Visit], Answer]] = {
    "session_start": session_start,
    "prompt": prompt,
    "before_edit": before_edit,
    "after_edit": after_edit,
    "before_compact": before_compact,
    "stop": stop,
    "session_end": session_end,
}


def _places(visit: Visit) -> list[str]:
    found = (place(file, visit.event.cwd, visit.tree) for file in visit.event.files)
    return list(dict.fromkeys(path for path in found if path))


def _remind(visit: Visit) -> None:
    """What a model forgot when its context was cut."""
    before = visit.session()
    beat = visit.ask_as_session("memory_heartbeat", status="busy")
    session = visit.session()
    if session != before:
        return
    locks = visit.ask_as_session("memory_get_locks")
    visit.context.append(pack.reminded(session, beat, locks, visit.settings.lock))


def _hand_over(visit: Visit, *, at_once: bool = False) -> None:
    """The transcript goes to the uploader, another process; a turn ends often, so not at every one."""
    path = visit.event.transcript
    if not path or not visit.settings.transcripts:
        return
    from commonplace.client.sync import spool  # noqa: PLC0415 - most hooks hand over nothing

    payload = {
        "tool": visit.tool,
        "transcript_path": str(Path(path).expanduser()),
        "session_id": visit.event.session,
        "cwd": visit.event.cwd,
    }
    if named := os.environ.get("COMMONPLACE_PROJECT"):
        payload["project"] = named
    spool.put(spool.TRANSCRIPT, payload)
    if at_once or visit.state.since("uploaded", _SENT_EVERY):
        spool.start_uploader()


def _results(reply: dict[str, Any]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = reply.get("results", [])
    return results
