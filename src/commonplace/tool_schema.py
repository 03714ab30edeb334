"""A tool as JSON schema: one source for tools/list, OpenAPI, the generated docs and the snapshots.

The schema comes from the operation's own types (operation.py). Models get a shorter one than programs.
"""

from functools import cache
from typing import Any

import msgspec

from commonplace.operation import Operation, OperationFamily, Tool
from commonplace.room import Catalogue, list_operations

_NOISE_KEYS = frozenset({"title", "additionalProperties"})
# Models are not shown the bounds of texts, which cost tokens and are explained by the refusal; programs get them.
_TEXT_BOUND_KEYS = frozenset({"minLength", "maxLength", "minItems", "pattern"})
# Arguments that programs pass and models need not: fencing tokens, keys, other names of an argument.
_PROGRAM_ARGUMENTS = frozenset(
    {"memory_update_work.token", "memory_end_session.token", "memory_send_message.in_response_to"}
    | {f"memory_store.interface_{name}" for name in ("name", "version", "owner", "schema")}
)
_PROGRAM_ARGUMENT_NAMES = frozenset(
    {
        "agent_id",
        "api_key",
        "tmux_target",
        "idempotency_key",
        "metadata",
        "sender",
        "visibility_filter",
        "search_metadata",
        "case_sensitive",
        "ignore_case",
        "display_name",
    }
)
# Replies say what they left out, so their bounds and defaults tell a model nothing.
_PAGING_ARGUMENTS = frozenset({"limit", "offset", "max_tokens"})
_OBVIOUS_MINIMUM = 1
_OBVIOUS_DEFAULTS: tuple[object, ...] = (None, "", [], False, "unknown", {})
_ENDLESS = 100
_LONG_LIST_ITEMS = 20

_DEFAULT_HINTS = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}


def input_schema(tool: Tool) -> dict[str, Any]:
    """The full schema with all descriptions and bounds, for programs and people."""
    return _build_schema(tool, _NOISE_KEYS)


def _build_schema(tool: Tool, noise: frozenset[str]) -> dict[str, Any]:
    if isinstance(tool, OperationFamily):
        return _family_schema(tool, noise)
    return _operation_schema(tool, noise)


def tool_annotations(tool: Tool) -> dict[str, bool]:
    """The hints that differ from the protocol's defaults; a family has those of its most dangerous action."""
    acts = list_operations(tool)
    hints = {
        "readOnlyHint": not any(act.writes for act in acts),
        "destructiveHint": any(act.destroys for act in acts),
        "idempotentHint": all(act.idempotent for act in acts),
        "openWorldHint": False,
    }
    return {name: hint for name, hint in hints.items() if hint is not _DEFAULT_HINTS[name]}


def tool_definition(tool: Tool, *, with_keywords: bool = True) -> dict[str, Any]:
    """The entry of tools/list, as short as possible. Keywords are for clients that search the tools."""
    has_keywords = tool.keywords and with_keywords
    return {
        "name": tool.name,
        "description": f"{tool.description} Also: {tool.keywords}." if has_keywords else tool.description,
        "inputSchema": _model_schema(tool),
        "annotations": tool_annotations(tool),
    }


@cache
def _model_schema(tool: Tool) -> dict[str, Any]:
    schema = _build_schema(tool, _NOISE_KEYS | _TEXT_BOUND_KEYS)
    shown = {
        name: {"type": "integer"} if name in _PAGING_ARGUMENTS else kind
        for name, kind in schema["properties"].items()
        if name not in _PROGRAM_ARGUMENT_NAMES and f"{tool.name}.{name}" not in _PROGRAM_ARGUMENTS
    }
    return schema | {"properties": shown}


@cache
def encode_tool_definition(tool: Tool, *, with_keywords: bool) -> bytes:
    return msgspec.json.encode(tool_definition(tool, with_keywords=with_keywords))


def prepare_schemas(catalogue: Catalogue) -> None:
    """Build what every first request would wait for: the models of all arguments and the entries of tools/list."""
    tools = catalogue.tools.values()
    for operation in (
        *(operation for tool in tools for operation in list_operations(tool)),
        *(resource.operation for resource in catalogue.resources),
    ):
        operation.prepare_arguments()
    for name in catalogue.model_tools:
        for with_keywords in (True, False):
            encode_tool_definition(catalogue.tools[name], with_keywords=with_keywords)


def _operation_schema(operation: Operation, noise: frozenset[str]) -> dict[str, Any]:
    schema = operation.argument_model.model_json_schema()
    definitions = schema.pop("$defs", {})
    slim = _drop_noise(_inline_references(schema, definitions), noise)
    short: dict[str, Any] = {"type": "object", "properties": slim.get("properties", {})}
    if slim.get("required"):
        short["required"] = slim["required"]
    return short


def _family_schema(family: OperationFamily, noise: frozenset[str]) -> dict[str, Any]:
    """The union of the arguments of all actions; `action` picks one."""
    properties: dict[str, Any] = {}
    acts = [_operation_schema(act, noise) for act in family.actions.values()]
    for act in acts:
        for name, kind in act["properties"].items():
            properties.setdefault(name, kind)
    session = {"session_id": properties.pop("session_id")} if "session_id" in properties else {}
    always = [name for name in session if all(name in act.get("required", ()) for act in acts)]
    action = {"action": {"type": "string", "enum": list(family.actions)}}
    return {"type": "object", "properties": session | action | properties, "required": [*always, "action"]}


def _drop_noise(schema: Any, noise: frozenset[str]) -> Any:
    """Leave out keys that cost tokens and tell a model nothing; `required` says what is optional."""
    if isinstance(schema, list):
        return [_drop_noise(item, noise) for item in schema]
    if not isinstance(schema, dict):
        return schema
    short = {
        key: (
            {name: _drop_noise(kind, noise) for name, kind in value.items()}
            if key == "properties"
            else _drop_noise(value, noise)
        )
        for key, value in schema.items()
        if key not in noise and not _is_obvious(key, value, noise)
    }
    if "enum" not in (items := short.get("items", {})) and "properties" not in items:
        items.pop("description", None)  # the list has one of its own
    return _drop_null_choice(short)


def _is_obvious(key: str, value: Any, noise: frozenset[str]) -> bool:
    """Whether a default or a bound can be left out: empty defaults always, for models also usual bounds."""
    if key == "default":
        return value in _OBVIOUS_DEFAULTS
    if noise == _NOISE_KEYS:
        return False
    return (
        (key == "minimum" and value <= _OBVIOUS_MINIMUM)
        or (key == "maximum" and value >= _ENDLESS)
        or (key == "maxItems" and value >= _LONG_LIST_ITEMS)
    )


def _drop_null_choice(schema: dict[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return schema
    real = [choice for choice in choices if choice != {"type": "null"}]
    if len(real) != 1:
        return schema | {"anyOf": real}
    only: dict[str, Any] = real[0]
    return {key: value for key, value in schema.items() if key != "anyOf"} | only


def _inline_references(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inline_references(item, definitions) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inline_references(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    return {key: _inline_references(value, definitions) for key, value in schema.items()}
