"""A server with the fixtures of the official conformance suite: tools, prompts and resources."""

import argparse
import asyncio
import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

import uvicorn
from fixture_tools import IMAGE, NAMES, TOOLS, Tools, elicit, embedded_resource, form, text

from commonplace.edges.http.router import HttpApplication
from commonplace.edges.mcp.host import (
    Audience,
    InputRequired,
    ListPage,
    McpContext,
    ResourceNotFound,
    ToolCallResult,
    UnknownName,
)
from commonplace.edges.mcp.http_transport import McpHttpTransport
from commonplace.edges.mcp.publisher import Publisher
from commonplace.edges.mcp.stdio_transport import serve_stdio

SECRET = bytes(range(32))

RESOURCES = {
    "test://static-text": {
        "mimeType": "text/plain",
        "text": "This is the content of the static text resource.",
    },
    "test://static-binary": {"mimeType": "image/png", "blob": IMAGE},
    "test://watched-resource": {"mimeType": "text/plain", "text": "Watched resource content"},
}
PROMPTS = {
    "test_simple_prompt": [],
    "test_prompt_with_arguments": ["arg1", "arg2"],
    "test_prompt_with_embedded_resource": ["resourceUri"],
    "test_prompt_with_image": [],
    "test_input_required_result_prompt": [],
}


def user(content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": content}


def prompt(name: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    if name == "test_prompt_with_arguments":
        return [text(f"Prompt with arguments: arg1='{arguments['arg1']}', arg2='{arguments['arg2']}'")]
    if name == "test_prompt_with_embedded_resource":
        resource = embedded_resource(arguments["resourceUri"], "Embedded resource content for testing.")
        return [resource, text("Please process the embedded resource above.")]
    if name == "test_prompt_with_image":
        return [
            {"type": "image", "data": IMAGE, "mimeType": "image/png"},
            text("Please analyze the image above."),
        ]
    return [text("This is a simple prompt for testing.")]


class FixtureCaller(str):
    __slots__ = ()
    key = ""


class FixtureHost:
    name = "fixtures"
    title = "Conformance fixtures"
    version = "1.0.0"

    def __init__(self, publisher: Publisher) -> None:
        self.run = Tools(publisher)

    async def identify(
        self, _headers: Any, _address: str, _query: bytes, **_options: bool
    ) -> "FixtureCaller":
        return FixtureCaller("anybody")

    def principal(self, caller: str) -> str:
        return caller

    def instructions(self, _context: McpContext) -> str:
        return "Call anything."

    def list_tools(self, _context: McpContext) -> bytes:
        return TOOLS

    async def call_tool(
        self, context: McpContext, name: str, arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        if name not in NAMES:
            raise UnknownName("tool", name)
        return await getattr(self.run, NAMES[name])(context, arguments)

    async def list_resources(self, _context: McpContext, _cursor: str | None) -> ListPage:
        return ListPage(
            [{"uri": uri, "name": uri, "mimeType": found["mimeType"]} for uri, found in RESOURCES.items()]
        )

    async def list_resource_templates(self, _context: McpContext, _cursor: str | None) -> ListPage:
        return ListPage(
            [{"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}]
        )

    async def read_resource(self, _context: McpContext, uri: str) -> list[dict[str, Any]]:
        if uri in RESOURCES:
            return [{"uri": uri, **RESOURCES[uri]}]
        if uri.startswith("test://template/") and uri.endswith("/data"):
            found = {
                "id": uri.split("/")[3],
                "templateTest": True,
                "data": f"Data for ID: {uri.split('/')[3]}",
            }
            return [{"uri": uri, "mimeType": "application/json", "text": json.dumps(found)}]
        raise ResourceNotFound(uri)

    async def can_subscribe(self, _context: McpContext, uri: str) -> bool:
        return uri in RESOURCES

    async def can_notify(self, _context: McpContext, uri: str, _audiences: Sequence[Audience]) -> bool:
        return uri in RESOURCES

    async def list_prompts(self, _context: McpContext, _cursor: str | None) -> ListPage:
        return ListPage(
            [
                {
                    "name": name,
                    "description": name,
                    "arguments": [
                        {"name": argument, "description": argument, "required": True}
                        for argument in arguments
                    ],
                }
                for name, arguments in PROMPTS.items()
            ]
        )

    async def get_prompt(
        self, context: McpContext, name: str, arguments: dict[str, Any]
    ) -> dict[str, Any] | InputRequired:
        if name not in PROMPTS:
            raise UnknownName("prompt", name)
        if name != "test_input_required_result_prompt":
            return {"messages": [user(content) for content in prompt(name, arguments)]}
        if "user_context" not in context.input_responses:
            asked = elicit("What context should the prompt use?", form(context="string"))
            return InputRequired({"user_context": asked})
        return {"messages": [user(text(json.dumps(context.input_responses["user_context"])))]}

    async def complete_argument(
        self, _context: McpContext, _reference: dict[str, Any], _argument: dict[str, Any]
    ) -> dict[str, Any]:
        return {"values": [], "total": 0, "hasMore": False}


async def serve_on_pipe() -> None:
    publisher = Publisher()
    await serve_stdio(FixtureHost(publisher), publisher, "anybody", secret=SECRET)


def serve_on_port(port: int) -> None:
    publisher = Publisher()
    host = FixtureHost(publisher)
    app = HttpApplication(host.identify, McpHttpTransport(host, publisher, secret=SECRET).routes())
    uvicorn.run(app, host="127.0.0.1", port=port, lifespan="off", access_log=False, log_level="warning")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, help="serve over HTTP; without it over stdio")
    port = parser.parse_args().port
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING)
    if port is None:
        asyncio.run(serve_on_pipe())
    else:
        serve_on_port(port)


if __name__ == "__main__":
    main()
