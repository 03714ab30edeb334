"""Every request gets exactly one reply, whatever happens while it is served."""

import logging
from collections.abc import Awaitable

from commonplace.edges.mcp.exchange import ReaderStalled
from commonplace.edges.mcp.messages import (
    INTERNAL_ERROR,
    ProtocolError,
    RequestId,
    error_reply,
    result_reply,
)

_log = logging.getLogger("commonplace.mcp")


async def settled(request_id: RequestId, answer: Awaitable[bytes]) -> tuple[bytes, int | None]:
    """The reply, and its error code if it is an error."""
    try:
        return result_reply(request_id, await answer), None
    except ProtocolError as error:
        return error_reply(request_id, error), error.code
    except ReaderStalled:
        raise
    except Exception:  # noqa: BLE001 - the outermost line of this edge
        _log.exception("a request failed")
        internal = ProtocolError(INTERNAL_ERROR, "the server made a mistake; it is logged")
        return error_reply(request_id, internal), INTERNAL_ERROR
