"""What a declaration says of itself: its name, signature, parameters, return type and documentation."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from commonplace.librarian.language import Language

COMMENTS = frozenset({"comment", "line_comment", "block_comment"})
_FUNCTION_VALUES = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function", "lambda"}
)
_BOUND = frozenset(
    {"variable_declarator", "public_field_definition", "field_definition", "pair", "assignment_expression"}
)
_ABOVE = frozenset({"attribute_item", "decorator", "attribute_list", "marker_annotation", "annotation"})
_WRAPPERS = frozenset(
    {
        "export_statement",
        "template_declaration",
        "decorated_definition",
        "lexical_declaration",
        "variable_declaration",
        "type_declaration",
        "expression_statement",
    }
)
_SIGNATURE = 400
_DOC = 1000
_DEEPEST = 8
_GENERIC = re.compile(r"<[^<>()]*>")
_SEPARATOR = re.compile(r"::|->|\?\.|\\")
_EXPORTS = re.compile(r"^(?:module\.)?exports\.|(?<=\.)prototype\.|^this\.")
_ANNOTATION = re.compile(r"^(?:@[\w.]+(?:\([^()]*\))?\s*)+")
_MARKERS = re.compile(r"^\s*(?:/\*\*?!?|\*/|///?!?|//|\*(?!/)|#+)?[ \t]?|\s*\*/\s*$", re.MULTILINE)
_OPENING = re.compile(r"(?:\s*(?:=>|[{:;=]|\bwhere))+\s*$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_BEFORE = {
    "splat_parameter": "*",
    "hash_splat_parameter": "**",
    "block_parameter": "&",
    "variadic_parameter": "...",
}
_LOOSE = frozenset(
    {"array_type", "identifier", "attribute_list", "nullable_type", "predefined_type", "generic_name"}
)
_TAG = re.compile(r"</?\w+[^<>]*>")


@dataclass(frozen=True, slots=True)
class Declaration:
    name: str
    node: Node
    body: Node | None
    parameters: list[dict[str, Any]]
    returns: str
    signature: str
    doc: str
    doc_range: tuple[int, int]


def text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def flat(words: str) -> str:
    return " ".join(words.split())


def dotted(name: str) -> str:
    """`a::b`, `a->b` and `a?.b` as `a.b`, without type arguments."""
    plain = _SEPARATOR.sub(".", name)
    while (shorter := _GENERIC.sub("", plain)) != plain:
        plain = shorter
    return flat(plain).replace(" ", "").strip(".")


def container_name(node: Node) -> str:
    return dotted(text(node.child_by_field_name("name") or node.child_by_field_name("type")))


def function(node: Node, language: Language) -> Declaration | None:
    """The function that this node declares, if it is one with a name."""
    made = node
    if node.type in _BOUND:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is None or value.type not in _FUNCTION_VALUES:
            return None
        made = value
    name = _name(node)
    declarator = _function_declarator(made) if language.name in ("c", "cpp") else None
    if not name or (language.name in ("c", "cpp") and declarator is None):
        return None
    body = made.child_by_field_name("body")
    listed = (declarator or made).child_by_field_name("parameters") or made.child_by_field_name("parameter")
    doc, doc_range = _documentation(node, body, language)
    return Declaration(
        name,
        node,
        body,
        _parameters(listed),
        _returns(made),
        _signature(node, body or node.child_by_field_name("value")),
        doc,
        doc_range,
    )


def class_(node: Node, language: Language) -> Declaration | None:
    """The class, or what the language has instead, that this node declares."""
    name = container_name(node)
    body = node.child_by_field_name("body")
    if language.name == "go":
        body = node.child_by_field_name("type")
        if body is None or body.type not in ("struct_type", "interface_type"):
            return None
    if not name or (body is None and language.name in ("c", "cpp")):
        return None
    doc, doc_range = _documentation(node, body, language)
    return Declaration(name, node, body, [], "", _signature(node, body), doc, doc_range)


def _name(node: Node) -> str:
    if node.type == "function_definition" and (declarator := _function_declarator(node)):
        return dotted(text(declarator.child_by_field_name("declarator")))
    named = next(
        (
            found
            for field in ("name", "property", "key", "left")
            if (found := node.child_by_field_name(field))
        ),
        None,
    )
    name = _EXPORTS.sub("", dotted(text(named)).strip("\"'"))
    if node.type == "operator_declaration":
        name = f"operator{text(node.child_by_field_name('operator'))}"
    receiver = node.child_by_field_name("receiver")
    return f"{_receiver(receiver)}.{name}" if receiver and name else name


def _receiver(node: Node) -> str:
    """Go's methods name their type in front: `(s *Server)`."""
    return re.sub(r"\[.*", "", flat(text(node)).strip("()")).split(" ")[-1].lstrip("*")


def _function_declarator(node: Node) -> Node | None:
    found = node.child_by_field_name("declarator")
    for _ in range(_DEEPEST):
        if found is None or found.type == "function_declarator":
            return found
        found = found.child_by_field_name("declarator") or next(iter(found.named_children), None)
    return None


def _signature(node: Node, body: Node | None) -> str:
    """The text before the body, without decoration, comments and what only opens the body."""
    start = next((child.start_byte for child in node.children if child.type not in _ABOVE), node.start_byte)
    end = body.start_byte if body else node.end_byte
    end = min([end, *(child.start_byte for child in node.children if child.type in COMMENTS)])
    whole = node.text or b""
    shown = flat(whole[start - node.start_byte : end - node.start_byte].decode("utf-8", "replace"))
    if node.type == "type_spec" and body:
        shown = f"type {shown} {body.type.removesuffix('_type')}"
    return _OPENING.sub("", _ANNOTATION.sub("", shown))[:_SIGNATURE]


def _returns(node: Node) -> str:
    for field in ("return_type", "result", "returns", "type"):
        found = node.child_by_field_name(field)
        if found is not None:
            return flat(text(found)).lstrip(":").strip()[:200] + _pointers(node)
    return ""


def _pointers(node: Node) -> str:
    """C hangs the stars of a return type on the name."""
    found, stars = node.child_by_field_name("declarator"), ""
    while found is not None and found.type == "pointer_declarator":
        found, stars = found.child_by_field_name("declarator"), stars + "*"
    return f" {stars}" if stars else ""


def _parameters(listed: Node | None) -> list[dict[str, Any]]:
    if listed is None:
        return []
    if listed.type == "identifier":
        return [{"name": text(listed)}]
    found = [parameter for child in listed.named_children for parameter in _parameter(child)]
    # In C# the last one, if it takes the rest, hangs on the list itself.
    if rest := listed.child_by_field_name("name"):
        found.append({"name": text(rest), "type": f"params {text(listed.child_by_field_name('type'))}"})
    return found[:50]


def _parameter(node: Node) -> Iterator[dict[str, Any]]:
    if node.type in COMMENTS or (
        node.parent and node.parent.type == "parameter_list" and node.type in _LOOSE
    ):
        return
    if node.child_by_field_name("declarator") or node.type == "spread_parameter":
        yield _declared_parameter(node)
        return
    before = _BEFORE.get(node.type, "")
    kind, default = node.child_by_field_name("type"), _default(node)
    for name in node.children_by_field_name("name") or [_parameter_name(node)]:
        shown = {"name": (before + flat(text(name)).removeprefix(before))[:100]}
        if kind is not None:
            spread = "..." if node.type == "variadic_parameter_declaration" else ""
            shown["type"] = spread + flat(text(kind)).lstrip(":").strip()[:200]
        if default:
            shown["default"] = default
        yield shown


def _default(node: Node) -> str:
    found = node.child_by_field_name("value") or node.child_by_field_name("default_value")
    if found is None:
        signs = [place for place, child in enumerate(node.children) if child.type == "="]
        found = node.children[signs[0] + 1] if signs and signs[0] + 1 < node.child_count else None
    return flat(text(found))[:100]


def _declared_parameter(node: Node) -> dict[str, Any]:
    """Where the name stands inside its type, as in `const char *name[3]`."""
    whole, _, default = flat(text(node)).partition("=")
    declarator = node.child_by_field_name("declarator") or node.named_children[-1]
    found = _IDENTIFIER.search(text(declarator))
    name = found[0] if found else ""
    before, _, after = whole.rpartition(name) if name else (whole, "", "")
    kind = flat(f"{before}{after}")
    shown = {"name": name or whole, "type": kind[:200]}
    return shown | ({"default": default.strip()[:100]} if default else {})


def _parameter_name(node: Node) -> Node:
    found = node.child_by_field_name("pattern") or node.child_by_field_name("left")
    if found is not None:
        return found
    return node.named_children[0] if node.type == "typed_parameter" else node


def _documentation(node: Node, body: Node | None, language: Language) -> tuple[str, tuple[int, int]]:
    if language.name == "python":
        return _docstring(body)
    return _above(node), (0, 0)


def _docstring(body: Node | None) -> tuple[str, tuple[int, int]]:
    first = (
        next((child for child in body.named_children if child.type not in COMMENTS), None) if body else None
    )
    if first is not None and first.type == "expression_statement" and first.named_children:
        first = first.named_children[0]
    if first is None or first.type != "string":
        return "", (0, 0)
    content = text(first).lstrip("rRuUbB").strip("\"'")
    return _trimmed(content), first.byte_range


def _above(node: Node) -> str:
    """The comments that end on the line above, whatever the declaration is wrapped in."""
    while node.parent is not None and node.parent.type in _WRAPPERS:
        node = node.parent
    before, row = _before(node), node.start_point.row
    found: list[str] = []
    while before is not None and before.end_point.row + 1 >= row - (before.end_point.column == 0):
        if before.type in COMMENTS:
            found.append(text(before))
        elif before.type not in _ABOVE:
            break
        row, before = before.start_point.row, before.prev_sibling
    return _trimmed(_TAG.sub("", "\n".join(_MARKERS.sub("", each) for each in reversed(found))))


def _before(node: Node) -> Node | None:
    """Ruby hangs the comment over the first method of a class before the class's body."""
    if node.prev_sibling is None and node.parent is not None and node.parent.type == "body_statement":
        return node.parent.prev_sibling
    return node.prev_sibling


def _trimmed(doc: str) -> str:
    return "\n".join(line.strip() for line in doc.strip().splitlines())[:_DOC]
