"""The methods that both eras share: parameters in, the JSON of the result out."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from commonplace.edges.mcp.host import (
    Context,
    Host,
    InputRequired,
    MissingCapability,
    Page,
    Refused,
    ToolResult,
)
from commonplace.edges.mcp.messages import encode, object_param, text_param

Outcome = bytes | InputRequired
Method = Callable[[Host, Context, dict[str, Any]], Awaitable[Outcome]]

_CAPABILITY_FOR: Final = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}


async def list_tools(host: Host, context: Context, _params: dict[str, Any]) -> Outcome:
    return b'{"tools":' + host.tools(context) + b"}"


async def call_tool(host: Host, context: Context, params: dict[str, Any]) -> Outcome:
    name, arguments = text_param(params, "name"), object_param(params, "arguments")
    try:
        outcome = await host.call_tool(context, name, arguments)
    except Refused as refusal:
        outcome = refusal.result()
    return outcome if isinstance(outcome, InputRequired) else tool_result(outcome)


async def list_resources(host: Host, context: Context, params: dict[str, Any]) -> Outcome:
    return _page(b"resources", await host.resources(context, _cursor(params)))


async def list_templates(host: Host, context: Context, params: dict[str, Any]) -> Outcome:
    return _page(b"resourceTemplates", await host.resource_templates(context, _cursor(params)))


async def read_resource(host: Host, context: Context, params: dict[str, Any]) -> Outcome:
    contents = await host.read_resource(context, text_param(params, "uri"))
    return contents if isinstance(contents, InputRequired) else encode({"contents": contents})


async def list_prompts(host: Host, context: Context, params: dict[str, Any]) -> Outcome:
    return _page(b"prompts", await host.prompts(context, _cursor(params)))


async def get_prompt(host: Host, context: Context, params: dict[str, Any]) -> Outcome:
    name, arguments = text_param(params, "name"), object_param(params, "arguments")
    prompt = await host.get_prompt(context, name, arguments)
    return prompt if isinstance(prompt, InputRequired) else encode(prompt)


async def complete(host: Host, context: Context, params: dict[str, Any]) -> Outcome:
    completion = await host.complete(context, object_param(params, "ref"), object_param(params, "argument"))
    return encode({"completion": completion})


METHODS: Final[Mapping[str, Method]] = {
    "tools/list": list_tools,
    "tools/call": call_tool,
    "resources/list": list_resources,
    "resources/templates/list": list_templates,
    "resources/read": read_resource,
    "prompts/list": list_prompts,
    "prompts/get": get_prompt,
    "completion/complete": complete,
}


def server_description(host: Host) -> dict[str, Any]:
    return {"name": host.name, "title": host.title, "version": host.version}


def capabilities(*, logging: bool) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "tools": {"listChanged": True},
        "resources": {"listChanged": True, "subscribe": True},
        "prompts": {"listChanged": True},
        "completions": {},
    }
    return declared | {"logging": {}} if logging else declared


def check_askable(context: Context, required: InputRequired) -> None:
    needed = (_CAPABILITY_FOR[request["method"]] for request in required.requests.values())
    missing = sorted({name for name in needed if name not in context.capabilities})
    if missing:
        raise MissingCapability(missing)


def tool_result(result: ToolResult) -> bytes:
    if result.blocks is None:
        text = result.text if isinstance(result.text, str) else result.text.decode()
        content = b'[{"type":"text","text":' + encode(text) + b"}]"
    else:
        content = encode(result.blocks)
    structured = b"" if result.structured is None else b',"structuredContent":' + result.structured
    failed = b',"isError":true' if result.failed else b""
    return b'{"content":' + content + structured + failed + b"}"


def _page(name: bytes, page: Page) -> bytes:
    items: Sequence[Any] | msgspec.Raw = page.items
    cursor = b"" if page.next_cursor is None else b',"nextCursor":' + encode(page.next_cursor)
    return b'{"' + name + b'":' + encode(items) + cursor + b"}"


def _cursor(params: dict[str, Any]) -> str | None:
    return text_param(params, "cursor") if params.get("cursor") is not None else None
