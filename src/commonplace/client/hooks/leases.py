"""Leases on the files of an edit: acquire them for our session, or report who holds them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from commonplace.client import remote
from commonplace.client.hooks.hook_run import HookRun
from commonplace.quoting.hidden_characters import quote_line

LeaseConflict = dict[str, Any]

_MAX_FILES_PER_CALL = 200
_MAX_CONFLICTS_SHOWN = 5
_REASON_PREFIX = "editing ("
_WORK_TITLE = "Edits"


def list_conflicts(hook_run: HookRun, files: Sequence[str]) -> list[LeaseConflict]:
    """Leases of others that cover these files; none is acquired."""
    conflicts: list[LeaseConflict] = []
    for file in files:
        reply = hook_run.call_in_session("memory_get_locks", path_pattern=file)
        conflicts += [lock | {"lock": lock["file"], "file": file} for lock in reply.get("locks", [])]
    return [conflict for conflict in conflicts if not _is_own_lease(hook_run, conflict)]


def acquire_leases(hook_run: HookRun, files: Sequence[str], minutes: int) -> list[LeaseConflict]:
    """Acquire leases on all files for this session, or return the conflicts."""
    recorded = hook_run.state.load_leases()
    unrecorded = [file for file in files if file not in recorded]
    reasoned = [file for file in files if file in recorded and recorded[file].reasoned]
    reasoned += _list_own_leases(hook_run, unrecorded)
    for chosen, reason in (
        ([file for file in files if file not in reasoned], _lease_reason(hook_run)),
        (reasoned, ""),
    ):
        for first in range(0, len(chosen), _MAX_FILES_PER_CALL):
            if conflicts := _lock_files(
                hook_run, chosen[first : first + _MAX_FILES_PER_CALL], reason, minutes
            ):
                return conflicts
    return []


class EditReport(NamedTuple):
    """The answer to reported edits: what others changed, and the files whose lease is no longer the one of the edit."""

    overlaps: list[dict[str, Any]]
    stale: list[str]


def report_edits(hook_run: HookRun, files: Sequence[str]) -> EditReport:
    """Report edited files. Where a lease was recorded, its fencing token is presented with the file.

    The edits are made, so files with a stale token are reported too, in a second call without tokens.
    """
    recorded = hook_run.state.load_leases()
    leased = [file for file in files if file in recorded]
    plain = [file for file in files if file not in recorded]
    overlaps: list[dict[str, Any]] = []
    stale: list[str] = []
    if leased:
        try:
            tokens = sorted({recorded[file].token for file in leased})
            overlaps += _update_work(hook_run, leased, {"token": tokens})
        except remote.ServerRefusal as refused:
            if refused.code != "stale_token":
                raise
            stale = [str(file) for file in refused.body.get("files", ())]
            plain += leased
    if plain:
        overlaps += _update_work(hook_run, plain, {})
    return EditReport(overlaps, stale)


def _update_work(hook_run: HookRun, files: list[str], fence: dict[str, Any]) -> list[dict[str, Any]]:
    reply = hook_run.call_in_session(
        "memory_update_work", title=_WORK_TITLE, status="in_progress", files_touched=files, **fence
    )
    overlaps: list[dict[str, Any]] = reply.get("overlaps", [])
    return [overlap for overlap in overlaps if overlap["agent"] != hook_run.confirm_agent()]


def _list_own_leases(hook_run: HookRun, files: list[str]) -> list[str]:
    """Those files that the agent has leased itself; the reason it gave is kept."""
    if not files:
        return []
    filters = {"path_pattern": files[0]} if len(files) == 1 else {}
    own = {
        lease["file"]
        for lease in hook_run.call_in_session("memory_get_locks", **filters).get("your_locks", [])
    }
    return [file for file in files if file in own]


def _lock_files(hook_run: HookRun, files: Sequence[str], reason: str, minutes: int) -> list[LeaseConflict]:
    reply = hook_run.call_in_session("memory_lock_files", files=list(files), reason=reason, minutes=minutes)
    granted = {lease["file"]: lease["token"] for lease in reply.get("locked", [])}
    hook_run.state.record_leases(granted, reasoned=not reason)
    conflicts: list[LeaseConflict] = reply.get("conflicts", [])
    others = [conflict for conflict in conflicts if not _is_own_lease(hook_run, conflict)]
    if others or not conflicts:
        return others
    mine = {conflict["file"] for conflict in conflicts}
    rest = [file for file in files if file not in mine]
    return _lock_files(hook_run, rest, reason, minutes) if 0 < len(rest) < len(files) else []


def _is_own_lease(hook_run: HookRun, conflict: LeaseConflict) -> bool:
    """Whether the same agent holds it in a session that it started itself; not another window of the same name.

    Nor a sub-agent or parent, which have the same name under a key that is bound to one: where a sub-agent has a session
    of its own, models act in the sessions of their hooks.
    """
    if hook_run.event.parent or hook_run.state.list_subagents():
        return False
    reason = str(conflict.get("reason", ""))
    if reason != _lease_reason(hook_run) and reason.startswith(_REASON_PREFIX):
        return False
    return bool(conflict["held_by"] == hook_run.confirm_agent())


def _lease_reason(hook_run: HookRun) -> str:
    return f"{_REASON_PREFIX}{hook_run.tag})"


def render_denial(hook_run: HookRun, conflicts: Sequence[LeaseConflict]) -> str:
    """The text of a denial: the holder, the reason, the times, and what to do."""
    holders = ", ".join(dict.fromkeys(str(conflict["held_by"]) for conflict in conflicts))
    files = list(dict.fromkeys(str(conflict["file"]) for conflict in conflicts))
    return "\n".join(
        [
            *dict.fromkeys(format_conflict(conflict) for conflict in conflicts[:_MAX_CONFLICTS_SHOWN]),
            "Nothing was changed. You can:",
            "- work on another file first",
            f"- wait for it: memory_lock_files with files={files[:_MAX_CONFLICTS_SHOWN]} and wait_seconds=60",
            f"- ask {holders}: memory_send_message with to_instance",
            f"The session_id for these tools is {hook_run.ensure_session().session_id}",
        ]
    )


def format_conflict(conflict: LeaseConflict) -> str:
    leased_path = conflict.get("lock") or conflict["file"]
    coverage = f" (by its lease on {leased_path})" if leased_path != conflict["file"] else ""
    inactivity = " The holder has been inactive for a while." if conflict.get("stale") else ""
    warning = f" ({conflict['warning']})" if conflict.get("warning") else ""
    reason = (
        f'"{quote_line(str(conflict["reason"]))}"{warning}' if conflict.get("reason") else "no reason given"
    )
    return (
        f"{quote_line(conflict['file'])} is leased by {conflict['held_by']}{coverage} since {conflict['since']}"
        f" until {conflict['expires_at']}, longer while they are active. Reason: {reason}.{inactivity}"
    )
