"""POST /api/<operation>: every operation for programs that do not speak MCP, and its description as OpenAPI.

The body is a JSON object of arguments, the reply is the operation's. Bytes of transcripts: archives.py.
"""

import asyncio
from html import escape
from typing import Any

import msgspec
from msgspec import structs

from commonplace import __version__, errors
from commonplace.access import Caller
from commonplace.answer import Answer
from commonplace.call import Calls
from commonplace.edges import archives
from commonplace.edges.http.request import Request, read_json
from commonplace.edges.http.response import Response
from commonplace.edges.reply_schema import ReplySchemas
from commonplace.room import Catalogue
from commonplace.rooms.guidelines.rule_set import LOAD_RULES, MAX_VERSION_CHARACTERS
from commonplace.tool_schema import input_schema
from commonplace.window import RULES_HEADER

_CONTENT_POLICY = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")

_REFUSAL_SCHEMA = {
    "type": "object",
    "properties": {name: {"type": "string"} for name in ("error", "message", "hint")},
    "required": ["error", "message"],
}


class RestApi:
    def __init__(self, calls: Calls) -> None:
        self._calls, self._catalogue = calls, calls.catalogue
        self._openapi: bytes | None = None

    async def call_operation(self, request: Request, response: Response) -> None:
        request.require_json()
        arguments = await read_json(await request.read_body() or b"{}", request.limits)
        if not isinstance(arguments, dict):
            raise errors.Invalid("The body is not a JSON object.", hint='Send {"argument": value}.')
        name = request.path.rpartition("/")[2]
        answer = await response.run_watched(self._run_call(name, arguments, request))
        await response.send(200, answer.to_text())

    async def _run_call(self, name: str, arguments: dict[str, Any], request: Request) -> Answer:
        answer = await self._calls.run(name, arguments, request.caller)
        if (known := request.headers.get(RULES_HEADER.lower())) is not None:
            answer = await self._add_rules(answer, known, request.caller)
        return answer

    async def _add_rules(self, answer: Answer, known: str, caller: Caller) -> Answer:
        """Send the rules of the project along, if the hook that called knows another version of them."""
        if not caller.has_role(LOAD_RULES.role):
            return answer
        arguments = {"project": answer.project, "known": known[:MAX_VERSION_CHARACTERS]}
        found = await self._calls.run_operation(LOAD_RULES, arguments, caller)
        return structs.replace(answer, rules=found.reply if found.reply.version else None)

    async def send_openapi(self, _request: Request, response: Response) -> None:
        if self._openapi is None:
            document = await asyncio.to_thread(openapi_document, self._catalogue)
            self._openapi = msgspec.json.encode(document)
        await response.send(200, self._openapi)

    async def send_index_page(self, _request: Request, response: Response) -> None:
        rows = "".join(
            f"<dt><code>POST /api/{tool.name}</code></dt><dd>{escape(tool.description)}</dd>"
            for tool in self._catalogue.tools.values()
        )
        page = f"<!doctype html><meta charset=utf-8><title>Commonplace API</title><h1>Commonplace API</h1><p>As <a href=/openapi.json>OpenAPI</a>.</p><dl>{rows}</dl>"
        await response.send(200, page.encode(), _CONTENT_POLICY, content_type=b"text/html; charset=utf-8")


def openapi_document(catalogue: Catalogue) -> dict[str, Any]:
    """OpenAPI 3.1 of all operations and of the archive routes."""
    refusal = {
        "description": "A refusal.",
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Refusal"}}},
    }
    replies = ReplySchemas(catalogue)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Commonplace", "version": __version__},
        "components": {
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
            "schemas": replies.components | {"Refusal": _REFUSAL_SCHEMA},
        },
        "security": [{"key": []}],
        "paths": {
            f"/api/{tool.name}": {
                "post": {
                    "operationId": tool.name,
                    "description": tool.description,
                    "requestBody": {"content": {"application/json": {"schema": input_schema(tool)}}},
                    "responses": {
                        "200": {
                            "description": "The reply.",
                            "content": {"application/json": {"schema": replies.by_tool[tool.name]}},
                        },
                        "4XX": refusal,
                        "5XX": refusal,
                    },
                }
            }
            for tool in catalogue.tools.values()
        }
        | archives.OPENAPI,
    }
