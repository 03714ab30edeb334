"""MCP over a pipe: one line, one message; both eras at any time, many requests at once."""

import asyncio
import os
from collections.abc import Coroutine, Mapping
from typing import Any, Final

from commonplace.edges.mcp import modern
from commonplace.edges.mcp.gate import read_message
from commonplace.edges.mcp.host import Context, Host, View
from commonplace.edges.mcp.legacy import ASSUMED_VERSION, Introduction, Legacy, LiveSession
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.lines import LineReader, LineWriter, protected_stdout
from commonplace.edges.mcp.messages import (
    INVALID_REQUEST,
    Message,
    Notice,
    ProtocolError,
    RequestId,
    checked_request_id,
    error_reply,
    meta_of,
    notification,
    params_of,
)
from commonplace.edges.mcp.modern import Modern
from commonplace.edges.mcp.publisher import Listener, Publisher, notices
from commonplace.edges.mcp.questions import Questions
from commonplace.edges.mcp.seal import Seal
from commonplace.edges.mcp.settle import settled

# How long answers may still take after the client has closed its side.
_LAST_ANSWERS_SECONDS: Final = 5.0
_PEER: Final = b""


async def serve_stdio(
    host: Host,
    publisher: Publisher,
    *,
    secret: bytes,
    view: View | None = None,
    limits: Limits | None = None,
    environ: Mapping[str, str] = os.environ,
    descriptors: tuple[int, int] | None = None,
) -> None:
    """Serves until the input ends; raises Unauthorized where the environment proves no caller."""
    caller = await host.identify(environ, "", b"")
    bounds = limits or Limits()
    if descriptors is not None:
        pipe = Pipe(host, publisher, Seal(secret), bounds, caller, view or View(), environ, descriptors)
        await pipe.serve()
        return
    with protected_stdout() as output:
        pipe = Pipe(host, publisher, Seal(secret), bounds, caller, view or View(), environ, (0, output))
        await pipe.serve()


class Pipe:
    """One client at the other end of a pipe."""

    def __init__(
        self,
        host: Host,
        publisher: Publisher,
        seal: Seal,
        limits: Limits,
        caller: Any,
        view: View,
        environ: Mapping[str, str],
        descriptors: tuple[int, int],
    ) -> None:
        self._host = host
        self._publisher = publisher
        self._limits = limits
        self._caller = caller
        self._view = view
        self._environ = environ
        self._modern = Modern(host, publisher, seal, limits)
        self._legacy = Legacy(host, publisher, limits)
        self._questions = Questions(limits.answer_seconds)
        self._introduction: Introduction | None = None
        self._live = LiveSession()
        self._running: dict[RequestId, asyncio.Task[None]] = {}
        self._listening: set[asyncio.Task[None]] = set()
        self._places = asyncio.Semaphore(limits.stdio_requests_at_once)
        self._reader = LineReader(descriptors[0], limits.body_bytes)
        self._writer = LineWriter(descriptors[1])

    async def serve(self) -> None:
        try:
            async for line in self._reader:
                await self._take_line(line)
            await self._finish()
        finally:
            self._live.leave(self._publisher)
            for task in (*self._running.values(), *self._listening):
                task.cancel()
            await self._writer.close()

    async def notify(self, notice: Notice) -> None:
        await self._writer.write(notification(notice))

    async def ask(self, method: str, params: dict[str, Any]) -> Any:
        return await self._questions.ask(_PEER, self._writer.write, method, params)

    async def _finish(self) -> None:
        """Answers what was asked before the input ended; nobody listens any more."""
        for task in self._listening:
            task.cancel()
        asked = [task for task in self._running.values() if task not in self._listening]
        if asked:
            await asyncio.wait(asked, timeout=_LAST_ANSWERS_SECONDS)

    async def _take_line(self, line: bytes | None) -> None:
        if line is None:
            too_long = f"a line may have at most {self._limits.body_bytes} bytes"
            await self._writer.write(error_reply(None, ProtocolError(INVALID_REQUEST, too_long)))
        elif line.strip():
            try:
                await self._take_message(await read_message(line, self._limits))
            except ProtocolError as error:
                await self._writer.write(error_reply(None, error))

    async def _take_message(self, message: Message) -> None:
        if "method" not in message:
            self._questions.answered(_PEER, message)
        elif "id" not in message:
            self._take_note(message)
        else:
            request_id = checked_request_id(message)
            await self._places.acquire()
            self._start(request_id, message)

    def _take_note(self, message: Message) -> None:
        if message["method"] == "notifications/cancelled":
            request_id = params_of(message).get("requestId")
            task = self._running.get(request_id) if isinstance(request_id, str | int) else None
            if task is not None:
                task.cancel()

    def _start(self, request_id: RequestId, message: Message) -> None:
        listens = message["method"] == modern.LISTEN and modern.is_claimed_by(message)
        work = self._listen(request_id, message) if listens else self._answer(request_id, message)
        task = asyncio.create_task(work)
        self._running[request_id] = task
        if listens:
            self._listening.add(task)
        task.add_done_callback(lambda done: self._ended(request_id, done))

    def _ended(self, request_id: RequestId, task: asyncio.Task[None]) -> None:
        self._places.release()
        self._listening.discard(task)
        if self._running.get(request_id) is task:
            del self._running[request_id]

    async def _answer(self, request_id: RequestId, message: Message) -> None:
        reply, _code = await settled(request_id, self._result(message))
        await self._writer.write(reply)

    def _result(self, message: Message) -> Coroutine[Any, Any, bytes]:
        return self._modern_result(message) if modern.is_claimed_by(message) else self._legacy_result(message)

    async def _modern_result(self, message: Message) -> bytes:
        modern.check_request(message, None)
        return await self._modern.answer(self._modern_context(message), message)

    def _modern_context(self, message: Message) -> Context:
        return self._modern.context(
            message, caller=self._caller, view=self._view, headers=self._environ, channel=self
        )

    async def _listen(self, request_id: RequestId, message: Message) -> None:
        reply, _code = await settled(request_id, self._heard(request_id, message))
        await self._writer.write(reply)

    async def _heard(self, request_id: RequestId, message: Message) -> bytes:
        modern.check_request(message, None)
        context = self._modern_context(message)
        listener, acknowledgement = await self._modern.listen(context, message)
        try:
            await self.notify(acknowledgement)
            async for notice in notices(self._host, context, listener, self._modern.tag(request_id)):
                await self.notify(notice)
        finally:
            self._publisher.drop(listener)
        return self._modern.listen_result(request_id)

    async def _legacy_result(self, message: Message) -> bytes:
        params = params_of(message)
        if message["method"] == "initialize":
            return self._initialize(params)
        return await self._legacy.answer(self._legacy_context(params), message["method"], params, self._live)

    def _initialize(self, params: dict[str, Any]) -> bytes:
        self._introduction = Introduction(params)
        context = self._legacy_context(params)
        listener = self._live.listen(self._publisher, self._caller)
        task = asyncio.create_task(self._push(context, listener))
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)
        return self._legacy.initialize(context)

    async def _push(self, context: Context, listener: Listener) -> None:
        async for notice in notices(self._host, context, listener):
            await self.notify(notice)

    def _legacy_context(self, params: dict[str, Any]) -> Context:
        known = self._introduction
        return Context(
            caller=self._caller,
            view=self._view,
            version=ASSUMED_VERSION if known is None else known.version,
            client="" if known is None else known.client,
            headers=self._environ,
            meta=meta_of(params),
            capabilities={} if known is None else known.capabilities,
            channel=self,
            log_level=self._live.log_level,
        )
