"""Fenced writes: a call presents the fencing tokens of its locks, and a token whose lock is gone is refused.

A takeover deletes the lease that it replaces, so a token is current exactly as long as its lease exists. Grants and
their tokens are in `operations.py`.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from commonplace import errors
from commonplace.arguments import MAX_INTEGER
from commonplace.call import Call
from commonplace.rooms.locks import store

_MAX_TOKENS = 200


def _list_single_token(value: Any) -> Any:
    return [value] if isinstance(value, int) else value


FencingTokens = Annotated[
    list[Annotated[int, Field(ge=1, le=MAX_INTEGER)]],
    BeforeValidator(_list_single_token),
    Field(min_length=1, max_length=_MAX_TOKENS),
]
"""The tokens of one or more locks; one token may be passed as a number."""


async def require_current_tokens(call: Call, tokens: Sequence[int], files: Sequence[str] = ()) -> None:
    """Refuse tokens whose locks this session no longer holds, and canonical paths that no lock of a token covers."""
    fold = await store.project_ignores_case(call.tx, call.project)
    session = call.own_session
    leases = await store.list_leases_with_tokens(call.tx, session.project, session.id, tokens, fold)
    current = {lease.token for lease in leases}
    stale = sorted(set(tokens) - current)
    uncovered = [path for path in files if not any(lease.covers_path(path) for lease in leases)]
    if not stale and not uncovered:
        return
    subject = store.format_file_names(uncovered) if uncovered else f"token {', '.join(map(str, stale[:5]))}"
    raise errors.StaleToken(
        f"You no longer hold the lock for {subject}: it lapsed, was released, or another agent took it over.",
        hint="Lock the files again with memory_lock_files, check what others changed, and pass the new token.",
        files=uncovered,
        tokens=stale,
    )
