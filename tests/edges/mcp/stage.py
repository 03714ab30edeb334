"""A small product behind the protocol core, and a real server and client in front of it."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx2

from commonplace import errors
from commonplace.edges.http.router import HttpApplication
from commonplace.edges.limits import ClientLimits
from commonplace.edges.mcp.host import (
    Audience,
    InputRequired,
    ListPage,
    McpContext,
    ResourceNotFound,
    ToolCallResult,
    ToolRefused,
    UnknownName,
)
from commonplace.edges.mcp.http_transport import McpHttpTransport
from commonplace.edges.mcp.publisher import Publisher
from patience import PATIENCE_SECONDS, wait_until_async
from quick_server import QuickServer

SECRET = b"a secret that is long enough for us"
MODERN = "2026-07-28"
LEGACY = "2025-11-25"
NOTES = "memo://notes"
PRIVATE = "memo://private"
BOTH = "application/json, text/event-stream"
FORM = {"message": "Sure?", "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}}}


class StageCaller(str):
    """A name that the router can count the requests of."""

    __slots__ = ()
    key = ""


class StageHost:
    """Callers are named by their bearer token; `wait` runs until somebody stops it."""

    name = "stage"
    title = "Stage"
    version = "1.0"

    def __init__(self) -> None:
        self.readable = {NOTES}
        self.started = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.released = asyncio.Event()

    async def identify(
        self, headers: Mapping[str, str], _address: str, _query: bytes, *, is_safe: bool = True
    ) -> StageCaller:
        del is_safe
        name = headers.get("authorization", "Bearer anybody").removeprefix("Bearer ")
        if name == "nobody":
            raise errors.Unauthenticated("unknown key")
        return StageCaller(name)

    def principal(self, caller: str) -> str:
        return caller

    def instructions(self, _context: McpContext) -> str:
        return "Speak."

    def list_tools(self, context: McpContext) -> bytes:
        sets = sorted(context.view.toolsets or ["all"])
        schema = {"type": "object"}
        return json.dumps(
            [{"name": "-".join(sets), "inputSchema": schema, "readonly": context.view.readonly}]
        ).encode()

    async def call_tool(
        self, context: McpContext, name: str, arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        act = getattr(self, f"run_{name}", None)
        if act is None:
            raise UnknownName("tool", name)
        return await act(context, arguments)

    async def run_echo(self, context: McpContext, arguments: dict[str, Any]) -> ToolCallResult:
        heard = {"caller": context.caller, "client": context.client, "version": context.version}
        return ToolCallResult(text=json.dumps({**heard, "arguments": arguments}))

    async def run_slowly(self, _context: McpContext, arguments: dict[str, Any]) -> ToolCallResult:
        await asyncio.sleep(0)
        return ToolCallResult(text=arguments["nonce"])

    async def run_wait(self, context: McpContext, arguments: dict[str, Any]) -> ToolCallResult:
        if "say" in arguments:
            await context.report_progress(1)
        self.started.set()
        try:
            await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return ToolCallResult(text="released")

    async def run_narrate(self, context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        await context.report_progress(1, 2, "half")
        await context.send_log("warning", "careful")
        return ToolCallResult(text="told")

    async def run_confirm(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        if "sure" not in context.input_responses:
            return InputRequired({"sure": {"method": "elicitation/create", "params": FORM}}, "asked")
        return ToolCallResult(text=json.dumps([context.request_state, context.input_responses["sure"]]))

    async def run_refuse(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        raise ToolRefused("taken", "Somebody else holds it.", "Ask them.")

    async def run_break(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        raise RuntimeError("a secret of the server")

    async def list_resources(self, _context: McpContext, _cursor: str | None) -> ListPage:
        return ListPage([{"uri": NOTES, "name": "notes"}], "more")

    async def list_resource_templates(self, _context: McpContext, _cursor: str | None) -> ListPage:
        return ListPage(())

    async def read_resource(self, _context: McpContext, uri: str) -> list[dict[str, Any]]:
        if uri not in self.readable:
            raise ResourceNotFound(uri)
        return [{"uri": uri, "text": "noted"}]

    async def can_subscribe(self, _context: McpContext, uri: str) -> bool:
        return uri in self.readable

    async def can_notify(self, context: McpContext, uri: str, audiences: Sequence[Audience]) -> bool:
        return uri in self.readable and any(name in ("", context.caller) for _, name in audiences)

    async def list_prompts(self, _context: McpContext, _cursor: str | None) -> ListPage:
        return ListPage(())

    async def get_prompt(self, _context: McpContext, name: str, _arguments: dict[str, Any]) -> dict[str, Any]:
        raise UnknownName("prompt", name)

    async def complete_argument(
        self, _context: McpContext, _reference: dict[str, Any], _argument: dict[str, Any]
    ) -> dict[str, Any]:
        return {"values": []}


class Stage:
    """A running server; `call` and `modern` speak one request of each era."""

    def __init__(self, app: HttpApplication, host: StageHost, publisher: Publisher, port: int) -> None:
        self.app = app
        self.host = host
        self.publisher = publisher
        self.port = port
        self.url = f"http://127.0.0.1:{port}/mcp"
        self.client = httpx2.AsyncClient(timeout=PATIENCE_SECONDS, limits=httpx2.Limits(max_connections=None))

    async def post(self, message: Any, **headers: str) -> httpx2.Response:
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        return await self.client.post(self.url, content=body, headers=wire_headers(headers))

    async def initialize(self, **headers: str) -> str:
        answer = await self.post(initialize_message(), **headers)
        return answer.headers["mcp-session-id"]

    async def call_tool(
        self, tool: str, arguments: dict[str, Any] | None = None, **headers: str
    ) -> httpx2.Response:
        return await self.post(legacy_message("tools/call", name=tool, arguments=arguments or {}), **headers)

    async def post_modern(
        self, method: str, params: dict[str, Any] | None = None, **headers: str
    ) -> httpx2.Response:
        message = modern_message(method, params)
        return await self.post(message, **{**modern_headers(message), **headers})

    async def assert_answers(self) -> None:
        """The control call: whatever came before has harmed nobody else."""
        answer = await self.call_tool("echo", {"still": "here"})
        assert answer.status_code == 200
        assert read_tool_text(answer)["arguments"] == {"still": "here"}

    @contextlib.asynccontextmanager
    async def open_listener(
        self, message: dict[str, Any], **headers: str
    ) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        sent = wire_headers({**modern_headers(message), **headers})
        async with self.client.stream("POST", self.url, json=message, headers=sent) as answer:
            assert answer.status_code == 200
            yield read_events(answer)

    @contextlib.asynccontextmanager
    async def open_stream(self, session: str) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
        headers = {"accept": "text/event-stream", "mcp-session-id": session}
        async with self.client.stream("GET", self.url, headers=headers) as answer:
            assert answer.status_code == 200
            yield read_events(answer)


@contextlib.asynccontextmanager
async def run_stage(limits: ClientLimits | None = None, **settings: Any) -> AsyncIterator[Stage]:
    host, bounds = StageHost(), limits or ClientLimits()
    publisher = Publisher(bounds)
    mcp = McpHttpTransport(host, publisher, secret=SECRET, limits=bounds, **settings)
    app = HttpApplication(host.identify, mcp.routes(), limits=bounds)
    listening = socket.create_server(("127.0.0.1", 0), backlog=2048)
    server = QuickServer(app)
    task = asyncio.create_task(server.serve(sockets=[listening]))
    stage = Stage(app, host, publisher, listening.getsockname()[1])
    try:
        yield stage
    finally:
        publisher.close()
        host.released.set()
        await stage.client.aclose()
        server.end()
        await task


class RawConnection:
    """One keep-alive connection, spoken to without a client library."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        body = json.dumps(message).encode()
        head = f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        answer = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        length = int(answer.partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return json.loads(await self._reader.readexactly(length))

    async def close(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def open_raw_connection(stage: Stage) -> RawConnection:
    return RawConnection(*await asyncio.open_connection("127.0.0.1", stage.port))


def wire_headers(extra: Mapping[str, str]) -> dict[str, str]:
    given = {name.replace("_", "-"): value for name, value in extra.items()}
    return {"content-type": "application/json", "accept": BOTH, **given}


def legacy_message(method: str, request_id: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def initialize_message(version: str = LEGACY, **capabilities: Any) -> dict[str, Any]:
    client = {"name": "tester", "version": "1"}
    return legacy_message("initialize", protocolVersion=version, capabilities=capabilities, clientInfo=client)


def modern_message(
    method: str, params: dict[str, Any] | None = None, request_id: Any = 1, **capabilities: Any
) -> dict[str, Any]:
    meta = {
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": capabilities,
        "io.modelcontextprotocol/clientInfo": {"name": "tester", "version": "1"},
    }
    given = params or {}
    return legacy_message(method, request_id, **{**given, "_meta": {**meta, **given.get("_meta", {})}})


def modern_headers(message: dict[str, Any]) -> dict[str, str]:
    params = message["params"]
    named = params.get("name", params.get("uri"))
    headers = {"mcp-protocol-version": MODERN, "mcp-method": message["method"]}
    return headers if named is None else {**headers, "mcp-name": named}


def listen_message(request_id: Any = 1, **wanted: Any) -> dict[str, Any]:
    return modern_message("subscriptions/listen", {"notifications": wanted}, request_id)


def read_tool_text(answer: httpx2.Response) -> Any:
    return json.loads(answer.json()["result"]["content"][0]["text"])


def read_error_code(answer: httpx2.Response) -> tuple[int, int]:
    return answer.status_code, answer.json()["error"]["code"]


async def read_events(answer: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in answer.aiter_lines():
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


async def wait_for(event: Any) -> Any:
    """Wait for an event, a coroutine or a condition."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        if isinstance(event, asyncio.Event):
            return await event.wait()
        if not callable(event):
            return await event
        return await wait_until_async(event)
