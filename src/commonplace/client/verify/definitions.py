"""Finds where a file defines a name: by its syntax if the language is known, else by its lines (`outlines.py`)."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from tree_sitter import Node

from commonplace.client.verify import outlines
from commonplace.librarian import declaration, language
from commonplace.librarian.declaration import node_text, normalize_dotted_name
from commonplace.librarian.language import Language
from commonplace.librarian.source_tree import MAX_SOURCE_BYTES

_words = str.split
# Node types that declare a name, in addition to the functions and classes that the librarian records.
_DECLARING_TYPES = frozenset(
    _words(
        "assignment assignment_expression type_alias_statement variable_declarator pair public_field_definition"
        " field_definition type_alias_declaration enum_declaration enum_assignment enum_body module function_signature"
        " method_signature abstract_method_signature property_signature type_alias const_spec var_spec method_elem"
        " field_declaration function_signature_item const_item static_item type_item associated_type macro_definition"
        " enum_variant enum_constant annotation_type_declaration annotation_type_element_declaration"
        " property_declaration delegate_declaration event_declaration enum_member_declaration local_function_statement"
        " namespace_declaration declaration type_definition union_specifier enum_specifier enumerator"
        " namespace_definition alias_declaration concept_definition preproc_def preproc_function_def const_element"
        " property_element property_promotion_parameter enum_case"
    )
)
_ONLY_WITH_BODY = frozenset(_words("struct_specifier union_specifier enum_specifier class_specifier"))
_PATTERN_TYPES = frozenset(
    _words("pattern_list tuple_pattern object_pattern array_pattern left_assignment_list")
)
_WRAPPER_TYPES = frozenset(
    _words(
        "decorated_definition template_declaration lexical_declaration variable_declaration field_declaration"
        " event_field_declaration"
    )
)
_NAME_FIELDS = ("name", "property", "key", "left")
_RUBY_MAKERS = frozenset(_words("attr_reader attr_writer attr_accessor define_method"))
_SELF_NAMES = frozenset(_words("crate self this module exports super"))
_ARGUMENTS = re.compile(r"(?<=[\w?!])\([^()]*\)$")
_DECORATION = re.compile(r"[()*$\"'`]")
_MAX_DEPTH = 8
_MAX_OUTLINES = 50


@dataclass(frozen=True, slots=True)
class Definition:
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class DefinitionSearch:
    """`certain` is False if the name occurs in a file whose syntax is not understood."""

    definitions: Sequence[Definition]
    certain: bool = True


@dataclass(frozen=True, slots=True)
class _ScopedName:
    """A name with its scopes. Pairs of object literals rank below declarations."""

    scope: tuple[str, ...]
    is_pair: bool


def find_definitions(path: str, source: bytes, symbol: str) -> DefinitionSearch:
    """The definitions, most likely first; several of one name, such as overloads, are one definition."""
    names = _split_symbol(symbol)
    if not names:
        return DefinitionSearch(())
    grammar, content = language.language_of_file(path), source.decode("utf-8", "replace")
    if grammar is not None and len(source) <= MAX_SOURCE_BYTES:
        tree = language.load_parser(grammar).parse(source)
        definitions = _list_matches(
            _walk_declarations(tree.root_node, source, grammar, names[-1]), names, path
        )
        if definitions or not tree.root_node.has_error:
            return DefinitionSearch(definitions)
    outlined = [
        Definition(*outline)
        for outline in islice(outlines.find_outlines(path, content, symbol, names[-1]), _MAX_OUTLINES)
    ]
    return DefinitionSearch(outlined, certain=bool(outlined) or names[-1] not in content)


def _split_symbol(symbol: str) -> tuple[str, ...]:
    """The names in `Class::method(int)`, `(*Server).Handle` or `Class#method`."""
    plain = _DECORATION.sub("", _ARGUMENTS.sub("", symbol)).replace("#", ".")
    return tuple(part for part in normalize_dotted_name(plain).split(".") if part)


def _list_matches(
    declared: Iterator[tuple[_ScopedName, Node]], names: tuple[str, ...], path: str
) -> list[Definition]:
    groups: dict[_ScopedName, list[Node]] = {}
    file_names = _SELF_NAMES | set(PurePosixPath(path).with_suffix("").parts)
    for named, node in declared:
        if named.scope[-1] == names[-1] and _is_in_scope(names[:-1], named.scope[:-1], file_names):
            groups.setdefault(named, []).append(_include_decorators(node))
    ranked = sorted(groups, key=lambda named: (named.is_pair, len(named.scope)))
    return [_join_nodes(groups[named]) for named in ranked]


def _is_in_scope(cited: tuple[str, ...], scope: tuple[str, ...], file_names: frozenset[str]) -> bool:
    """Whether the cited scopes occur in order; leading ones may name the file, as packages and modules do."""
    while cited and cited[0] in file_names and cited[0] not in scope:
        cited = cited[1:]
    rest = iter(scope)
    return all(name in rest for name in cited)


def _join_nodes(nodes: Sequence[Node]) -> Definition:
    return Definition(nodes[0].start_point.row + 1, "\n".join(node_text(node) for node in nodes))


def _walk_declarations(
    root: Node, source: bytes, grammar: Language, name: str
) -> Iterator[tuple[_ScopedName, Node]]:
    """Every node that may declare the name; only subtrees that contain the name are walked."""
    occurrences = [match.start() for match in re.finditer(re.escape(name.encode()), source)]
    declaring = _DECLARING_TYPES | grammar.functions | grammar.classes | grammar.containers
    waiting: list[tuple[Node, tuple[str, ...]]] = [(root, ())]
    while waiting:
        node, scope = waiting.pop()
        own = _declared_names(node, grammar) if node.type in declaring or node.type == "call" else []
        for names in own:
            yield _ScopedName((*scope, *names), node.type == "pair"), node
        inside = (*scope, *own[0]) if len(own) == 1 else scope
        held = [child for child in node.children if _contains_occurrence(child, occurrences)]
        waiting.extend((child, inside) for child in reversed(held))


def _contains_occurrence(node: Node, occurrences: list[int]) -> bool:
    at = bisect_left(occurrences, node.start_byte)
    return at < len(occurrences) and occurrences[at] < node.end_byte


def _declared_names(node: Node, grammar: Language) -> list[tuple[str, ...]]:
    """The names that a node declares, usually one."""
    if not node.is_named or (node.type in _ONLY_WITH_BODY and node.child_by_field_name("body") is None):
        return []
    if node.type == "call":
        return [_split_symbol(node_text(symbol).lstrip(":")) for symbol in _accessor_symbols(node)]
    if node.type in grammar.containers:
        return [_split_symbol(declaration.read_container_name(node))]
    if node.child_by_field_name("receiver") and (method := declaration.parse_function(node, grammar)):
        return [_split_symbol(method.name)]
    return [names for child in _naming_nodes(node) if (names := _split_symbol(node_text(child)))]


def _accessor_symbols(call: Node) -> Sequence[Node]:
    """The symbols of a Ruby call that defines accessors."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None or node_text(call.child_by_field_name("method")) not in _RUBY_MAKERS:
        return ()
    return [argument for argument in arguments.named_children if argument.type == "simple_symbol"]


def _naming_nodes(node: Node) -> Sequence[Node]:
    declarators = [_innermost_declarator(child) for child in node.children_by_field_name("declarator")]
    if declarators:
        return [declarator for declarator in declarators if declarator.type != "variable_declarator"]
    if node.type == "const_element":
        return node.named_children[:1]
    names = next((nodes for field in _NAME_FIELDS if (nodes := node.children_by_field_name(field))), [])
    if names and names[0].type in _PATTERN_TYPES:
        return names[0].named_children
    return names


def _innermost_declarator(declarator: Node) -> Node:
    """In C the name is inside its type: `*name(int)`, `(*name)[3]`."""
    for _ in range(_MAX_DEPTH):
        if not declarator.type.endswith("_declarator") or declarator.type == "variable_declarator":
            break
        inner = declarator.child_by_field_name("declarator") or next(iter(declarator.named_children), None)
        if inner is None:
            break
        declarator = inner
    return declarator


def _include_decorators(node: Node) -> Node:
    """The node with its decorators, modifiers and type, unless they also belong to siblings."""
    while (
        (around := node.parent) is not None
        and around.type in _WRAPPER_TYPES
        and sum(child.type == node.type for child in around.children) == 1
    ):
        node = around
    return node
