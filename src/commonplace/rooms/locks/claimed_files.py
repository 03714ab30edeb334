"""What other agents did with files that nobody has locked: claimed them with a backlog item, or changed them."""

from collections.abc import Sequence

from commonplace import errors
from commonplace.call import Call
from commonplace.clock import format_age
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.lease import LockRequest
from commonplace.rooms.locks.model import ChangedFile, ClaimedFile


async def list_claimed_files(
    call: Call, requests: Sequence[LockRequest] | None, fold: bool
) -> list[ClaimedFile]:
    """List the claimed files that meet one of the requests, or all of them."""
    claims = [claim for list_claims in call.catalogue.file_claims for claim in await list_claims(call)]
    return [
        ClaimedFile(file=claim.file, claimed_by=claim.agent, item=claim.item, title=claim.title)
        for claim in claims
        if _is_requested(claim.file, requests, fold)
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


def _is_requested(file: str, requests: Sequence[LockRequest] | None, fold: bool) -> bool:
    try:
        path = paths.canonicalize_path(file, "")
    except errors.Invalid:
        return False
    return requests is None or any(request.overlaps_path(path, fold) for request in requests)
