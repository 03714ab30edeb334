"""What the server asks a legacy client while it serves one of its requests."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from commonplace.edges.mcp.messages import INTERNAL_ERROR, Message, ProtocolError, server_request


class Questions:
    """Open questions, each known by whom it was put to and an id nobody can guess."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self._open: dict[tuple[bytes, str], asyncio.Future[Message]] = {}

    async def ask(
        self, whom: bytes, send: Callable[[bytes], Awaitable[None]], method: str, params: dict[str, Any]
    ) -> Any:
        key = (whom, secrets.token_urlsafe(16))
        answer: asyncio.Future[Message] = asyncio.get_running_loop().create_future()
        self._open[key] = answer
        try:
            await send(server_request(key[1], method, params))
            async with asyncio.timeout(self._patience):
                message = await answer
        except TimeoutError:
            raise ProtocolError(INTERNAL_ERROR, f"the client did not answer {method}") from None
        finally:
            del self._open[key]
        if "result" not in message:
            raise ProtocolError(INTERNAL_ERROR, f"the client refused {method}", message.get("error"))
        return message["result"]

    def answered(self, whom: bytes, message: Message) -> None:
        answer = self._open.get((whom, str(message.get("id"))))
        if answer is not None and not answer.done():
            answer.set_result(message)
