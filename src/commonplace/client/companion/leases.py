"""Leases on the files of an edit, or on the lines that it changes: acquire them for our session, or report who holds
them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from commonplace.client.companion.hook_run import HookRun
from commonplace.client.link import remote
from commonplace.file_region import shorten_path, split_region
from commonplace.quoting.hidden_characters import quote_line

LeaseConflict = dict[str, Any]

_MAX_FILES_PER_CALL = 200
_MAX_CONFLICTS_SHOWN = 5
_REASON_PREFIX = "editing ("
_WORK_TITLE = "Edits"
_TRANSLATIONS = 2


class LocatedFile(Protocol):
    """A file of which only some lines are changed (`client/checkout/edit_regions.py`)."""

    @property
    def lock_path(self) -> str: ...

    def translate_to(self, bases: Iterable[str]) -> bool: ...


Located = Mapping[str, LocatedFile]


def list_conflicts(
    hook_run: HookRun, files: Sequence[str], located: Located | None = None
) -> list[LeaseConflict]:
    """Leases of others that cover these files, or the lines that are located in them; none is acquired."""
    conflicts: list[LeaseConflict] = []
    for file in files:
        conflicts += _list_conflicts_of_file(hook_run, file, (located or {}).get(file))
    return [conflict for conflict in conflicts if not _is_own_lease(hook_run, conflict)]


def _list_conflicts_of_file(
    hook_run: HookRun, file: str, edited: LocatedFile | None, attempts: int = _TRANSLATIONS
) -> list[LeaseConflict]:
    path = edited.lock_path if edited else file
    reply = hook_run.call_in_session("memory_get_locks", path_pattern=path)
    locks = [lock | {"lock": name_lock(lock), "file": file} for lock in reply.get("locks", [])]
    bases = [base for lock in locks for base in lock.get("bases", ())]
    if edited and bases and attempts and edited.translate_to(bases):
        return _list_conflicts_of_file(hook_run, file, edited, attempts - 1)
    return locks


def name_lock(lock: dict[str, Any]) -> str:
    """What is locked: the file, or its lines, or its symbol."""
    file, region = str(lock["file"]), lock.get("region", {})
    first, last = region.get("from"), region.get("to")
    lines = region.get("lines") or (first if first == last else f"{first}-{last}")
    if lines:
        return f"{file}:{lines}"
    return f"{file}#{region['symbol']}" if region.get("symbol") else file


def acquire_leases(
    hook_run: HookRun, files: Sequence[str], minutes: int, located: Located | None = None
) -> list[LeaseConflict]:
    """Acquire leases on all files, or on the lines that are located in them, or return the conflicts."""
    recorded = hook_run.state.load_leases()
    unrecorded = [file for file in files if file not in recorded]
    reasoned = [file for file in files if file in recorded and recorded[file].reasoned]
    reasoned += _list_own_leases(hook_run, unrecorded)
    for chosen, reason in (
        ([file for file in files if file not in reasoned], _lease_reason(hook_run)),
        (reasoned, ""),
    ):
        for first in range(0, len(chosen), _MAX_FILES_PER_CALL):
            batch = chosen[first : first + _MAX_FILES_PER_CALL]
            if conflicts := _lock_files(hook_run, batch, reason, minutes, located or {}):
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
            if (
                hook_run.state.load_leases() != recorded
            ):  # another hook of this session has added lines to a lease
                return report_edits(hook_run, files)
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


def _lock_files(
    hook_run: HookRun, files: Sequence[str], reason: str, minutes: int, located: Located
) -> list[LeaseConflict]:
    conflicts = _request_locks(hook_run, files, reason, minutes, located)
    for _ in range(_TRANSLATIONS):
        if not _translate_lines(conflicts, located):
            break
        conflicts = _request_locks(hook_run, files, reason, minutes, located)
    others = [
        conflict | {"wanted": _lock_path(conflict["file"], located)}
        for conflict in conflicts
        if not _is_own_lease(hook_run, conflict)
    ]
    if others or not conflicts:
        return others
    mine = {conflict["file"] for conflict in conflicts}
    rest = [file for file in files if file not in mine]
    return _lock_files(hook_run, rest, reason, minutes, located) if 0 < len(rest) < len(files) else []


def _translate_lines(conflicts: Sequence[LeaseConflict], located: Located) -> bool:
    """Where the lines of others are known in another version, find out what ours are there; whether one was found."""
    found = [
        located[conflict["file"]].translate_to(conflict["bases"])
        for conflict in conflicts
        if conflict.get("bases") and conflict["file"] in located
    ]
    return any(found)


def _request_locks(
    hook_run: HookRun, files: Sequence[str], reason: str, minutes: int, located: Located
) -> list[LeaseConflict]:
    paths = [_lock_path(file, located) for file in files]
    reply = hook_run.call_in_session("memory_lock_files", files=paths, reason=reason, minutes=minutes)
    granted = {lease["file"]: lease["token"] for lease in reply.get("locked", [])}
    hook_run.state.record_leases(granted, reasoned=not reason)
    conflicts: list[LeaseConflict] = reply.get("conflicts", [])
    return conflicts


def _lock_path(file: str, located: Located) -> str:
    return located[file].lock_path if file in located else file


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
    wanted = list(dict.fromkeys(str(conflict.get("wanted", conflict["file"])) for conflict in conflicts))
    is_elsewhere_free = all(
        split_region(str(path))[1]
        for conflict in conflicts
        for path in (conflict.get("wanted", ""), conflict.get("lock", ""))
    )
    return "\n".join(
        [
            *dict.fromkeys(format_conflict(conflict) for conflict in conflicts[:_MAX_CONFLICTS_SHOWN]),
            "Nothing was changed. You can:",
            "- edit other lines of the file, or another file, first"
            if is_elsewhere_free
            else "- work on another file first",
            f"- wait for it: memory_lock_files with files={wanted[:_MAX_CONFLICTS_SHOWN]} and wait_seconds=60",
            f"- ask {holders}: memory_send_message with to_instance",
            f"The session_id for these tools is {hook_run.ensure_session().session_id}",
        ]
    )


def format_conflict(conflict: LeaseConflict) -> str:
    coverage = _format_coverage(conflict)
    inactivity = " The holder has been inactive for a while." if conflict.get("stale") else ""
    warning = f" ({conflict['warning']})" if conflict.get("warning") else ""
    reason = (
        f'"{quote_line(str(conflict["reason"]))}"{warning}' if conflict.get("reason") else "no reason given"
    )
    if conflict.get("reserved"):
        return (
            f"{quote_line(conflict['file'])} is free, but reserved for {conflict['held_by']}{coverage} until"
            f" {conflict['expires_at']}, because they asked for it before you. Reason: {reason}.{inactivity}"
        )
    return (
        f"{quote_line(conflict['file'])} is leased by {conflict['held_by']}{coverage} since {conflict['since']}"
        f" until {conflict['expires_at']}, longer while they are active. Reason: {reason}.{inactivity}"
    )


def _format_coverage(conflict: LeaseConflict) -> str:
    leased = str(conflict.get("lock") or conflict["file"])
    file, region = split_region(leased)
    if region is None or file != conflict["file"]:
        noun = "request for" if conflict.get("reserved") else "lease on"
        return f" (by its {noun} {leased})" if leased != conflict["file"] else ""
    name = conflict.get("region", {}).get("symbol")
    symbol = f"in {name}" if name else ""
    noun = "line" if region.lines.isdigit() else "lines"
    lines = f"{noun} {region.lines} as committed" if region.lines else ""
    wanted = shorten_path(str(conflict.get("wanted", ""))).removeprefix(f"{file}:")
    yours = f"; yours are {wanted}" if region.lines and ":" in str(conflict.get("wanted", "")) else ""
    return f" ({', '.join(filter(None, (lines, symbol)))}{yours})"
