"""What other agents did with files that nobody has locked: claimed them with a backlog item, or changed them."""

from collections.abc import Sequence

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.file_claim import FileClaim
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.lease import LockRequest
from commonplace.rooms.locks.model import ChangedFile, ClaimedFile


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
    """List those of the files that another agent changed since the caller last did."""
    changes = [
        change for list_changes in call.catalogue.file_changes for change in await list_changes(call, files)
    ]
    return [
        ChangedFile(file=change.file, changed_by=change.agent, age=format_age(change.at, call.now))
        for change in changes
    ]


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
