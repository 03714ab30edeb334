"""What other agents did with files that nobody has locked: claimed them with a backlog item, or changed them."""

from collections.abc import Sequence
from functools import lru_cache

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import HOUR, format_age
from commonplace.events import Event, list_newest_events
from commonplace.file_claim import FileChange, FileClaim
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.events import FILES_LOCKED, FILES_RELEASED
from commonplace.rooms.locks.lease import LockRequest
from commonplace.rooms.locks.model import ChangedFile, ClaimedFile

_MAX_LOCK_EVENTS = 100
# A lock that was released after a change may have been granted before it.
_LOCK_WINDOW = HOUR


async def list_claimed_files(
    call: Call, requests: Sequence[LockRequest] | None, fold: bool
) -> list[ClaimedFile]:
    """List the claimed files that meet one of the requests, or all of them."""
    claims = [claim for list_claims in call.catalogue.file_claims for claim in await list_claims(call)]
    return [
        ClaimedFile(file=path, claimed_by=claim.agent, item=claim.item, title=claim.title)
        for claim in claims
        if (path := _find_requested_path(claim, requests, fold))
    ]


async def list_changed_files(call: Call, files: Sequence[str]) -> list[ChangedFile]:
    """List those of the files that another agent changed since the caller last did.

    Not every change is reported: an agent that had the file locked after the reported change is named instead.
    """
    changes = [
        change for list_changes in call.catalogue.file_changes for change in await list_changes(call, files)
    ]
    if not changes:
        return []
    since = min(change.at for change in changes) - _LOCK_WINDOW
    kinds = (FILES_LOCKED.name, FILES_RELEASED.name)
    found = await list_newest_events(call.tx, call.project, kinds, since, _MAX_LOCK_EVENTS)
    return [_name_last_editor(call, change, found) for change in changes]


def _name_last_editor(call: Call, change: FileChange, newest_first: Sequence[Event]) -> ChangedFile:
    locks = [event for event in newest_first if _names_file(event, change.file)]
    for event in locks:
        agent = event.body.get("agent", event.actor)
        if event.at <= change.at or agent == change.agent:
            break
        # A lock without a release has lapsed, or is on other lines.
        if agent != call.agent and not _was_shared(locks, agent):
            age = format_age(event.at, call.now)
            return ChangedFile(file=change.file, last_locked_by=agent, age=age)
    return ChangedFile(file=change.file, changed_by=change.agent, age=format_age(change.at, call.now))


def _was_shared(locks: Sequence[Event], agent: str) -> bool:
    """Was the last lock of this agent one for readers?"""
    modes = (lock.body.get("mode") for lock in locks if lock.body.get("agent", lock.actor) == agent)
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


def _find_requested_path(claim: FileClaim, requests: Sequence[LockRequest] | None, fold: bool) -> str:
    """The path of a claimed file that meets a request, else an empty text.

    A name without a directory may be any file of that name: it is the one that is asked for, else it is left out.
    """
    try:
        path = paths.canonicalize_path(claim.file, "")
    except errors.Invalid:
        return ""
    if requests is None:
        return "" if claim.is_unplaced else claim.file
    if any(request.overlaps_path(path, fold) for request in requests):
        return claim.file
    same_name = (request.file for request in requests if request.file.endswith(f"/{path}"))
    return next(same_name, "") if claim.is_unplaced else ""
