"""A tool as JSON: the schema that clients, OpenAPI, the docs and the snapshots all read."""

from typing import Any

from commonplace.operation import Family, Operation, Tool
from commonplace.room import list_operations

_NOISE = frozenset({"title", "additionalProperties"})
# Bounds cost a model tokens and are explained when they are broken; programs get them.
_BOUNDS = frozenset(
    {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "pattern", "description"}
)


def input_schema(tool: Tool) -> dict[str, Any]:
    """Everything that is checked, for programs and people."""
    return _schema(tool, _NOISE)


def _schema(tool: Tool, noise: frozenset[str]) -> dict[str, Any]:
    if isinstance(tool, Family):
        return _family_schema(tool, noise)
    return _operation_schema(tool, noise)


def annotations(tool: Tool) -> dict[str, bool]:
    """All four hints; a family is as dangerous as its most dangerous act."""
    acts = list_operations(tool)
    writes = any(act.writes for act in acts)
    return {
        "readOnlyHint": not writes,
        "destructiveHint": any(act.destroys for act in acts),
        "idempotentHint": all(act.idempotent for act in acts),
        "openWorldHint": False,
    }


def definition(tool: Tool) -> dict[str, Any]:
    """The entry of tools/list, as short as it can be."""
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": _schema(tool, _NOISE | _BOUNDS),
        "annotations": annotations(tool),
    }


def _operation_schema(operation: Operation, noise: frozenset[str]) -> dict[str, Any]:
    schema = operation.arguments.model_json_schema()
    definitions = schema.pop("$defs", {})
    slim = _slim(_inlined(schema, definitions), noise)
    shown: dict[str, Any] = {"type": "object", "properties": slim.get("properties", {})}
    if slim.get("required"):
        shown["required"] = slim["required"]
    return shown


def _family_schema(family: Family, noise: frozenset[str]) -> dict[str, Any]:
    """The union of what the acts take; `action` picks one."""
    properties: dict[str, Any] = {}
    acts = [_operation_schema(act, noise) for act in family.actions.values()]
    for act in acts:
        for name, kind in act["properties"].items():
            properties.setdefault(name, kind)
    session = {"session_id": properties.pop("session_id")} if "session_id" in properties else {}
    always = [name for name in session if all(name in act.get("required", ()) for act in acts)]
    action = {"action": {"type": "string", "enum": list(family.actions)}}
    return {"type": "object", "properties": session | action | properties, "required": [*always, "action"]}


def _slim(schema: Any, noise: frozenset[str]) -> Any:
    """Leave out what costs tokens and tells a model nothing; an empty default says 'optional' already."""
    if isinstance(schema, list):
        return [_slim(each, noise) for each in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: (
            {name: _slim(kind, noise) for name, kind in value.items()}
            if key == "properties"
            else _slim(value, noise)
        )
        for key, value in schema.items()
        if key not in noise and not (key == "default" and _obvious(value, noise))
    }
    return _without_null(kept)


def _obvious(default: Any, noise: frozenset[str]) -> bool:
    """What happens when an argument is left out is seen when it happens; programs get it beforehand."""
    return default in (None, "", [], False) or (noise > _NOISE and default is not True)


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices = schema.get("anyOf")
    if not isinstance(choices, list):
        return schema
    real = [choice for choice in choices if choice != {"type": "null"}]
    if len(real) != 1:
        return schema | {"anyOf": real}
    only: dict[str, Any] = real[0]
    return {key: value for key, value in schema.items() if key != "anyOf"} | only


def _inlined(schema: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return _inlined(definitions[schema["$ref"].rsplit("/", 1)[-1]], definitions)
    return {key: _inlined(value, definitions) for key, value in schema.items()}
