"""The JSON schema of an operation's reply, from the type that it returns: for openapi.json.

msgspec's own schemas refuse unions of structs that have no tag, which replies have; ours lists the choices. Further fields
are always possible: `_notice` and the other news beside a reply, and the `warning` of a quotation.
"""

import types
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from commonplace.operation import Operation, Tool
from commonplace.room import Catalogue, list_operations

Schema = dict[str, Any]
_PLAIN_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


class ReplySchemas:
    """Builds the schemas of all replies; each struct becomes one component that the others refer to."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.components: dict[str, Schema] = {}
        self._name_by_struct: dict[type, str] = {}
        self.by_tool = {tool.name: self._describe_tool(tool) for tool in catalogue.tools.values()}

    def _describe_tool(self, tool: Tool) -> Schema:
        schemas = [self._describe(find_reply_type(act)) for act in list_operations(tool)]
        choices = [choice for schema in schemas for choice in schema.get("anyOf", [schema])]
        distinct = [choice for number, choice in enumerate(choices) if choice not in choices[:number]]
        return distinct[0] if len(distinct) == 1 else {"anyOf": distinct}

    def _describe(self, kind: Any) -> Schema:
        """The schema of a type; what it does not know may be anything."""
        if kind in _PLAIN_TYPES:
            return {"type": _PLAIN_TYPES[kind]}
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            return {"$ref": f"#/components/schemas/{self._add_struct(kind)}"}
        origin, arguments = get_origin(kind), get_args(kind)
        if origin is Annotated:
            return self._describe(arguments[0])
        if origin is Literal:
            return {"enum": list(arguments)}
        return self._describe_parts(origin, arguments)

    def _describe_parts(self, origin: Any, arguments: Sequence[Any]) -> Schema:
        if origin in (Union, types.UnionType):
            return {"anyOf": [self._describe(each) for each in arguments]}
        if origin is tuple and arguments[-1] is not Ellipsis:
            return {"type": "array", "prefixItems": [self._describe(each) for each in arguments]}
        if origin in (list, tuple, set, frozenset, Sequence):
            return {"type": "array", "items": self._describe(arguments[0])}
        if origin in (dict, Mapping):
            return {"type": "object", "additionalProperties": self._describe(arguments[1])}
        return {}

    def _add_struct(self, kind: type[msgspec.Struct]) -> str:
        if kind in self._name_by_struct:
            return self._name_by_struct[kind]
        name = kind.__name__ if kind.__name__ not in self.components else _name_with_room(kind)
        self._name_by_struct[kind] = name
        component = self.components[name] = {"type": "object", "properties": {}}
        fields = msgspec.structs.fields(kind)
        component["properties"] = {field.encode_name: self._describe(field.type) for field in fields}
        required = [field.encode_name for field in fields if field.required]
        if required:
            component["required"] = required
        return name


def find_reply_type(operation: Operation) -> Any:
    """What `after_commit` returns, else what the function returns."""
    return get_type_hints(operation.after_commit or operation.function)["return"]


def _name_with_room(kind: type) -> str:
    """Two rooms may have a struct of the same name."""
    return "_".join((*kind.__module__.split(".")[-2:], kind.__name__))
