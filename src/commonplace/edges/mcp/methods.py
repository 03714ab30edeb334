"""The methods that both eras share: parameters in, the JSON of the result out.

`METHODS` maps a method's name to its function; each asks the `Host` (host.py). The eras add their own methods in
modern/modern_server.py and legacy/legacy_server.py.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from commonplace.edges.mcp.host import (
    Host,
    InputRequired,
    ListPage,
    McpContext,
    MissingCapability,
    ToolCallResult,
    ToolRefused,
)
from commonplace.edges.mcp.messages import encode, read_object_param, require_text_param

MethodOutcome = bytes | InputRequired
Method = Callable[[Host, McpContext, dict[str, Any]], Awaitable[MethodOutcome]]

_CAPABILITY_FOR: Final = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}


async def list_tools(host: Host, context: McpContext, _params: dict[str, Any]) -> MethodOutcome:
    return b'{"tools":' + host.list_tools(context) + b"}"


async def call_tool(host: Host, context: McpContext, params: dict[str, Any]) -> MethodOutcome:
    name, arguments = require_text_param(params, "name"), read_object_param(params, "arguments")
    try:
        outcome = await host.call_tool(context, name, arguments)
    except ToolRefused as refusal:
        outcome = refusal.to_result()
    return outcome if isinstance(outcome, InputRequired) else encode_tool_result(outcome)


async def list_resources(host: Host, context: McpContext, params: dict[str, Any]) -> MethodOutcome:
    return _encode_page(b"resources", await host.list_resources(context, _read_cursor(params)))


async def list_resource_templates(host: Host, context: McpContext, params: dict[str, Any]) -> MethodOutcome:
    return _encode_page(
        b"resourceTemplates", await host.list_resource_templates(context, _read_cursor(params))
    )


async def read_resource(host: Host, context: McpContext, params: dict[str, Any]) -> MethodOutcome:
    contents = await host.read_resource(context, require_text_param(params, "uri"))
    return contents if isinstance(contents, InputRequired) else encode({"contents": contents})


async def list_prompts(host: Host, context: McpContext, params: dict[str, Any]) -> MethodOutcome:
    return _encode_page(b"prompts", await host.list_prompts(context, _read_cursor(params)))


async def get_prompt(host: Host, context: McpContext, params: dict[str, Any]) -> MethodOutcome:
    name, arguments = require_text_param(params, "name"), read_object_param(params, "arguments")
    prompt = await host.get_prompt(context, name, arguments)
    return prompt if isinstance(prompt, InputRequired) else encode(prompt)


async def complete_argument(host: Host, context: McpContext, params: dict[str, Any]) -> MethodOutcome:
    completion = await host.complete_argument(
        context, read_object_param(params, "ref"), read_object_param(params, "argument")
    )
    return encode({"completion": completion})


METHODS: Final[Mapping[str, Method]] = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "resources/list": list_resources,
    "resources/templates/list": list_resource_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete_argument,
}


def describe_server(host: Host) -> dict[str, Any]:
    return {"name": host.name, "title": host.title, "version": host.version}


def server_capabilities(*, logging: bool) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "prompts": {"listChanged": True},
        "completions": {},
    }
    return declared | {"logging": {}} if logging else declared


def require_askable(context: McpContext, required: InputRequired) -> None:
    needed = (_CAPABILITY_FOR[request["method"]] for request in required.requests.values())
    missing = sorted({name for name in needed if name not in context.capabilities})
    if missing:
        raise MissingCapability(missing)


def encode_tool_result(result: ToolCallResult) -> bytes:
    if result.blocks is None:
        text = result.text if isinstance(result.text, str) else result.text.decode()
        content = b'[{"type":"text","text":' + encode(text) + b"}]"
    else:
        content = encode(result.blocks)
    structured = b"" if result.structured is None else b',"structuredContent":' + result.structured
    failed = b',"isError":true' if result.failed else b""
    return b'{"content":' + content + structured + failed + b"}"


def _encode_page(name: bytes, page: ListPage) -> bytes:
    items: Sequence[Any] | msgspec.Raw = page.items
    cursor = b"" if page.next_cursor is None else b',"nextCursor":' + encode(page.next_cursor)
    return b'{"' + name + b'":' + encode(items) + cursor + b"}"


def _read_cursor(params: dict[str, Any]) -> str | None:
    return require_text_param(params, "cursor") if params.get("cursor") is not None else None
