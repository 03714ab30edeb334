"""MCP 2025-11-25 and older over HTTP: POST for messages, GET for the session's stream, DELETE to end it.

Results come from legacy_server.py; http_transport.py has read the message and chosen the era.
"""

from functools import partial
from typing import Any, Final

from commonplace import errors
from commonplace.edges.http.refusals import NotAcceptable
from commonplace.edges.http.request import Request
from commonplace.edges.http.response import ClientWatch, Response
from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import Host, McpContext, ToolView
from commonplace.edges.mcp.legacy.legacy_server import ASSUMED_VERSION, SESSION_METHODS, LegacyServer
from commonplace.edges.mcp.legacy.legacy_sessions import Introduction, LegacySession, LegacySessions
from commonplace.edges.mcp.legacy.questions import Questions
from commonplace.edges.mcp.messages import (
    INVALID_REQUEST,
    Message,
    Notification,
    ProtocolError,
    RequestId,
    compute_reply,
    encode_notification,
    encode_result,
    read_meta,
    read_params,
    require_request_id,
)
from commonplace.edges.mcp.publisher import Publisher, stream_notifications

SESSION_HEADER: Final = "mcp-session-id"
_OK: Final = 200
_ACCEPTED: Final = 202
_BAD_REQUEST: Final = 400


class LegacyHttp:
    def __init__(
        self,
        host: Host,
        publisher: Publisher,
        server: LegacyServer,
        sessions: LegacySessions,
        limits: ClientLimits,
    ) -> None:
        self._host, self._publisher = host, publisher
        self._server, self._sessions = server, sessions
        self._questions = Questions(limits.answer_seconds)
        # By session as well as by id: every client counts its ids from the same number.
        self._running: dict[tuple[bytes, RequestId], ClientWatch] = {}

    async def post(self, request: Request, response: Response, view: ToolView, message: Message) -> None:
        session = self._find_session(request)
        method = message.get("method")
        if "id" not in message or method is None:
            self._accept_notification(session, message)
            await response.send(_ACCEPTED)
        elif method == "initialize":
            await self._initialize(request, response, view, message)
        else:
            await self._call(request, response, view, session, message)

    async def open_stream(self, request: Request, response: Response, view: ToolView) -> None:
        session = self._find_session(request)
        if not request.accepts_event_stream:
            raise NotAcceptable(hint="Send Accept: application/json, text/event-stream.")
        context = self._build_context(request, response, view, session, {})
        live = self._sessions.remember_live(session)
        listener = live.open_stream(self._publisher, request.caller)
        adopt = partial(self._server.adopt_subscriptions, context, live)
        try:
            with response.watch_client(at_once=True) as watch:
                async with live.follow_store():
                    await response.send_comment()
                    async for notification in stream_notifications(
                        self._host, context, listener, on_subscriptions=adopt
                    ):
                        await response.send_event(encode_notification(notification))
        finally:
            if live.listener is listener:
                live.close_stream(self._publisher)
        if not watch.stopped:
            await response.end_body()

    async def end_session(self, request: Request, response: Response) -> None:
        await self._sessions.end_session(self._find_session(request))
        await response.send(_OK)

    async def _initialize(
        self, request: Request, response: Response, view: ToolView, message: Message
    ) -> None:
        request_id, params = require_request_id(message), read_params(message)
        session = self._sessions.create_session(Introduction(params))
        context = self._build_context(request, response, view, session, params)
        token = self._sessions.sign_session(session, self._host.principal(request.caller))
        reply = encode_result(request_id, self._server.initialize(context))
        await response.send(_OK, reply, (SESSION_HEADER.encode(), token.encode()))

    async def _call(
        self, request: Request, response: Response, view: ToolView, session: LegacySession, message: Message
    ) -> None:
        request_id = require_request_id(message)
        key = (session.nonce, request_id)
        with response.watch_client() as watch:
            if session.nonce:
                self._running[key] = watch
            try:
                result = self._serve_method(request, response, view, session, message)
                reply, code = await compute_reply(request_id, result)
            finally:
                if self._running.get(key) is watch:
                    del self._running[key]
        if watch.stopped:
            await response.end_unanswered()
        else:
            await response.send_final(_BAD_REQUEST if code == INVALID_REQUEST else _OK, reply)

    async def _serve_method(
        self, request: Request, response: Response, view: ToolView, session: LegacySession, message: Message
    ) -> bytes:
        name, params = message["method"], read_params(message)
        context = self._build_context(request, response, view, session, params)
        needs_live = session.nonce and name in SESSION_METHODS
        live = self._sessions.remember_live(session) if needs_live else None
        return await self._server.compute_result(context, name, params, live)

    def _build_context(
        self,
        request: Request,
        response: Response,
        view: ToolView,
        session: LegacySession,
        params: dict[str, Any],
    ) -> McpContext:
        return McpContext(
            caller=request.caller,
            view=view,
            version=session.version,
            client=session.client,
            headers=request.headers,
            meta=read_meta(params),
            capabilities={name: {} for name in session.capabilities},
            channel=LegacyHttpChannel(request, response, self._questions, session),
            connection=(f"mcp:{session.nonce.hex()}",) if session.nonce else (),
            log_level=self._sessions.log_level_of(session),
        )

    def _accept_notification(self, session: LegacySession, message: Message) -> None:
        """Accept an answer to one of our questions, or a cancellation; ignore everything else."""
        if not session.nonce:
            return
        if "method" not in message:
            self._questions.accept_answer(session.nonce, message)
        elif message["method"] == "notifications/cancelled":
            request_id = read_params(message).get("requestId")
            watch = None
            if isinstance(request_id, str | int):
                watch = self._running.get((session.nonce, request_id))
            if watch is not None:
                watch.stop()

    def _find_session(self, request: Request) -> LegacySession:
        """The session that the header names, or one without a nonce for a request that names none."""
        token = request.headers.get(SESSION_HEADER)
        if token is None:
            return LegacySession(b"", 0, request.headers.get("mcp-protocol-version", ASSUMED_VERSION))
        session = self._sessions.find_session(token, self._host.principal(request.caller))
        if session is None:
            raise errors.NotFound("There is no such session.", hint="Send initialize again.")
        return session


class LegacyHttpChannel:
    """Speaks to the client on the answer to its own request."""

    __slots__ = ("_questions", "_request", "_response", "_session")

    def __init__(
        self, request: Request, response: Response, questions: Questions, session: LegacySession
    ) -> None:
        self._request, self._response = request, response
        self._questions, self._session = questions, session

    async def notify(self, notification: Notification) -> None:
        if self._request.accepts_event_stream:
            await self._response.send_event(encode_notification(notification))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        if not self._session.nonce or not self._request.accepts_event_stream:
            raise ProtocolError(INVALID_REQUEST, f"{method} needs a session and an event stream.")
        return await self._questions.ask_question(
            self._session.nonce, self._response.send_event, method, params
        )
