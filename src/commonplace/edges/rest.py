"""POST /api/<operation>: every operation for programs that do not speak MCP, and its description as OpenAPI."""

import asyncio
from collections.abc import Coroutine
from typing import Any

import msgspec

from commonplace import __version__, errors
from commonplace.call import Answer, Calls
from commonplace.edges import archives
from commonplace.edges.http import Request, Route, Send, respond, respond_json
from commonplace.edges.mcp.gate import read_json
from commonplace.edges.mcp.limits import Limits
from commonplace.edges.mcp.messages import ProtocolError
from commonplace.edges.schema import input_schema
from commonplace.room import Catalogue

_LIMITS = Limits()


class Rest:
    def __init__(self, calls: Calls) -> None:
        self._calls, self._catalogue = calls, calls.catalogue
        self._openapi: bytes | None = None

    def routes(self) -> dict[str, dict[str, Route]]:
        return {
            "/api/*": {"POST": self.call},
            "/openapi.json": {"GET": self.openapi},
            "/api": {"GET": self.page},
        }

    async def call(self, request: Request, send: Send) -> None:
        assert request.caller is not None  # noqa: S101 - the application identified it
        arguments = await _arguments(await request.body())
        running = self._calls.run(request.path.rpartition("/")[2], arguments, request.caller)
        answer = await _unless_gone(request, running)
        if answer is not None:
            await respond_json(send, 200, answer.text())

    async def openapi(self, _request: Request, send: Send) -> None:
        if self._openapi is None:
            self._openapi = msgspec.json.encode(document(self._catalogue))
        await respond_json(send, 200, self._openapi)

    async def page(self, _request: Request, send: Send) -> None:
        rows = "".join(
            f"<dt><code>POST /api/{tool.name}</code></dt><dd>{_escaped(tool.description)}</dd>"
            for tool in self._catalogue.tools.values()
        )
        page = f"<!doctype html><meta charset=utf-8><title>Commonplace API</title><h1>Commonplace API</h1><p>As <a href=/openapi.json>OpenAPI</a>.</p><dl>{rows}</dl>"
        policy = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
        await respond(send, 200, page.encode(), b"text/html; charset=utf-8", policy)


async def _unless_gone(request: Request, running: Coroutine[Any, Any, Answer]) -> Answer | None:
    """The answer; a client that goes away cancels what it asked for."""
    call, leaving = asyncio.create_task(running), asyncio.create_task(request.gone())
    try:
        await asyncio.wait({call, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return call.result() if call.done() else None
    finally:
        for task in (call, leaving):
            task.cancel()
        await asyncio.gather(call, leaving, return_exceptions=True)


async def _arguments(body: bytes) -> dict[str, Any]:
    """Read as a message of MCP is: nothing hostile passes, and a large body holds up nobody."""
    try:
        given = await read_json(body or b"{}", _LIMITS)
    except ProtocolError as wrong:
        raise errors.Invalid(f"{wrong.message}.", hint='Send {"argument": value}.') from None
    if not isinstance(given, dict):
        raise errors.Invalid("The body is no JSON object.", hint='Send {"argument": value}.')
    return given


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;")


def document(catalogue: Catalogue) -> dict[str, Any]:
    """OpenAPI 3.1 of the whole catalogue, and of what comes as bytes."""
    refused = {"description": "A refusal: error, message, hint."}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Commonplace", "version": __version__},
        "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
        "security": [{"key": []}],
        "paths": {
            f"/api/{tool.name}": {
                "post": {
                    "operationId": tool.name,
                    "description": tool.description,
                    "requestBody": {"content": {"application/json": {"schema": input_schema(tool)}}},
                    "responses": {"200": {"description": "The reply."}, "4XX": refused, "5XX": refused},
                }
            }
            for tool in catalogue.tools.values()
        }
        | archives.OPENAPI,
    }
