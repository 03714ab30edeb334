"""The wire formats of model services: how a request is read, and how a scripted step becomes the reply.

Four are enough for all agent programs: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and Gemini.
`scripted_model.py` decides which step is next.
"""

import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Body = dict[str, Any]


class Call(NamedTuple):
    """The model calls a tool; `tool` is the name in the request or its end, such as `memory_lock_files`."""

    tool: str
    arguments: dict[str, Any] | str
    tokens: int = 10


class Say(NamedTuple):
    """The model ends its turn with a text; `tokens` is how large it says that the request was."""

    text: str
    tokens: int = 10


Step = Call | Say


class OfferedTool(NamedTuple):
    name: str
    kind: str = "function"
    namespace: str = ""


@dataclass
class ModelRequest:
    """What reached the model."""

    body: Body
    tools: list[OfferedTool]
    prompts: list[str]
    """Texts of the system and of the user, and what hooks add to them."""
    results: list[str] = field(default_factory=list)
    """What the model reads of its tool calls, in order."""

    def find_tool(self, wanted: str) -> OfferedTool | None:
        """The tool of this name, whatever the program puts before it; `get_messages` is not `memory_get_messages`."""
        endings = ("_" + wanted, "-" + wanted, "." + wanted)
        matches = [tool for tool in self.tools if tool.name == wanted or tool.name.endswith(endings)]
        return min(matches, key=lambda tool: len(tool.name), default=None)


class Reply(NamedTuple):
    content_type: str
    text: str


class Dialect(NamedTuple):
    read_request: Callable[[Body], ModelRequest]
    render_reply: Callable[[ModelRequest, Step, bool], Reply]
    """The last argument says whether the program asked for a stream."""


def _collect_texts(node: Any) -> Iterator[str]:
    """Every string in a part of a request, whatever its shape."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for value in node.values():
            yield from _collect_texts(value)
    elif isinstance(node, list):
        for value in node:
            yield from _collect_texts(value)


def _join_texts(node: Any) -> str:
    return "\n".join(_collect_texts(node))


def _new_id(prefix: str) -> str:
    return f"{prefix}_{uuid.uuid4().hex[:16]}"


def _tool_of_call(request: ModelRequest, call: Call) -> OfferedTool:
    return request.find_tool(call.tool) or OfferedTool(call.tool)


def _event_stream(events: list[Body], *, named: bool, done: str = "") -> Reply:
    lines = [
        (f"event: {event['type']}\n" if named else "") + f"data: {json.dumps(event)}\n\n" for event in events
    ]
    return Reply("text/event-stream", "".join(lines) + done)


def _read_anthropic(body: Body) -> ModelRequest:
    blocks = [
        (message["role"], block) for message in body["messages"] for block in _as_blocks(message["content"])
    ]
    return ModelRequest(
        body,
        [OfferedTool(tool["name"]) for tool in body.get("tools", ())],
        [_join_texts(body.get("system", ""))]
        + [block["text"] for role, block in blocks if role != "assistant" and block["type"] == "text"],
        [_join_texts(block.get("content")) for _, block in blocks if block["type"] == "tool_result"],
    )


def _as_blocks(content: str | list[Body]) -> list[Body]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _render_anthropic(request: ModelRequest, step: Step, stream: bool) -> Reply:
    if isinstance(step, Call):
        block: Body = {
            "type": "tool_use",
            "id": _new_id("toolu"),
            "name": _tool_of_call(request, step).name,
            "input": step.arguments,
        }
    else:
        block = {"type": "text", "text": step.text}
    usage = {"input_tokens": step.tokens, "output_tokens": 5}
    message: Body = {
        "id": _new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": request.body.get("model"),
        "content": [block],
        "stop_reason": "tool_use" if isinstance(step, Call) else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    if not stream:
        return Reply("application/json", json.dumps(message))
    return _event_stream(_anthropic_events(message, block), named=True)


def _anthropic_events(message: Body, block: Body) -> list[Body]:
    if block["type"] == "tool_use":
        empty: Body = block | {"input": {}}
        delta: Body = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
    else:
        empty, delta = block | {"text": ""}, {"type": "text_delta", "text": block["text"]}
    return [
        {"type": "message_start", "message": message | {"content": [], "stop_reason": None}},
        {"type": "content_block_start", "index": 0, "content_block": empty},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
            "usage": message["usage"],
        },
        {"type": "message_stop"},
    ]


def _read_responses(body: Body) -> ModelRequest:
    tools = []
    for tool in body.get("tools", ()):
        if tool["type"] == "namespace":
            tools += [OfferedTool(inner["name"], inner["type"], tool["name"]) for inner in tool["tools"]]
        else:
            tools.append(OfferedTool(tool.get("name") or tool["type"], tool["type"]))
    items = [item for item in body.get("input", ()) if isinstance(item, dict)]
    return ModelRequest(
        body,
        tools,
        [body.get("instructions") or ""]
        + [_join_texts(item["content"]) for item in items if _is_prompt_item(item)],
        [_join_texts(item.get("output")) for item in items if item.get("type", "").endswith("_output")],
    )


def _is_prompt_item(item: Body) -> bool:
    """From the user, the program, or the agent that started this one."""
    return item.get("role") in ("user", "developer") or item.get("type") == "agent_message"


def _render_responses(request: ModelRequest, step: Step, _stream: bool) -> Reply:
    response_id = _new_id("resp")
    item = _responses_item(request, step)
    usage = {
        "input_tokens": step.tokens,
        "output_tokens": 5,
        "total_tokens": step.tokens + 5,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    completed = {"id": response_id, "status": "completed", "output": [item], "usage": usage}
    events: list[Body] = [
        {"type": "response.created", "response": {"id": response_id}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": completed},
    ]
    return _event_stream(events, named=True)


def _responses_item(request: ModelRequest, step: Step) -> Body:
    if isinstance(step, Say):
        content = [{"type": "output_text", "text": step.text}]
        return {"type": "message", "id": _new_id("msg"), "role": "assistant", "content": content}
    tool = request.find_tool(step.tool) or _split_namespace(step.tool)
    call: Body = {"id": _new_id("item"), "call_id": _new_id("call"), "name": tool.name}
    if tool.namespace:
        call["namespace"] = tool.namespace
    if isinstance(step.arguments, str):
        return call | {"type": "custom_tool_call", "input": step.arguments}
    return call | {"type": "function_call", "arguments": json.dumps(step.arguments)}


def _split_namespace(name: str) -> OfferedTool:
    """A tool that a search would bring, such as `mcp__commonplace__memory_query`."""
    namespace, _, tool = name.rpartition("__")
    return OfferedTool(tool, namespace=namespace)


def _read_chat(body: Body) -> ModelRequest:
    messages = body["messages"]
    return ModelRequest(
        body,
        [OfferedTool(tool["function"]["name"]) for tool in body.get("tools") or ()],
        [_join_texts(message["content"]) for message in messages if message["role"] in ("system", "user")],
        [_join_texts(message["content"]) for message in messages if message["role"] == "tool"],
    )


def _render_chat(request: ModelRequest, step: Step, stream: bool) -> Reply:
    message: Body = {"role": "assistant", "content": step.text if isinstance(step, Say) else None}
    if isinstance(step, Call):
        function = {"name": _tool_of_call(request, step).name, "arguments": json.dumps(step.arguments)}
        call = {"index": 0, "id": _new_id("call"), "type": "function", "function": function}
        message["tool_calls"] = [call]
    finish = "tool_calls" if isinstance(step, Call) else "stop"
    usage = {"prompt_tokens": step.tokens, "completion_tokens": 5, "total_tokens": step.tokens + 5}
    head = {"id": _new_id("chat"), "created": 1, "model": request.body.get("model")}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": finish}
        whole = head | {"object": "chat.completion", "choices": [choice], "usage": usage}
        return Reply("application/json", json.dumps(whole))
    head |= {"object": "chat.completion.chunk"}
    first = head | {"choices": [{"index": 0, "delta": message, "finish_reason": None}]}
    last = head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage}
    return _event_stream([first, last], named=False, done="data: [DONE]\n\n")


def _read_gemini(body: Body) -> ModelRequest:
    parts = [(content.get("role"), part) for content in body.get("contents", ()) for part in content["parts"]]
    return ModelRequest(
        body,
        [
            OfferedTool(function["name"])
            for tool in body.get("tools", ())
            for function in tool.get("functionDeclarations", ())
        ],
        [_join_texts(body.get("systemInstruction", ""))]
        + [part["text"] for role, part in parts if role == "user" and "text" in part],
        [
            _join_texts(part["functionResponse"].get("response"))
            for _, part in parts
            if "functionResponse" in part
        ],
    )


def _render_gemini(request: ModelRequest, step: Step, stream: bool) -> Reply:
    if isinstance(step, Call):
        tool = _tool_of_call(request, step)
        part: Body = {"functionCall": {"name": tool.name, "args": step.arguments}}
    else:
        part = {"text": step.text}
    usage = {
        "promptTokenCount": step.tokens,
        "candidatesTokenCount": 5,
        "totalTokenCount": step.tokens + 5,
    }
    candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
    whole = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}
    if stream:
        return _event_stream([whole], named=False)
    return Reply("application/json", json.dumps(whole))


ANTHROPIC = Dialect(_read_anthropic, _render_anthropic)
RESPONSES = Dialect(_read_responses, _render_responses)
CHAT = Dialect(_read_chat, _render_chat)
GEMINI = Dialect(_read_gemini, _render_gemini)
