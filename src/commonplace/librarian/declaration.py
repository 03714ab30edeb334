"""Read a declaration's name, signature, parameters, return type and documentation from its syntax node."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tree_sitter import Node

from commonplace.librarian.language import Language

COMMENT_NODES = frozenset({"comment", "line_comment", "block_comment"})
_FUNCTION_VALUE_NODES = frozenset(
    {"arrow_function", "function_expression", "generator_function", "function", "lambda"}
)
_BINDING_NODES = frozenset(
    {"variable_declarator", "public_field_definition", "field_definition", "pair", "assignment_expression"}
)
_DECORATION_NODES = frozenset(
    {"attribute_item", "decorator", "attribute_list", "marker_annotation", "annotation"}
)
_WRAPPER_NODES = frozenset(
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
_MAX_SIGNATURE_CHARACTERS = 400
_MAX_DOC_CHARACTERS = 1000
_MAX_DECLARATOR_DEPTH = 8
_TYPE_ARGUMENTS = re.compile(r"<[^<>()]*>")
_NAME_SEPARATOR = re.compile(r"::|->|\?\.|\\")
_EXPORT_PREFIX = re.compile(r"^(?:module\.)?exports\.|(?<=\.)prototype\.|^this\.")
_LEADING_ANNOTATIONS = re.compile(r"^(?:@[\w.]+(?:\([^()]*\))?\s*)+")
_COMMENT_MARKERS = re.compile(r"^\s*(?:/\*\*?!?|\*/|///?!?|//|\*(?!/)|#+)?[ \t]?|\s*\*/\s*$", re.MULTILINE)
_BODY_OPENING = re.compile(r"(?:\s*(?:=>|[{:;=]|\bwhere))+\s*$")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_PARAMETER_PREFIXES = {
    "splat_parameter": "*",
    "hash_splat_parameter": "**",
    "block_parameter": "&",
    "variadic_parameter": "...",
}
_UNNAMED_PARAMETER_NODES = frozenset(
    {"array_type", "identifier", "attribute_list", "nullable_type", "predefined_type", "generic_name"}
)
_MARKUP_TAG = re.compile(r"</?\w+[^<>]*>")


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


def node_text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def collapse_whitespace(text: str) -> str:
    return " ".join(text.split())


def normalize_dotted_name(name: str) -> str:
    """Turn `a::b`, `a->b` and `a?.b` into `a.b`, without type arguments."""
    plain = _NAME_SEPARATOR.sub(".", name)
    while (shorter := _TYPE_ARGUMENTS.sub("", plain)) != plain:
        plain = shorter
    return collapse_whitespace(plain).replace(" ", "").strip(".")


def read_container_name(node: Node) -> str:
    return normalize_dotted_name(
        node_text(node.child_by_field_name("name") or node.child_by_field_name("type"))
    )


def parse_function(node: Node, language: Language) -> Declaration | None:
    """Return the named function that this node declares, or None."""
    definition = node
    if node.type in _BINDING_NODES:
        value = node.child_by_field_name("value") or node.child_by_field_name("right")
        if value is None or value.type not in _FUNCTION_VALUE_NODES:
            return None
        definition = value
    name = _read_name(node)
    declarator = _find_function_declarator(definition) if language.name in ("c", "cpp") else None
    if not name or (language.name in ("c", "cpp") and declarator is None):
        return None
    body = definition.child_by_field_name("body")
    parameter_list = (declarator or definition).child_by_field_name(
        "parameters"
    ) or definition.child_by_field_name("parameter")
    doc, doc_range = _read_documentation(node, body, language)
    return Declaration(
        name,
        node,
        body,
        _read_parameters(parameter_list),
        _read_return_type(definition),
        _read_signature(node, body or node.child_by_field_name("value")),
        doc,
        doc_range,
    )


def parse_class(node: Node, language: Language) -> Declaration | None:
    """Return the class, struct, interface or the like that this node declares, or None."""
    name = read_container_name(node)
    body = node.child_by_field_name("body")
    if language.name == "go":
        body = node.child_by_field_name("type")
        if body is None or body.type not in ("struct_type", "interface_type"):
            return None
    if not name or (body is None and language.name in ("c", "cpp")):
        return None
    doc, doc_range = _read_documentation(node, body, language)
    return Declaration(name, node, body, [], "", _read_signature(node, body), doc, doc_range)


def _read_name(node: Node) -> str:
    if node.type == "function_definition" and (declarator := _find_function_declarator(node)):
        return normalize_dotted_name(node_text(declarator.child_by_field_name("declarator")))
    name_node = next(
        (
            child
            for field in ("name", "property", "key", "left")
            if (child := node.child_by_field_name(field))
        ),
        None,
    )
    name = _EXPORT_PREFIX.sub("", normalize_dotted_name(node_text(name_node)).strip("\"'"))
    if node.type == "operator_declaration":
        name = f"operator{node_text(node.child_by_field_name('operator'))}"
    receiver = node.child_by_field_name("receiver")
    return f"{_read_receiver_type(receiver)}.{name}" if receiver and name else name


def _read_receiver_type(node: Node) -> str:
    """Return the type of a Go receiver: `(s *Server)` gives `Server`."""
    return re.sub(r"\[.*", "", collapse_whitespace(node_text(node)).strip("()")).split(" ")[-1].lstrip("*")


def _find_function_declarator(node: Node) -> Node | None:
    declarator = node.child_by_field_name("declarator")
    for _ in range(_MAX_DECLARATOR_DEPTH):
        if declarator is None or declarator.type == "function_declarator":
            return declarator
        declarator = declarator.child_by_field_name("declarator") or next(
            iter(declarator.named_children), None
        )
    return None


def _read_signature(node: Node, body: Node | None) -> str:
    """Return the text before the body, without decorators, comments and the token that opens the body."""
    start = next(
        (child.start_byte for child in node.children if child.type not in _DECORATION_NODES), node.start_byte
    )
    end = body.start_byte if body else node.end_byte
    end = min([end, *(child.start_byte for child in node.children if child.type in COMMENT_NODES)])
    source = node.text or b""
    signature = collapse_whitespace(
        source[start - node.start_byte : end - node.start_byte].decode("utf-8", "replace")
    )
    if node.type == "type_spec" and body:
        signature = f"type {signature} {body.type.removesuffix('_type')}"
    return _BODY_OPENING.sub("", _LEADING_ANNOTATIONS.sub("", signature))[:_MAX_SIGNATURE_CHARACTERS]


def _read_return_type(node: Node) -> str:
    for field in ("return_type", "result", "returns", "type"):
        return_type = node.child_by_field_name(field)
        if return_type is not None:
            return collapse_whitespace(node_text(return_type)).lstrip(":").strip()[
                :200
            ] + _read_pointer_stars(node)
    return ""


def _read_pointer_stars(node: Node) -> str:
    """Return the stars of a C return type, which the grammar attaches to the name."""
    declarator, stars = node.child_by_field_name("declarator"), ""
    while declarator is not None and declarator.type == "pointer_declarator":
        declarator, stars = declarator.child_by_field_name("declarator"), stars + "*"
    return f" {stars}" if stars else ""


def _read_parameters(parameter_list: Node | None) -> list[dict[str, Any]]:
    if parameter_list is None:
        return []
    if parameter_list.type == "identifier":
        return [{"name": node_text(parameter_list)}]
    parameters = [
        parameter for child in parameter_list.named_children for parameter in _read_parameter(child)
    ]
    # In C# a final `params` parameter is attached to the list itself.
    if rest := parameter_list.child_by_field_name("name"):
        parameters.append(
            {
                "name": node_text(rest),
                "type": f"params {node_text(parameter_list.child_by_field_name('type'))}",
            }
        )
    return parameters[:50]


def _read_parameter(node: Node) -> Iterator[dict[str, Any]]:
    if node.type in COMMENT_NODES or (
        node.parent and node.parent.type == "parameter_list" and node.type in _UNNAMED_PARAMETER_NODES
    ):
        return
    if node.child_by_field_name("declarator") or node.type == "spread_parameter":
        yield _read_declared_parameter(node)
        return
    prefix = _PARAMETER_PREFIXES.get(node.type, "")
    kind, default = node.child_by_field_name("type"), _read_default(node)
    for name in node.children_by_field_name("name") or [_find_parameter_name(node)]:
        parameter = {"name": (prefix + collapse_whitespace(node_text(name)).removeprefix(prefix))[:100]}
        if kind is not None:
            spread = "..." if node.type == "variadic_parameter_declaration" else ""
            parameter["type"] = spread + collapse_whitespace(node_text(kind)).lstrip(":").strip()[:200]
        if default:
            parameter["default"] = default
        yield parameter


def _read_default(node: Node) -> str:
    value = node.child_by_field_name("value") or node.child_by_field_name("default_value")
    if value is None:
        signs = [index for index, child in enumerate(node.children) if child.type == "="]
        value = node.children[signs[0] + 1] if signs and signs[0] + 1 < node.child_count else None
    return collapse_whitespace(node_text(value))[:100]


def _read_declared_parameter(node: Node) -> dict[str, Any]:
    """Read a parameter whose name is inside its type, as in `const char *name[3]`."""
    declaration, _, default = collapse_whitespace(node_text(node)).partition("=")
    declarator = node.child_by_field_name("declarator") or node.named_children[-1]
    match = _IDENTIFIER.search(node_text(declarator))
    name = match[0] if match else ""
    before, _, after = declaration.rpartition(name) if name else (declaration, "", "")
    kind = collapse_whitespace(f"{before}{after}")
    parameter = {"name": name or declaration, "type": kind[:200]}
    return parameter | ({"default": default.strip()[:100]} if default else {})


def _find_parameter_name(node: Node) -> Node:
    name_node = node.child_by_field_name("pattern") or node.child_by_field_name("left")
    if name_node is not None:
        return name_node
    return node.named_children[0] if node.type == "typed_parameter" else node


def _read_documentation(node: Node, body: Node | None, language: Language) -> tuple[str, tuple[int, int]]:
    if language.name == "python":
        return _read_docstring(body)
    return _read_comments_above(node), (0, 0)


def _read_docstring(body: Node | None) -> tuple[str, tuple[int, int]]:
    first = (
        next((child for child in body.named_children if child.type not in COMMENT_NODES), None)
        if body
        else None
    )
    if first is not None and first.type == "expression_statement" and first.named_children:
        first = first.named_children[0]
    if first is None or first.type != "string":
        return "", (0, 0)
    content = node_text(first).lstrip("rRuUbB").strip("\"'")
    return _trim_doc(content), first.byte_range


def _read_comments_above(node: Node) -> str:
    """Return the comments that end on the line above the declaration and its wrappers."""
    while node.parent is not None and node.parent.type in _WRAPPER_NODES:
        node = node.parent
    previous, row = _previous_sibling(node), node.start_point.row
    comments: list[str] = []
    while previous is not None and previous.end_point.row + 1 >= row - (previous.end_point.column == 0):
        if previous.type in COMMENT_NODES:
            comments.append(node_text(previous))
        elif previous.type not in _DECORATION_NODES:
            break
        row, previous = previous.start_point.row, previous.prev_sibling
    return _trim_doc(
        _MARKUP_TAG.sub("", "\n".join(_COMMENT_MARKERS.sub("", comment) for comment in reversed(comments)))
    )


def _previous_sibling(node: Node) -> Node | None:
    """Return the previous sibling; Ruby's grammar puts the first method's comment before the class body."""
    if node.prev_sibling is None and node.parent is not None and node.parent.type == "body_statement":
        return node.parent.prev_sibling
    return node.prev_sibling


def _trim_doc(doc: str) -> str:
    return "\n".join(line.strip() for line in doc.strip().splitlines())[:_MAX_DOC_CHARACTERS]
