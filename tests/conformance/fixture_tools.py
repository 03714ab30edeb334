"""The tools that the official conformance suite asks a server under test to have."""

import json
from typing import Any

from commonplace.edges.mcp.host import (
    InputRequired,
    McpContext,
    ToolCallResult,
    ToolRefused,
)
from commonplace.edges.mcp.publisher import PROMPTS_CHANGED, TOOLS_CHANGED, Publisher

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
AUDIO = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}
ANNOTATIONS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}

SCHEMA_2020_12 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
DEFAULTS_FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    },
}
TITLED = [{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]
ENUMS_FORM = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["Option One", "Option Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2"]}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def embedded_resource(uri: str, content: str, mime_type: str = "text/plain") -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": content}}


def elicit(message: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def form(**fields: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in fields.items()}
    return {"type": "object", "properties": properties, "required": list(fields)}


def sample(prompt: str, tokens: int = 100) -> dict[str, Any]:
    messages = [{"role": "user", "content": text(prompt)}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}


def tool(name: str, schema: dict[str, Any] = NO_ARGUMENTS) -> dict[str, Any]:
    return {"name": name, "description": name, "inputSchema": schema, "annotations": ANNOTATIONS}


class Tools:
    """One method per tool, named as the tool without its `test_`."""

    def __init__(self, publisher: Publisher) -> None:
        self.publisher = publisher

    async def echo(self, _context: McpContext, arguments: dict[str, Any]) -> ToolCallResult:
        return ToolCallResult(text=json.dumps(arguments, separators=(",", ":")))

    async def simple_text(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        return ToolCallResult(text="This is a simple text response for testing.")

    async def image_content(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        return ToolCallResult(blocks=[{"type": "image", "data": IMAGE, "mimeType": "image/png"}])

    async def audio_content(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        return ToolCallResult(blocks=[{"type": "audio", "data": AUDIO, "mimeType": "audio/wav"}])

    async def embedded_resource(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        return ToolCallResult(
            blocks=[embedded_resource("test://embedded-resource", "This is an embedded resource content.")]
        )

    async def multiple_content_types(
        self, _context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult:
        image = {"type": "image", "data": IMAGE, "mimeType": "image/png"}
        mixed = embedded_resource(
            "test://mixed-content-resource", '{"test":"data","value":123}', "application/json"
        )
        return ToolCallResult(blocks=[text("Multiple content types test:"), image, mixed])

    async def tool_with_logging(self, context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        for step in ("Tool execution started", "Tool processing data", "Tool execution completed"):
            await context.send_log("info", step)
        return ToolCallResult(text="done")

    logging_tool = tool_with_logging

    async def tool_with_progress(self, context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        for step in (0, 50, 100):
            await context.report_progress(step, 100, f"Completed step {step} of 100")
        return ToolCallResult(text="done")

    async def error_handling(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        raise ToolRefused("intended", "This tool intentionally returns an error for testing")

    async def sampling(
        self, context: McpContext, arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        if "sampled" not in context.input_responses:
            return InputRequired({"sampled": sample(arguments["prompt"])})
        return ToolCallResult(text=f"LLM response: {context.input_responses['sampled']['content']['text']}")

    async def missing_capability(self, _context: McpContext, _arguments: dict[str, Any]) -> InputRequired:
        return InputRequired({"sampled": sample("anything")})

    async def _form(
        self, context: McpContext, message: str, schema: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        if "form" not in context.input_responses:
            return InputRequired({"form": elicit(message, schema)})
        return ToolCallResult(text=f"Elicitation completed: {json.dumps(context.input_responses['form'])}")

    async def elicitation(
        self, context: McpContext, arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        return await self._form(context, arguments["message"], form(username="string", email="string"))

    async def elicitation_sep1034_defaults(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        return await self._form(context, "Defaults", DEFAULTS_FORM)

    async def elicitation_sep1330_enums(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        return await self._form(context, "Enums", ENUMS_FORM)

    async def streaming_elicitation(self, context: McpContext, _arguments: dict[str, Any]) -> InputRequired:
        await context.report_progress(1, 2)
        return InputRequired({"name": elicit("What is your name?", form(name="string"))})

    async def trigger_tool_change(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        self.publisher.publish_list_change(TOOLS_CHANGED)
        return ToolCallResult(text="changed")

    async def trigger_prompt_change(self, _context: McpContext, _arguments: dict[str, Any]) -> ToolCallResult:
        self.publisher.publish_list_change(PROMPTS_CHANGED)
        return ToolCallResult(text="changed")

    async def touch_resource(self, _context: McpContext, arguments: dict[str, Any]) -> ToolCallResult:
        self.publisher.publish_resource_update(arguments["uri"])
        return ToolCallResult(text="touched")

    async def json_schema_2020_12_tool(
        self, _context: McpContext, arguments: dict[str, Any]
    ) -> ToolCallResult:
        return ToolCallResult(text=json.dumps(arguments))

    async def input_required_result_elicitation(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        answer = context.input_responses.get("user_name")
        if answer is None:
            return InputRequired({"user_name": elicit("What is your name?", form(name="string"))})
        return ToolCallResult(text=f"Hello, {answer['content']['name']}!")

    async def input_required_result_sampling(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        answer = context.input_responses.get("capital_question")
        if answer is None:
            return InputRequired({"capital_question": sample("What is the capital of France?")})
        return ToolCallResult(text=answer["content"]["text"])

    async def input_required_result_list_roots(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        answer = context.input_responses.get("client_roots")
        if answer is None:
            return InputRequired({"client_roots": ROOTS})
        return ToolCallResult(text=json.dumps(answer["roots"]))

    async def input_required_result_request_state(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        if context.request_state == "asked" and "confirm" in context.input_responses:
            return ToolCallResult(text="state-ok")
        return InputRequired({"confirm": elicit("Please confirm", form(ok="boolean"))}, "asked")

    input_required_result_tampered_state = input_required_result_request_state

    async def input_required_result_multiple_inputs(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        requests = {
            "user_name": elicit("What is your name?", form(name="string")),
            "greeting": sample("Generate a greeting", 50),
            "client_roots": ROOTS,
        }
        if requests.keys() <= context.input_responses.keys():
            return ToolCallResult(text="complete")
        return InputRequired(requests, "many")

    async def input_required_result_multi_round(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> ToolCallResult | InputRequired:
        if context.request_state == "second":
            return ToolCallResult(text="complete")
        if context.request_state == "first":
            return InputRequired(
                {"step2": elicit("Step 2: What is your favorite color?", form(color="string"))}, "second"
            )
        return InputRequired({"step1": elicit("Step 1: What is your name?", form(name="string"))}, "first")

    async def input_required_result_capabilities(
        self, context: McpContext, _arguments: dict[str, Any]
    ) -> InputRequired:
        possible = {
            "elicitation": elicit("What is your name?", form(name="string")),
            "sampling": sample("Say hello"),
        }
        return InputRequired({name: ask for name, ask in possible.items() if name in context.capabilities})


SCHEMAS = {
    "test_sampling": form(prompt="string"),
    "test_elicitation": form(message="string"),
    "test_touch_resource": form(uri="string"),
    "echo": form(text="string"),
    "json_schema_2020_12_tool": SCHEMA_2020_12,
}
UNPREFIXED = ("echo", "json_schema_2020_12_tool")
NAMES = {
    name if name in UNPREFIXED else f"test_{name}": name
    for name in sorted(vars(Tools))
    if not name.startswith("_")
}
TOOLS = json.dumps([tool(name, SCHEMAS.get(name, NO_ARGUMENTS)) for name in NAMES]).encode()
