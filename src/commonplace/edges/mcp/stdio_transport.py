"""MCP on one pipe: one line, one message; both eras at any time, many requests at once.

stdio_lines.py reads and writes the lines; modern/modern_server.py and legacy/legacy_server.py compute the results.
The proxy of `commonplace stdio` is another program: it relays lines to a server over HTTP.
"""

import asyncio
import os
import secrets
from collections.abc import Coroutine, Mapping
from typing import Any, Final

from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import Host, McpContext, ToolView
from commonplace.edges.mcp.legacy.legacy_server import ASSUMED_VERSION, LegacyServer
from commonplace.edges.mcp.legacy.legacy_sessions import Introduction, LiveSession
from commonplace.edges.mcp.legacy.questions import Questions
from commonplace.edges.mcp.messages import (
    INVALID_REQUEST,
    Message,
    Notification,
    ProtocolError,
    RequestId,
    compute_reply,
    encode_error,
    encode_notification,
    read_message,
    read_meta,
    read_params,
    require_request_id,
)
from commonplace.edges.mcp.modern.modern_server import (
    LISTEN,
    ModernServer,
    is_modern,
    read_required_meta,
    require_supported,
)
from commonplace.edges.mcp.publisher import Listener, Publisher, stream_notifications
from commonplace.edges.mcp.signed_tokens import TokenSigner
from commonplace.edges.mcp.stdio_lines import LineReader, LineWriter, protect_stdout
from commonplace.window import process_window

# How long requests may still run after the client has closed its side.
_FINISH_SECONDS: Final = 5.0
_SESSION: Final = b""


async def serve_stdio(
    host: Host,
    publisher: Publisher,
    caller: Any,
    *,
    secret: bytes,
    view: ToolView | None = None,
    limits: ClientLimits | None = None,
    environ: Mapping[str, str] = os.environ,
    descriptors: tuple[int, int] | None = None,
) -> None:
    """Serve the one client at the other end of the pipe until its input ends."""
    bounds, signer = limits or ClientLimits(), TokenSigner(secret)

    def open_pipe(descriptors: tuple[int, int]) -> StdioPipe:
        return StdioPipe(host, publisher, signer, bounds, caller, view or ToolView(), environ, descriptors)

    if descriptors is not None:
        await open_pipe(descriptors).serve()
        return
    with protect_stdout() as output:
        await open_pipe((0, output)).serve()


class StdioPipe:
    """One client at the other end of a pipe."""

    def __init__(
        self,
        host: Host,
        publisher: Publisher,
        signer: TokenSigner,
        limits: ClientLimits,
        caller: Any,
        view: ToolView,
        environ: Mapping[str, str],
        descriptors: tuple[int, int],
    ) -> None:
        self._host = host
        self._publisher = publisher
        self._limits = limits
        self._caller = caller
        self._view = view
        self._environ = environ
        self._modern = ModernServer(host, publisher, signer, limits)
        self._legacy = LegacyServer(host, publisher, limits)
        self._questions = Questions(limits.answer_seconds)
        self._introduction: Introduction | None = None
        self._live = LiveSession()
        self._running: dict[RequestId, asyncio.Task[None]] = {}
        self._listening: set[asyncio.Task[None]] = set()
        self._connection = (process_window(os.getppid()), f"stdio:{secrets.token_hex(16)}")
        self._slots = asyncio.Semaphore(limits.stdio_requests_at_once)
        self._reader = LineReader(descriptors[0], limits.body_bytes)
        self._writer = LineWriter(descriptors[1])

    async def serve(self) -> None:
        try:
            async for line in self._reader:
                await self._accept_line(line)
            await self._finish_requests()
        finally:
            self._live.close_stream(self._publisher)
            for task in (*self._running.values(), *self._listening):
                task.cancel()
            await self._writer.close()

    async def notify(self, notification: Notification) -> None:
        await self._writer.write(encode_notification(notification))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        return await self._questions.ask_question(_SESSION, self._writer.write, method, params)

    async def _finish_requests(self) -> None:
        """Answer what was asked before the input ended, and end the streams."""
        for task in self._listening:
            task.cancel()
        requests = [task for task in self._running.values() if task not in self._listening]
        if requests:
            await asyncio.wait(requests, timeout=_FINISH_SECONDS)

    async def _accept_line(self, line: bytes | None) -> None:
        if line is None:
            too_long = f"A line may have at most {self._limits.body_bytes} bytes."
            await self._writer.write(encode_error(None, ProtocolError(INVALID_REQUEST, too_long)))
        elif line.strip():
            try:
                await self._accept_message(await read_message(line, self._limits))
            except ProtocolError as error:
                await self._writer.write(encode_error(None, error))

    async def _accept_message(self, message: Message) -> None:
        if "method" not in message:
            self._questions.accept_answer(_SESSION, message)
        elif "id" not in message:
            self._accept_notification(message)
        else:
            request_id = require_request_id(message)
            await self._slots.acquire()
            self._start_request(request_id, message)

    def _accept_notification(self, message: Message) -> None:
        if message["method"] == "notifications/cancelled":
            request_id = read_params(message).get("requestId")
            task = self._running.get(request_id) if isinstance(request_id, str | int) else None
            if task is not None:
                task.cancel()

    def _start_request(self, request_id: RequestId, message: Message) -> None:
        listens = message["method"] == LISTEN and is_modern(message)
        work = (
            self._send_listen_reply(request_id, message) if listens else self._send_reply(request_id, message)
        )
        task = asyncio.create_task(work)
        self._running[request_id] = task
        if listens:
            self._listening.add(task)
        task.add_done_callback(lambda done: self._forget_request(request_id, done))

    def _forget_request(self, request_id: RequestId, task: asyncio.Task[None]) -> None:
        self._slots.release()
        self._listening.discard(task)
        if self._running.get(request_id) is task:
            del self._running[request_id]

    async def _send_reply(self, request_id: RequestId, message: Message) -> None:
        reply, _code = await compute_reply(request_id, self._route_request(message))
        await self._writer.write(reply)

    def _route_request(self, message: Message) -> Coroutine[Any, Any, bytes]:
        return (
            self._compute_modern_result(message)
            if is_modern(message)
            else self._compute_legacy_result(message)
        )

    async def _compute_modern_result(self, message: Message) -> bytes:
        return await self._modern.compute_result(self._build_modern_context(message), message)

    def _build_modern_context(self, message: Message) -> McpContext:
        meta = read_required_meta(read_params(message))
        require_supported(meta)
        context = self._modern.build_context(meta, self._caller, self._view, self._environ, self)
        context.connection = self._connection
        return context

    async def _send_listen_reply(self, request_id: RequestId, message: Message) -> None:
        reply, _code = await compute_reply(request_id, self._run_listener(request_id, message))
        await self._writer.write(reply)

    async def _run_listener(self, request_id: RequestId, message: Message) -> bytes:
        context = self._build_modern_context(message)
        listener, acknowledgement = await self._modern.open_listener(context, message)
        try:
            await self.notify(acknowledgement)
            async for notification in stream_notifications(
                self._host, context, listener, self._modern.subscription_tag(request_id)
            ):
                await self.notify(notification)
        finally:
            self._publisher.remove_listener(listener)
        return self._modern.listen_result(request_id)

    async def _compute_legacy_result(self, message: Message) -> bytes:
        params = read_params(message)
        if message["method"] == "initialize":
            return self._initialize(params)
        return await self._legacy.compute_result(
            self._build_legacy_context(params), message["method"], params, self._live
        )

    def _initialize(self, params: dict[str, Any]) -> bytes:
        self._introduction = Introduction(params)
        context = self._build_legacy_context(params)
        listener = self._live.open_stream(self._publisher, self._caller)
        task = asyncio.create_task(self._push_notifications(context, listener))
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)
        return self._legacy.initialize(context)

    async def _push_notifications(self, context: McpContext, listener: Listener) -> None:
        async for notification in stream_notifications(self._host, context, listener):
            await self.notify(notification)

    def _build_legacy_context(self, params: dict[str, Any]) -> McpContext:
        introduction = self._introduction
        return McpContext(
            caller=self._caller,
            view=self._view,
            version=ASSUMED_VERSION if introduction is None else introduction.version,
            client="" if introduction is None else introduction.client,
            headers=self._environ,
            meta=read_meta(params),
            capabilities={} if introduction is None else introduction.capabilities,
            channel=self,
            connection=self._connection,
            log_level=self._live.log_level,
        )
