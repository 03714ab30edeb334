"""Byte positions of everything in a JSON document that may have comments and trailing commas.

Uses the JavaScript grammar of tree-sitter, which accepts both, is fast on megabytes and gives byte positions. Anything
that JavaScript allows but JSON does not is refused.
"""

import json
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from tree_sitter import Language, Node, Parser, Tree

_SCALARS = {"string", "number", "true", "false", "null", "unary_expression"}
_PREFIX = b"("
_MAX_DEPTH = 200


class NotJson(ValueError):
    """The text is not valid JSON, even with comments."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


@dataclass(slots=True)
class JsonValue:
    """A value with its byte positions in the document."""

    kind: str
    start: int
    end: int
    scalar: Any = None
    items: list["JsonItem"] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)

    def to_python(self) -> Any:
        """The value as Python objects; of equal keys the last one counts."""
        if self.kind == "object":
            return {item.key: item.value.to_python() for item in self.items}
        return [item.value.to_python() for item in self.items] if self.kind == "array" else self.scalar

    def find_member(self, key: str) -> "JsonItem | None":
        return next((item for item in reversed(self.items) if item.key == key), None)


@dataclass(slots=True)
class JsonItem:
    """A member of an object or an element of an array, with the position of the comma after it."""

    start: int
    end: int
    value: JsonValue
    key: str = ""
    comma: int | None = None


@lru_cache(maxsize=2)
def parse(text: bytes) -> JsonValue:
    """Cached, because an edit parses the same text several times and some agents keep megabytes in their settings."""
    tree = _parse_tree(text)
    inside = [node for node in _find_document(tree).children[1:-1] if node.type != "comment"]
    if len(inside) != 1:
        raise NotJson(1)
    return _read_value(inside[0], 0)


def _parse_tree(text: bytes) -> Tree:
    tree = _load_parser().parse(_PREFIX + text + b"\n)")
    if tree.root_node.has_error:
        raise NotJson(_line_number(_find_fault(tree.root_node)))
    return tree


@cache
def _load_parser() -> Parser:
    import tree_sitter_javascript  # only commands that edit settings need it

    return Parser(Language(tree_sitter_javascript.language()))


def _find_document(tree: Tree) -> Node:
    statements = tree.root_node.children
    if len(statements) != 1 or statements[0].type != "expression_statement":
        raise NotJson(1)
    document = statements[0].children[0]
    if document.type != "parenthesized_expression" or len(statements[0].children) != 1:
        raise NotJson(_line_number(document))
    return document


def _find_fault(node: Node) -> Node:
    """The first node that the grammar could not parse."""
    for child in node.children:
        if child.is_error or child.is_missing:
            return child
        if child.has_error:
            return _find_fault(child)
    return node


def _line_number(node: Node) -> int:
    return int(node.start_point.row) + 1


def _read_value(node: Node, depth: int) -> JsonValue:
    if depth > _MAX_DEPTH:
        raise NotJson(_line_number(node))
    span = (node.start_byte - len(_PREFIX), node.end_byte - len(_PREFIX))
    if node.type in _SCALARS:
        return JsonValue("scalar", *span, scalar=_decode_scalar(node))
    if node.type not in {"object", "array"}:
        raise NotJson(_line_number(node))
    value = JsonValue(node.type, *span)
    for child in node.children[1:-1]:
        _add_child(value, child, depth)
    return value


def _add_child(value: JsonValue, child: Node, depth: int) -> None:
    start, end = child.start_byte - len(_PREFIX), child.end_byte - len(_PREFIX)
    if child.type == "comment":
        value.comments.append((start, end))
    elif child.type == ",":
        if not value.items or value.items[-1].comma is not None:
            raise NotJson(_line_number(child))
        value.items[-1].comma = start
    elif value.kind == "array":
        value.items.append(JsonItem(start, end, _read_value(child, depth + 1)))
    else:
        key, content = _split_pair(child)
        value.items.append(JsonItem(start, end, _read_value(content, depth + 1), key))


def _split_pair(node: Node) -> tuple[str, Node]:
    parts = [child for child in node.children if child.type != "comment"]
    if node.type != "pair" or len(parts) != 3 or parts[0].type != "string":  # noqa: PLR2004 - key, colon, value
        raise NotJson(_line_number(node))
    return str(_decode_scalar(parts[0])), parts[2]


def _decode_scalar(node: Node) -> Any:
    try:
        return json.loads(node.text or b"")
    except ValueError:
        raise NotJson(_line_number(node)) from None
