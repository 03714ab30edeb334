"""Leases before an edit: taken for our session, or found with somebody else."""

from collections.abc import Sequence
from typing import Any

from commonplace.client.hooks.visit import Visit

Conflict = dict[str, Any]

_AT_ONCE = 200
_LOOKED_AT = 5
_EDITING = "editing ("


def held_by_others(visit: Visit, files: Sequence[str]) -> list[Conflict]:
    """Whose leases meet these files; nothing is taken."""
    found: list[Conflict] = []
    for file in files:
        reply = visit.ask_as_session("memory_get_locks", path_pattern=file)
        found += [lock | {"lock": lock["file"], "file": file} for lock in reply.get("locks", [])]
    return [conflict for conflict in found if not _own(visit, conflict)]


def take(visit: Visit, files: Sequence[str], minutes: int) -> list[Conflict]:
    """Lease them all for this session; else whose leases are in the way."""
    known = visit.state.leases()
    unknown = [file for file in files if file not in known]
    reasoned = [file for file in files if file in known and known[file].reasoned]
    reasoned += _leased_by_the_agent(visit, unknown)
    for chosen, reason in (
        ([file for file in files if file not in reasoned], _reason(visit)),
        (reasoned, ""),
    ):
        for first in range(0, len(chosen), _AT_ONCE):
            if conflicts := _lock(visit, chosen[first : first + _AT_ONCE], reason, minutes):
                return conflicts
    return []


def _leased_by_the_agent(visit: Visit, files: list[str]) -> list[str]:
    """Of these the reason that it gave stays."""
    if not files:
        return []
    about = {"path_pattern": files[0]} if len(files) == 1 else {}
    own = {lease["file"] for lease in visit.ask_as_session("memory_get_locks", **about).get("your_locks", [])}
    return [file for file in files if file in own]


def _lock(visit: Visit, files: Sequence[str], reason: str, minutes: int) -> list[Conflict]:
    reply = visit.ask_as_session("memory_lock_files", files=list(files), reason=reason, minutes=minutes)
    granted = {lease["file"]: lease["token"] for lease in reply.get("locked", [])}
    visit.state.lease(granted, reasoned=not reason)
    conflicts: list[Conflict] = reply.get("conflicts", [])
    others = [conflict for conflict in conflicts if not _own(visit, conflict)]
    if others or not conflicts:
        return others
    mine = {conflict["file"] for conflict in conflicts}
    rest = [file for file in files if file not in mine]
    return _lock(visit, rest, reason, minutes) if 0 < len(rest) < len(files) else []


def _own(visit: Visit, conflict: Conflict) -> bool:
    """The agent may hold it in a session that it started itself; another window of the same name may not."""
    if conflict["held_by"] != visit.session().agent:
        return False
    reason = str(conflict.get("reason", ""))
    return reason == _reason(visit) or not reason.startswith(_EDITING)


def _reason(visit: Visit) -> str:
    return f"{_EDITING}{visit.tag})"


def denial(visit: Visit, conflicts: Sequence[Conflict]) -> str:
    """Who, why, since when, until when, and what to do."""
    holders = ", ".join(dict.fromkeys(str(conflict["held_by"]) for conflict in conflicts))
    files = list(dict.fromkeys(str(conflict["file"]) for conflict in conflicts))
    return "\n".join(
        [
            *dict.fromkeys(told(conflict) for conflict in conflicts[:_LOOKED_AT]),
            "Nothing was changed. What can be done:",
            "- work on another file first;",
            f"- wait for it: memory_lock_files with files={files[:_LOOKED_AT]} and wait_seconds=60;",
            f"- ask {holders}: memory_send_message with to_instance.",
            f"The session_id for these tools is {visit.session().session_id}",
        ]
    )


def told(conflict: Conflict) -> str:
    through = conflict.get("lock") or conflict["file"]
    over = f" (by its lease on {through})" if through != conflict["file"] else ""
    quiet = " The holder has been quiet for a while." if conflict.get("stale") else ""
    why = conflict.get("reason") or "no reason given"
    return (
        f"{conflict['file']} is leased by {conflict['held_by']}{over} since {conflict['since']}"
        f" until {conflict['expires_at']}, longer while they are active. Reason: {why}.{quiet}"
    )
