"""Where everything stands in a JSON document that may have comments and trailing commas.

The JavaScript grammar reads it: it knows both, is fast on megabytes and gives byte positions. Whatever JavaScript
allows beyond JSON is refused here.
"""

import json
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Any

from tree_sitter import Language, Parser, Tree
from tree_sitter import Node as Found

_SCALARS = {"string", "number", "true", "false", "null", "unary_expression"}
_LEAD = b"("
_DEEPEST = 200


class NotJson(ValueError):  # noqa: N818 - what the text is, not a fault of ours
    """The text is no JSON, with or without comments."""

    def __init__(self, line: int) -> None:
        super().__init__(f"line {line}")
        self.line = line


@dataclass(slots=True)
class Value:
    """A value and where it stands; `start` and `end` are bytes of the document."""

    kind: str
    start: int
    end: int
    scalar: Any = None
    items: list["Item"] = field(default_factory=list)
    comments: list[tuple[int, int]] = field(default_factory=list)

    def plain(self) -> Any:
        """The value as Python has it; of equal keys the last one counts."""
        if self.kind == "object":
            return {item.key: item.value.plain() for item in self.items}
        return [item.value.plain() for item in self.items] if self.kind == "array" else self.scalar

    def member(self, key: str) -> "Item | None":
        return next((item for item in reversed(self.items) if item.key == key), None)


@dataclass(slots=True)
class Item:
    """A member of an object or an element of an array, with the comma that follows it, if one does."""

    start: int
    end: int
    value: Value
    key: str = ""
    comma: int | None = None


@lru_cache(maxsize=2)
def parse(text: bytes) -> Value:
    """An edit looks at the same text several times, and some agents keep megabytes in their settings."""
    tree = _tree(text)
    inside = [node for node in _document(tree).children[1:-1] if node.type != "comment"]
    if len(inside) != 1:
        raise NotJson(1)
    return _value(inside[0], 0)


def _tree(text: bytes) -> Tree:
    tree = _parser().parse(_LEAD + text + b"\n)")
    if tree.root_node.has_error:
        raise NotJson(_line(_fault(tree.root_node)))
    return tree


@cache
def _parser() -> Parser:
    import tree_sitter_javascript  # noqa: PLC0415 - only commands that edit settings need it

    return Parser(Language(tree_sitter_javascript.language()))


def _document(tree: Tree) -> Found:
    statements = tree.root_node.children
    if len(statements) != 1 or statements[0].type != "expression_statement":
        raise NotJson(1)
    document = statements[0].children[0]
    if document.type != "parenthesized_expression" or len(statements[0].children) != 1:
        raise NotJson(_line(document))
    return document


def _fault(node: Found) -> Found:
    """The first place that the grammar could not read."""
    for child in node.children:
        if child.is_error or child.is_missing:
            return child
        if child.has_error:
            return _fault(child)
    return node


def _line(node: Found) -> int:
    return int(node.start_point.row) + 1


def _value(node: Found, depth: int) -> Value:
    if depth > _DEEPEST:
        raise NotJson(_line(node))
    place = (node.start_byte - len(_LEAD), node.end_byte - len(_LEAD))
    if node.type in _SCALARS:
        return Value("scalar", *place, scalar=_scalar(node))
    if node.type not in {"object", "array"}:
        raise NotJson(_line(node))
    value = Value(node.type, *place)
    for child in node.children[1:-1]:
        _take(value, child, depth)
    return value


def _take(value: Value, child: Found, depth: int) -> None:
    start, end = child.start_byte - len(_LEAD), child.end_byte - len(_LEAD)
    if child.type == "comment":
        value.comments.append((start, end))
    elif child.type == ",":
        if not value.items or value.items[-1].comma is not None:
            raise NotJson(_line(child))
        value.items[-1].comma = start
    elif value.kind == "array":
        value.items.append(Item(start, end, _value(child, depth + 1)))
    else:
        key, content = _pair(child)
        value.items.append(Item(start, end, _value(content, depth + 1), key))


def _pair(node: Found) -> tuple[str, Found]:
    parts = [child for child in node.children if child.type != "comment"]
    if node.type != "pair" or len(parts) != 3 or parts[0].type != "string":  # noqa: PLR2004 - key, colon, value
        raise NotJson(_line(node))
    return str(_scalar(parts[0])), parts[2]


def _scalar(node: Found) -> Any:
    try:
        return json.loads(node.text or b"")
    except ValueError:
        raise NotJson(_line(node)) from None
