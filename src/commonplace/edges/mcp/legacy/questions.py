"""What the server asks a legacy client while it serves one of its requests: elicitation, roots, sampling."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from commonplace.edges.mcp.messages import (
    INTERNAL_ERROR,
    Message,
    ProtocolError,
    encode_server_request,
)


class Questions:
    """Open questions, each known by the session it was sent to and an id that nobody can guess."""

    def __init__(self, answer_seconds: float) -> None:
        self._answer_seconds = answer_seconds
        self._open: dict[tuple[bytes, str], asyncio.Future[Message]] = {}

    async def ask_question(
        self, session: bytes, send: Callable[[bytes], Awaitable[None]], method: str, params: dict[str, Any]
    ) -> Any:
        key = (session, secrets.token_urlsafe(16))
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._open[key] = answer
        try:
            await send(encode_server_request(key[1], method, params))
            async with asyncio.timeout(self._answer_seconds):
                message = await answer
        except TimeoutError:
            raise ProtocolError(INTERNAL_ERROR, f"The client did not answer {method}.") from None
        finally:
            del self._open[key]
        if "result" not in message:
            raise ProtocolError(INTERNAL_ERROR, f"The client refused {method}.", message.get("error"))
        return message["result"]

    def accept_answer(self, session: bytes, message: Message) -> None:
        answer = self._open.get((session, str(message.get("id"))))
        if answer is not None and not answer.done():
            answer.set_result(message)
