"""What other agents did with files that nobody has locked: claimed them with a backlog item, or changed them."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from msgspec import structs

from commonplace.call import Call
from commonplace.clock import HOUR, format_age
from commonplace.events import Event, list_newest_events
from commonplace.file_changes import FileChange
from commonplace.rooms.locks.events import FILES_LOCKED, FILES_RELEASED
from commonplace.rooms.locks.lease import LockRequest
from commonplace.rooms.locks.model import ChangedFile
from commonplace.store.database import Work
from commonplace.store.shared_reads import run_together

_MAX_LOCK_EVENTS = 100
_LOCK_WINDOW = HOUR


async def list_changed_files(call: Call, files: Sequence[str]) -> list[ChangedFile]:
    """List those of the files that another agent changed, or had locked, since the caller last had them.

    Not every change is reported, and some are reported late: who had the file locked last decides, where that is known.
    """
    kinds = (FILES_LOCKED.name, FILES_RELEASED.name)
    works: list[Work[Any]] = [
        *(
            lambda tx, list_changes=list_changes: list_changes(structs.replace(call, tx=tx), files)
            for list_changes in call.catalogue.file_changes
        ),
        lambda tx: list_newest_events(tx, call.project, kinds, call.now - _LOCK_WINDOW, _MAX_LOCK_EVENTS),
    ]
    *changes, newest_first = await run_together(call.tx, works)
    change_by_file = {change.file: change for found in reversed(changes) for change in reversed(found)}
    named = (_name_last_editor(call, file, change_by_file.get(file), newest_first) for file in files)
    return [changed for changed in named if changed]


def _name_last_editor(
    call: Call, file: str, change: FileChange | None, newest_first: Sequence[Event]
) -> ChangedFile | None:
    locks = [event for event in newest_first if _names_file(event, file)]
    own = next((event for event in locks if _name_holder(event) == call.agent), None)
    if own is None and change is None:
        return None
    since = own.n if own else 0
    held = [
        event
        for event in locks
        if event.n > since
        and _name_holder(event) != call.agent
        and not _was_shared(locks, _name_holder(event))
    ]
    if held and (change is None or (held[0].at > change.at and _name_holder(held[0]) != change.agent)):
        return ChangedFile(
            file=file, last_locked_by=_name_holder(held[0]), age=format_age(held[0].at, call.now)
        )
    if change is None or (own and not held and _is_reported_late(change, own, locks)):
        return None
    return ChangedFile(file=file, changed_by=change.agent, age=format_age(change.at, call.now))


def _is_reported_late(change: FileChange, own: Event, locks: Sequence[Event]) -> bool:
    """Had its author the file locked before the caller, and not since? Then the caller has seen the change."""
    return change.at <= own.at or any(_name_holder(event) == change.agent for event in locks)


def _name_holder(event: Event) -> str:
    return str(event.body.get("agent", event.actor))


def _was_shared(locks: Sequence[Event], agent: str) -> bool:
    """Was the last lock of this agent one for readers?"""
    modes = (lock.body.get("mode") for lock in locks if _name_holder(lock) == agent)
    return next((mode for mode in modes if mode), "") == "shared"


def _names_file(event: Event, file: str) -> bool:
    return any(_includes_file(name, file) for name in event.body["files"])


# Every lock of a busy file compares it with the same names of the last hour, while other writers wait.
@lru_cache(maxsize=4_096)
def _includes_file(name: str, file: str) -> bool:
    """Whether the name is the file, a part of it, or a directory or pattern that it is in."""
    if name.startswith((f"{file}:", f"{file}#")):
        return True
    return LockRequest.from_path(name, "exclusive", fold=False).overlaps_path(file, fold=False)
