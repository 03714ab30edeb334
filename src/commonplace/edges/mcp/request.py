"""One HTTP request as the protocol sees it, and the way back to whoever sent it."""

from typing import Any

from commonplace.edges.mcp import headers as names
from commonplace.edges.mcp.exchange import Exchange, Header, Scope
from commonplace.edges.mcp.host import View
from commonplace.edges.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_REQUEST,
    Interruption,
    Notice,
    ProtocolError,
    notification,
    refusal_body,
)
from commonplace.edges.mcp.questions import Questions
from commonplace.edges.mcp.session_token import Session


class HttpRefused(Interruption):
    """Refused before there is a JSON-RPC message to answer."""

    def __init__(self, status: int, message: str, hint: str, *headers: Header) -> None:
        super().__init__(message)
        self.status = status
        self.body = refusal_body(status, message, hint)
        self.headers = headers


class Request:
    """One HTTP request, once its caller is known."""

    __slots__ = ("caller", "exchange", "headers", "principal", "view")

    def __init__(
        self, exchange: Exchange, headers: dict[str, str], view: View, caller: Any, principal: str
    ) -> None:
        self.exchange = exchange
        self.headers = headers
        self.view = view
        self.caller = caller
        self.principal = principal

    @property
    def may_stream(self) -> bool:
        accepted = self.headers.get("accept", "*/*")
        return "text/event-stream" in accepted or "*/*" in accepted


class HttpChannel:
    """Speaks to the client on the answer to its own request."""

    def __init__(self, request: Request, questions: Questions, session: Session | None) -> None:
        self._request = request
        self._questions = questions
        self._session = session

    async def notify(self, notice: Notice) -> None:
        if self._request.may_stream:
            await self._request.exchange.event(notification(notice))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        if self._session is None or not self._request.may_stream:
            raise ProtocolError(INVALID_REQUEST, f"{method} needs a session and an event stream")
        return await self._questions.ask(self._session.nonce, self._request.exchange.event, method, params)


def headers_of(scope: Scope) -> dict[str, str]:
    pairs = [(name.decode("latin-1"), value.decode("latin-1").strip()) for name, value in scope["headers"]]
    headers = dict(pairs)
    if len(headers) != len(pairs):
        _refuse_doubled([name for name, _value in pairs])
    return headers


def _refuse_doubled(header_names: list[str]) -> None:
    """Of two such headers a proxy may believe the first and we the last."""
    for name in set(header_names):
        if header_names.count(name) > 1 and (name in names.ROUTING or name.startswith(names.PARAM_PREFIX)):
            raise ProtocolError(HEADER_MISMATCH, f"the header {name} is there twice")
