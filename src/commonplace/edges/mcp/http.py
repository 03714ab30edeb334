"""MCP over streamable HTTP: one ASGI application, both eras, decided message by message."""

import logging
import time
from collections.abc import Callable
from typing import Final

from commonplace.edges import origin
from commonplace.edges.mcp import headers as names
from commonplace.edges.mcp import modern
from commonplace.edges.mcp.body import BodyRefused, ClientGone, check_headers, read_body
from commonplace.edges.mcp.exchange import Exchange, ReaderStalled, Receive, Scope, Send, Watch, wait_header
from commonplace.edges.mcp.gate import read_message
from commonplace.edges.mcp.host import Context, Host, Unauthorized
from commonplace.edges.mcp.legacy import ASSUMED_VERSION, SESSION_METHODS, Introduction, Legacy
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LEGACY_VERSIONS,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_VERSION,
    Message,
    ProtocolError,
    RequestId,
    checked_request_id,
    error_reply,
    meta_of,
    notification,
    params_of,
    refusal_body,
    result_reply,
)
from commonplace.edges.mcp.modern import Modern
from commonplace.edges.mcp.publisher import Publisher, notices
from commonplace.edges.mcp.questions import Questions
from commonplace.edges.mcp.request import HttpChannel, HttpRefused, Request, headers_of
from commonplace.edges.mcp.seal import Seal
from commonplace.edges.mcp.session_token import Session
from commonplace.edges.mcp.sessions import Sessions
from commonplace.edges.mcp.settle import settled
from commonplace.edges.mcp.views import view_of

_OK: Final = 200
_ACCEPTED: Final = 202
_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_NOT_ALLOWED: Final = 405
_NOT_ACCEPTABLE: Final = 406
_SERVER_ERROR: Final = 500

_STATUS: Final = {
    PARSE_ERROR: _BAD_REQUEST,
    INVALID_REQUEST: _BAD_REQUEST,
    INVALID_PARAMS: _BAD_REQUEST,
    HEADER_MISMATCH: _BAD_REQUEST,
    MISSING_CAPABILITY: _BAD_REQUEST,
    UNSUPPORTED_VERSION: _BAD_REQUEST,
    METHOD_NOT_FOUND: _NOT_FOUND,
}

_ACCEPT_STREAM: Final = "Send Accept: application/json, text/event-stream."
_ALLOW_IT: Final = "Who runs the server allows others with --allowed-hosts and --allowed-origins."

_log = logging.getLogger("commonplace.mcp")


class McpHttp:
    def __init__(
        self,
        host: Host,
        publisher: Publisher,
        *,
        secret: bytes,
        limits: Limits | None = None,
        allowed_hosts: frozenset[str] = origin.LOOPBACK_HOSTS,
        allowed_origins: frozenset[str] = frozenset(),
        path: str = "/mcp",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._host = host
        self._publisher = publisher
        self._limits = limits or Limits()
        self._allowed_hosts = allowed_hosts
        self._allowed_origins = allowed_origins
        self._path = path
        seal = Seal(secret)
        self._modern = Modern(host, publisher, seal, self._limits, clock)
        self._legacy = Legacy(host, publisher, self._limits)
        self._sessions = Sessions(seal, publisher, self._limits, clock)
        self._questions = Questions(self._limits.answer_seconds)
        # By session as well as by id: every client counts its ids from the same number.
        self._running: dict[tuple[bytes, RequestId], Watch] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        exchange = Exchange(receive, send, self._limits)
        try:
            await self._serve(await self._request(scope, exchange), scope["method"])
        except HttpRefused as refusal:
            await exchange.reply(refusal.status, refusal.body, *refusal.headers)
        except BodyRefused as refusal:
            await exchange.reply_and_close(refusal.status, refusal.body, *refusal.headers)
        except ProtocolError as error:
            await exchange.reply(_STATUS.get(error.code, _OK), error_reply(None, error))
        except ReaderStalled:
            _log.warning("gave up a stream whose client had stopped reading")
        except ClientGone:
            _log.debug("a client went away before its request was complete")
        except Exception:  # noqa: BLE001 - the outermost line of this edge
            _log.exception("a request failed")
            if not exchange.streaming:
                told = refusal_body(_SERVER_ERROR, "The server made a mistake; it is logged.")
                await exchange.reply(_SERVER_ERROR, told)

    async def _request(self, scope: Scope, exchange: Exchange) -> Request:
        headers = headers_of(scope)
        refused = origin.check(headers, self._allowed_hosts, self._allowed_origins)
        if refused is not None:
            raise HttpRefused(refused, "This host or origin is not allowed.", _ALLOW_IT)
        view = view_of(scope["path"].removeprefix(self._path), headers)
        if view is None:
            raise HttpRefused(_NOT_FOUND, "There is nothing at this path.", "Use /mcp.")
        address = scope.get("client") or ("", 0)
        try:
            caller = await self._host.identify(headers, address[0], scope.get("query_string", b""))
        except Unauthorized as error:
            challenge = (b"www-authenticate", error.challenge.encode("latin-1"))
            raise HttpRefused(
                error.status, error.message, error.hint, challenge, *wait_header(error.retry_after)
            ) from None
        return Request(exchange, headers, view, caller, self._host.principal(caller))

    async def _serve(self, request: Request, verb: str) -> None:
        if verb == "POST":
            check_headers(request.headers)
            length = request.headers.get("content-length")
            body = await read_body(request.exchange.receive, length, self._limits)
            await self._post(request, await read_message(body, self._limits))
        elif verb == "GET" and "mcp-session-id" in request.headers:
            await self._open_stream(request, self._session_of(request))
        elif verb == "DELETE" and "mcp-session-id" in request.headers:
            self._end_session(request)
            await request.exchange.reply(_OK)
        else:
            raise HttpRefused(
                _NOT_ALLOWED, "This path does not take that method.", "Send a POST.", (b"allow", b"POST")
            )

    async def _post(self, request: Request, message: Message) -> None:
        version = request.headers.get(names.VERSION)
        if (version is None or version in LEGACY_VERSIONS) and not modern.is_claimed_by(message):
            await self._post_legacy(request, message)
        else:
            await self._post_modern(request, message)

    # The modern era

    async def _post_modern(self, request: Request, message: Message) -> None:
        if "id" not in message and "method" in message:
            modern.check_version(request.headers.get(names.VERSION, ""))
            await request.exchange.reply(_ACCEPTED)
            return
        request_id = checked_request_id(message)
        try:
            modern.check_request(message, request.headers)
            self._modern.check_mirrored(message, request.headers)
        except ProtocolError as error:
            await request.exchange.reply(_STATUS[error.code], error_reply(request_id, error))
            return
        context = self._modern.context(
            message,
            caller=request.caller,
            view=request.view,
            headers=request.headers,
            channel=HttpChannel(request, self._questions, None),
        )
        if message["method"] == modern.LISTEN:
            await self._listen(request, context, message)
            return
        with request.exchange.watched() as watch:
            reply, code = await settled(request_id, self._modern.answer(context, message))
        if not watch.stopped:
            await request.exchange.reply(_OK if code is None else _STATUS.get(code, _OK), reply)

    async def _listen(self, request: Request, context: Context, message: Message) -> None:
        if not request.may_stream:
            raise HttpRefused(_NOT_ACCEPTABLE, "A listener must accept a stream.", _ACCEPT_STREAM)
        request_id: RequestId = message["id"]
        try:
            listener, acknowledgement = await self._modern.listen(context, message)
        except ProtocolError as error:
            await request.exchange.reply(_STATUS.get(error.code, _OK), error_reply(request_id, error))
            return
        try:
            with request.exchange.watched(at_once=True) as watch:
                await request.exchange.event(notification(acknowledgement))
                async for notice in notices(self._host, context, listener, self._modern.tag(request_id)):
                    await request.exchange.event(notification(notice))
        finally:
            self._publisher.drop(listener)
        if not watch.stopped:
            await request.exchange.reply(
                _OK, result_reply(request_id, self._modern.listen_result(request_id))
            )

    # The legacy era

    async def _post_legacy(self, request: Request, message: Message) -> None:
        session = self._session_of(request) if "mcp-session-id" in request.headers else None
        method = message.get("method")
        if "id" not in message or method is None:
            self._take_note(session, message)
            await request.exchange.reply(_ACCEPTED)
        elif method == "initialize":
            await self._initialize(request, checked_request_id(message), message)
        else:
            await self._call(request, session, checked_request_id(message), message)

    async def _initialize(self, request: Request, request_id: RequestId, message: Message) -> None:
        introduction = Introduction(params_of(message))
        context = self._context(request, introduction.version, introduction.client, message, None)
        session_id = self._sessions.start(introduction, request.principal).encode()
        reply = result_reply(request_id, self._legacy.initialize(context))
        await request.exchange.reply(_OK, reply, (b"mcp-session-id", session_id))

    async def _call(
        self, request: Request, session: Session | None, request_id: RequestId, message: Message
    ) -> None:
        with request.exchange.watched() as watch:
            key = None if session is None else (session.nonce, request_id)
            if key is not None:
                self._running[key] = watch
            try:
                reply, code = await settled(request_id, self._answer_legacy(request, session, message))
            finally:
                if key is not None and self._running.get(key) is watch:
                    del self._running[key]
        if watch.stopped:
            await request.exchange.abandon()
        else:
            await request.exchange.reply(_BAD_REQUEST if code == INVALID_REQUEST else _OK, reply)

    async def _answer_legacy(self, request: Request, session: Session | None, message: Message) -> bytes:
        name, params = message["method"], params_of(message)
        if session is None:
            version = request.headers.get(names.VERSION, ASSUMED_VERSION)
            return await self._legacy.answer(
                self._context(request, version, "", message, None), name, params, None
            )
        context = self._context(request, session.version, session.client, message, session)
        live = self._sessions.live(session) if name in SESSION_METHODS else None
        return await self._legacy.answer(context, name, params, live)

    def _context(
        self, request: Request, version: str, client: str, message: Message, session: Session | None
    ) -> Context:
        return Context(
            caller=request.caller,
            view=request.view,
            version=version,
            client=client,
            headers=request.headers,
            meta=meta_of(params_of(message)),
            capabilities={name: {} for name in session.capabilities} if session is not None else {},
            channel=HttpChannel(request, self._questions, session),
            log_level=None if session is None else self._sessions.log_level(session),
        )

    def _take_note(self, session: Session | None, message: Message) -> None:
        if session is None:
            return
        if "method" not in message:
            self._questions.answered(session.nonce, message)
        elif message["method"] == "notifications/cancelled":
            request_id = params_of(message).get("requestId")
            watch = (
                self._running.get((session.nonce, request_id)) if isinstance(request_id, str | int) else None
            )
            if watch is not None:
                watch.stop()

    async def _open_stream(self, request: Request, session: Session) -> None:
        if not request.may_stream:
            raise HttpRefused(_NOT_ACCEPTABLE, "This is answered by a stream.", _ACCEPT_STREAM)
        context = self._context(request, session.version, session.client, {}, session)
        live = self._sessions.live(session)
        listener = live.listen(self._publisher, request.caller)
        try:
            with request.exchange.watched(at_once=True) as watch:
                await request.exchange.keep_alive()
                async for notice in notices(self._host, context, listener):
                    await request.exchange.event(notification(notice))
        finally:
            if live.listener is listener:
                live.leave(self._publisher)
        if not watch.stopped:
            await request.exchange.end()

    def _session_of(self, request: Request) -> Session:
        session = self._sessions.find(request.headers["mcp-session-id"], request.principal)
        if session is None:
            raise HttpRefused(_NOT_FOUND, "There is no such session.", "Send initialize again.")
        return session

    def _end_session(self, request: Request) -> None:
        self._sessions.end(self._session_of(request))
