"""The fields that a version of a spec names, each with its path, type and whether it is required.

They come from its `json_schema`, else from its content: JSON, or text such as `- total: number` and `{sku, qty: int}`.
What changed between two versions is in `field_changes.py`. Everything is bounded: a schema may refer to itself.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from commonplace.store.database import Row

ROOT_PATH = "$"
NO_SCHEMA = "{}"
_MAX_FIELDS = 1000
_MAX_STEPS = 5000
_MAX_DEPTH = 12
_MAX_KIND_DEPTH = 3
_MAX_BRANCHES = 10
_MAX_EXAMPLES = 20
_MAX_KIND_CHARACTERS = 60
_JSON_KINDS = {dict: "object", list: "array", str: "string", bool: "boolean", int: "number", float: "number"}
_SHOWN_LIMITS = (
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength"),
    *(
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "additionalProperties",
        "default",
        "readOnly",
        "writeOnly",
    ),
)
_HAVE_FIELDS = frozenset({"properties", "$ref", "allOf", "oneOf", "anyOf", "items"})
_SCHEMA_WORDS = frozenset({"$schema", "properties", "$defs", "definitions"})
# Only these words make `name: word` a field; prose has colons, too.
_TYPE_WORDS = (
    "string|str|text|number|integer|int|int32|int64|long|float|double|decimal|bool|boolean|array|list|object|dict|map|"
    "date|datetime|timestamp|time|uuid|null|any|bytes|enum|url|uri"
)
_TYPED_FIELD = re.compile(
    rf"""(?<![\w./$-])(?P<quote>["'`]?)(?P<name>[A-Za-z_]\w*)(?P<list>\[\])?(?P=quote)(?P<optional>\?)?\s*:\s*"""
    rf"""(?P<kind>(?:{_TYPE_WORDS})\b(?:\[\]|<[\w, ]{{1,40}}>)?(?:\s*\|\s*["'\w]{{1,40}})*)(?P<nullable>\?)?""",
    re.IGNORECASE,
)
# `/cart/{id}` is a parameter of a path, not an object.
_OBJECT = re.compile(r"(?<![/$\w])\{([^{}]{1,2000})\}")
_OBJECT_FIELD = re.compile(r"""["'`]?([A-Za-z_]\w*)["'`]?(\[\])?(\?)?(?:\s*:\s*[^\s,;][^,;]{0,80})?""")
_SCOPE = re.compile(
    r"^\W{0,12}(?:(?P<endpoint>(?:GET|POST|PUT|PATCH|DELETE|HEAD)\s+/[^\s`]{0,80})|"
    r"(?:export\s+)?(?:interface|type|class|message|struct|enum)\s+(?P<type>\w+))"
)


class FieldShape(NamedTuple):
    kind: str = ""
    """Its type as people write it, such as `string|null` or `array of string`; empty if it is not named."""
    is_required: bool = False
    limits: Mapping[str, Any] = {}


Fields = dict[str, FieldShape]


def list_schema_fields(version: Row) -> Fields | None:
    if version["json_schema"] == NO_SCHEMA:
        return None
    return _SchemaWalk(msgspec.json.decode(version["json_schema"])).list_fields()


def list_content_fields(version: Row) -> Fields:
    content: str = version["content"]
    if content.lstrip()[:1] in ("{", "["):
        try:
            example = msgspec.json.decode(content)
        except (msgspec.DecodeError, RecursionError):
            return _list_text_fields(content)
        is_schema = isinstance(example, dict) and not _SCHEMA_WORDS.isdisjoint(example)
        return _SchemaWalk(example).list_fields() if is_schema else _walk_example(example)
    return _list_text_fields(content)


def find_parent(path: str) -> str:
    """`order.items[].sku` is in `order.items[]`, that in `order.items`; `GET /cart total` is in `GET /cart`."""
    return path[:-2] if path.endswith("[]") else path[: max(path.rfind("."), path.rfind(" "), 0)]


class _SchemaWalk:
    """Collects the fields of one schema. It may refer to itself in many ways, so the steps are counted."""

    def __init__(self, schema: Any) -> None:
        self._root, self._steps_left = schema, _MAX_STEPS

    def list_fields(self) -> Fields:
        fields: Fields = {}
        waiting = [(ROOT_PATH, self._root, False, 0)]
        for path, part, is_required, depth in waiting:
            if self._steps_left <= 0:
                break
            schema = self._merge(part)
            kind, known = self._name_kind(schema), fields.get(path)
            if known and kind not in known.kind.split("|"):
                kind = f"{known.kind}|{kind}"
            fields[path] = FieldShape(_shorten_kind(kind), is_required, _list_limits(schema))
            if depth < _MAX_DEPTH:
                waiting += [(*child, depth + 1) for child in self._list_children(path, schema)]
        return fields

    def _list_children(self, path: str, schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
        required = _as_list(schema.get("required"))
        for name, part in _as_dict(schema.get("properties")).items():
            yield _join_path(path, name), part, name in required
        if not _HAVE_FIELDS.isdisjoint(_as_dict(schema.get("items"))):
            yield f"{'' if path == ROOT_PATH else path}[]", schema["items"], False
        if more := _as_dict(schema.get("additionalProperties")):
            yield _join_path(path, "*"), more, False
        for branch in _list_branches(schema):
            for name, part in _as_dict(self._merge(branch).get("properties")).items():
                yield _join_path(path, name), part, False

    def _merge(self, part: Any, followed: frozenset[str] = frozenset(), depth: int = 0) -> dict[str, Any]:
        """The schema with what it refers to, and with all parts of `allOf`; a reference is followed once."""
        self._steps_left -= 1
        if not isinstance(part, dict) or self._steps_left < 0 or depth > _MAX_DEPTH:
            return {}
        merged: dict[str, Any] = {}
        reference = part.get("$ref")
        if isinstance(reference, str) and reference not in followed:
            followed |= {reference}
            merged = self._merge(self._find_reference(reference), followed, depth + 1)
        for also in _as_list(part.get("allOf"))[:_MAX_BRANCHES]:
            merged = _join_schemas(merged, self._merge(also, followed, depth + 1))
        return _join_schemas(merged, part)

    def _find_reference(self, reference: str) -> Any:
        """What a reference within the same schema names."""
        if not reference.startswith("#/"):
            return None
        found = self._root
        for name in reference[2:].split("/"):
            found = _as_dict(found).get(name.replace("~1", "/").replace("~0", "~"))
        return found

    def _name_kind(self, schema: Mapping[str, Any], depth: int = 0) -> str:
        if values := _as_list(schema.get("enum")) or ([schema["const"]] if "const" in schema else []):
            return "|".join(msgspec.json.encode(value).decode() for value in values[:50])
        kinds = [schema["type"]] if isinstance(schema.get("type"), str) else _as_list(schema.get("type"))
        if not kinds and depth < _MAX_KIND_DEPTH:
            kinds = [self._name_kind(self._merge(branch), depth + 1) for branch in _list_branches(schema)]
        if not kinds and "properties" in schema:
            kinds = ["object"]
        kind = "|".join(dict.fromkeys(str(kind) for kind in kinds if kind))
        if kind == "array":
            item = _as_dict(schema.get("items")).get("type")
            return f"array of {item}" if isinstance(item, str) and item != "object" else kind
        return f"{kind} ({schema['format']})" if isinstance(schema.get("format"), str) else kind


def _list_limits(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {
        word: schema[word] for word in _SHOWN_LIMITS if word in schema and not isinstance(schema[word], dict)
    }


def _list_branches(schema: Mapping[str, Any]) -> list[Any]:
    return [*_as_list(schema.get("oneOf")), *_as_list(schema.get("anyOf"))][:_MAX_BRANCHES]


def _join_schemas(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    if not first or not second:
        return first or second
    properties = _as_dict(first.get("properties")) | _as_dict(second.get("properties"))
    required = [*_as_list(first.get("required")), *_as_list(second.get("required"))]
    return first | second | ({"properties": properties} if properties else {}) | {"required": required}


def _shorten_kind(kind: str) -> str:
    return kind if len(kind) <= _MAX_KIND_CHARACTERS else f"{kind[:_MAX_KIND_CHARACTERS]}…"


def _walk_example(example: Any) -> Fields:
    """The fields of an example in JSON; it does not tell which are required."""
    fields: Fields = {}
    waiting = [(ROOT_PATH, example, 0)]
    for path, value, depth in waiting:
        if len(fields) > _MAX_FIELDS:
            break
        kind, known = _JSON_KINDS.get(type(value), "null"), fields.get(path)
        if known and kind not in known.kind.split("|"):
            kind = "|".join(sorted([*known.kind.split("|"), kind]))
        fields[path] = FieldShape(kind)
        if depth == _MAX_DEPTH:
            continue
        if isinstance(value, dict):
            waiting += [(_join_path(path, name), part, depth + 1) for name, part in value.items()]
        elif isinstance(value, list):
            items = f"{'' if path == ROOT_PATH else path}[]"
            waiting += [(items, part, depth + 1) for part in value[:_MAX_EXAMPLES]]
    return fields


def _list_text_fields(content: str) -> Fields:
    """The fields that a text names, in the endpoint or type that they follow."""
    fields: Fields = {}
    scope = ""
    for line in content.splitlines():
        if found := _SCOPE.match(line):
            scope = f"{' '.join(found['endpoint'].split())} " if found["endpoint"] else f"{found['type']}."
        for name, kind, is_optional in _list_line_fields(line):
            if scope:
                fields.setdefault(scope[:-1], FieldShape())
            known = fields.get(f"{scope}{name}", FieldShape())
            kinds = dict.fromkeys(each for each in (*known.kind.split("|"), *kind.split("|")) if each)
            fields[f"{scope}{name}"] = FieldShape("|".join(kinds), not is_optional)
        if len(fields) > _MAX_FIELDS:
            break
    return fields


def _list_line_fields(line: str) -> Iterator[tuple[str, str, bool]]:
    for field in _TYPED_FIELD.finditer(line):
        kind = "".join(field["kind"].split()) + (field["list"] or "")
        yield field["name"], kind, bool(field["optional"] or field["nullable"])
    for group in _OBJECT.finditer(line):
        parts = [part.strip() for part in re.split("[,;]", group[1]) if part.strip()]
        fields = [_OBJECT_FIELD.fullmatch(part) for part in parts]
        if all(fields):
            yield from ((field[1], "array" if field[2] else "", bool(field[3])) for field in fields if field)


def _join_path(path: str, name: str) -> str:
    return name if path == ROOT_PATH else f"{path}.{name}"


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _as_dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
