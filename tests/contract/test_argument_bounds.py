"""No argument of any operation takes a text, a list or a number without a bound; found by walking the rooms."""

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

from commonplace import errors, rooms
from commonplace.arguments import MAX_INTEGER, SecretMask
from commonplace.operation import Operation

MIN_INTEGER = -MAX_INTEGER - 1
Schema = dict[str, Any]


def find_operations() -> dict[str, Operation]:
    """Every operation of every room, also those behind resources and byte streams, which no list of tools names."""
    modules = [
        importlib.import_module(each.name)
        for each in pkgutil.walk_packages(rooms.__path__, "commonplace.rooms.")
    ]
    return {
        f"{module.__name__}.{name}": value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Operation)
    }


OPERATIONS = find_operations()


def walk_schema(schema: Schema, definitions: Schema, place: str) -> Iterator[tuple[str, Schema]]:
    """The schema and everything in it, each with its place."""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    yield place, schema
    for choice in [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]:
        yield from walk_schema(choice, definitions, place)
    for name, kind in schema.get("properties", {}).items():
        yield from walk_schema(kind, definitions, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from walk_schema(schema[key], definitions, f"{place}[]")


def walk_arguments(operation: Operation) -> Iterator[tuple[str, Schema]]:
    schema = operation.argument_model.model_json_schema()
    definitions = schema.pop("$defs", {})
    for name, kind in schema.get("properties", {}).items():
        yield from walk_schema(kind, definitions, name)


def is_bounded(kind: Schema) -> bool:
    match kind.get("type"):
        case "string":
            return bool({"maxLength", "enum", "const"} & kind.keys())
        case "integer" | "number":
            return MIN_INTEGER <= kind.get("minimum", MIN_INTEGER - 1) <= kind.get("maximum", MAX_INTEGER + 1) <= MAX_INTEGER  # fmt: skip
        case "array":
            return "maxItems" in kind
    return True


def test_rooms_have_operations_to_walk():
    assert len(OPERATIONS) > 80


def test_every_text_list_and_number_has_bounds():
    arguments = [
        (name, *each) for name, operation in OPERATIONS.items() for each in walk_arguments(operation)
    ]
    assert [(name, place) for name, place, kind in arguments if not is_bounded(kind)] == []


def list_values_out_of_bounds(kind: Schema) -> list[Any]:
    if kind.get("type") == "string" and "maxLength" in kind:
        return ["a" * (kind["maxLength"] + 1)]
    if kind.get("type") == "integer":
        return [MAX_INTEGER + 1, MIN_INTEGER - 1, "9" * 25, "-" + "9" * 25, "9" * 5000]
    return []


def test_what_is_out_of_bounds_is_refused_by_its_name():
    wrong = [
        (name, argument, str(value)[:40], said)
        for name, operation in OPERATIONS.items()
        for argument, kind in walk_arguments(operation)
        if argument.isidentifier()
        for value in list_values_out_of_bounds(kind)
        if (said := judge_refusal(operation, argument, value))
    ]
    assert wrong == []


def judge_refusal(operation: Operation, argument: str, value: Any) -> str:
    """What is wrong with it; nothing if the value is refused in a short message that names the argument."""
    try:
        operation.parse_arguments({argument: value}, SecretMask("mask"))
    except errors.Refusal as refused:
        is_right = refused.code in ("invalid", "too_large") and argument in refused.message
        return "" if is_right and len(refused.message) < 2000 else f"{refused.code}: {refused.message[:200]}"
    return "accepted"
