"""Files that nobody has locked, but that another agent has claimed, such as those that a claimed backlog item names."""

from collections.abc import Sequence

from commonplace import errors
from commonplace.call import Call
from commonplace.rooms.locks import paths
from commonplace.rooms.locks.lease import LockRequest
from commonplace.rooms.locks.model import ClaimedFile


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


def _is_requested(file: str, requests: Sequence[LockRequest] | None, fold: bool) -> bool:
    try:
        path = paths.canonicalize_path(file, "")
    except errors.Invalid:
        return False
    return requests is None or any(request.overlaps_path(path, fold) for request in requests)
