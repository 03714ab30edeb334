"""Extract the functions and classes of one file in one walk over its syntax tree.

Reading a single declaration is in `declaration.py`; which nodes declare something is in `language.py`.
"""

import hashlib
import re
from dataclasses import dataclass, field

from tree_sitter import Node

from commonplace import masking
from commonplace.librarian import declaration, effects, language
from commonplace.librarian.declaration import COMMENT_NODES, Declaration, node_text, normalize_dotted_name
from commonplace.librarian.function import MAX_CODE_CHARACTERS, SourceFunction
from commonplace.librarian.language import Language

_split_words = str.split
_BRANCH_NODES = frozenset(
    _split_words(
        "if_statement elif_clause if_expression if_modifier unless unless_modifier elsif for_statement for_expression"
        " for_in_statement enhanced_for_statement foreach_statement for_range_loop while_statement while_expression"
        " while_modifier until until_modifier loop_expression do_statement except_clause catch_clause rescue"
        " case_clause switch_case case_statement switch_block_statement_group switch_rule switch_section"
        " switch_expression_arm expression_case type_case communication_case match_arm when in_clause"
        " conditional_expression ternary_expression conditional if_clause for_in_clause else_if_clause"
        " match_conditional_expression if while for"
    )
)
_LOGICAL_OPERATORS = frozenset({"&&", "||", "and", "or", "??"})
_CALLEE_FIELDS: dict[str, tuple[str, ...]] = {
    "call": ("function", "receiver", "method"),
    "call_expression": ("function",),
    "method_invocation": ("object", "name"),
    "object_creation_expression": ("type",),
    "new_expression": ("constructor", "type"),
    "invocation_expression": ("function",),
    "function_call_expression": ("function",),
    "member_call_expression": ("object", "name"),
    "nullsafe_member_call_expression": ("object", "name"),
    "scoped_call_expression": ("scope", "name"),
    "macro_invocation": ("macro",),
}
_RAISE_NODES = frozenset({"raise_statement", "throw_statement", "throw_expression", "throws"})
_PANIC_CALLS = frozenset({"panic", "panic!"})
_GLOBAL_NODES = frozenset({"global_statement", "nonlocal_statement", "global_declaration"})
_PLAIN_CALLEE = re.compile(r"[\w.$@!?~#]+")
_LAST_NAME = re.compile(r"[\w$!?]+$")
_RAISED_NAME = re.compile(r"(?:new\s+)?\\?([A-Za-z_][\w.:\\]*)")
_MAX_NAMES = 60
_MAX_CLASS_CODE_CHARACTERS = 2000


@dataclass(slots=True)
class _OpenDeclaration:
    """A declaration whose body is being walked."""

    declared: Declaration
    name: str
    kind: str
    is_recorded: bool
    start: int
    end: int
    tokens: list[bytes] = field(default_factory=list)
    complexity: int = 1
    calls: dict[str, None] = field(default_factory=dict)
    raises: dict[str, None] = field(default_factory=dict)
    effects: set[str] = field(default_factory=set)


class FunctionExtractor:
    """Extracts the declarations of one file."""

    def __init__(self, file: str, source: bytes, source_language: Language) -> None:
        self._file, self._source, self._language = file, source, source_language
        self._scope: list[str] = []
        self._open: list[_OpenDeclaration] = []
        self._names: dict[str, int] = {}
        self.functions: list[SourceFunction] = []

    def extract_functions(self) -> list[SourceFunction]:
        # An explicit stack, because generated code nests deeper than the recursion limit.
        tree = language.load_parser(self._language).parse(self._source)
        pending: list[Node | str] = [tree.root_node]
        while pending:
            node = pending.pop()
            if isinstance(node, str):
                self._leave_node(node)
                continue
            if node.type in COMMENT_NODES:
                continue
            self._record_node(node)
            if end := self._enter_node(node):
                pending.append(end)
            pending.extend(reversed(node.children))
        return self.functions

    def _enter_node(self, node: Node) -> str:
        """Open what the node declares; return the marker that closes it after the walk, or ""."""
        source_language = self._language
        if node.type in source_language.functions and node.is_named:
            declared = declaration.parse_function(node, source_language)
            kind = "method" if self._open and self._open[-1].kind == "class" else "function"
        elif node.type in source_language.classes and node.is_named:
            declared, kind = declaration.parse_class(node, source_language), "class"
        elif node.type in source_language.containers and node.child_by_field_name("body"):
            self._scope.append(declaration.read_container_name(node))
            return "container"
        else:
            return ""
        if declared is None:
            return ""
        self._open_declaration(
            declared, "method" if kind == "function" and self._is_in_type(declared) else kind
        )
        return "declaration"

    def _is_in_type(self, declared: Declaration) -> bool:
        return "." in declared.name or (self._language.name == "rust" and bool(self._scope))

    def _open_declaration(self, declared: Declaration, kind: str) -> None:
        self._scope.append(declared.name)
        name = ".".join(self._scope)
        # A local function cannot be called from elsewhere: it counts as part of the outer function.
        is_local = any(outer.kind != "class" for outer in self._open)
        start, end = (
            declared.body.byte_range if declared.body else (declared.node.end_byte, declared.node.end_byte)
        )
        self._open.append(_OpenDeclaration(declared, name, kind, not is_local, start, end))

    def _leave_node(self, kind: str) -> None:
        self._scope.pop()
        if kind == "declaration":
            closed = self._open.pop()
            if closed.is_recorded:
                self.functions.append(self._build_function(closed))

    def _record_node(self, node: Node) -> None:
        """Record what the node says about the declarations that contain it."""
        if not self._open:
            return
        kind = node.type
        if not node.child_count:
            self._record_token(node, kind)
        elif kind in _BRANCH_NODES and node.is_named:
            for outer in self._enclosing_declarations(node):
                outer.complexity += 1
        elif kind in _CALLEE_FIELDS:
            self._record_call(node)
        elif kind in _RAISE_NODES:
            self._record_raise(node)
        elif kind in _GLOBAL_NODES:
            for outer in self._enclosing_declarations(node):
                outer.effects.add("global state")

    def _enclosing_declarations(self, node: Node) -> list[_OpenDeclaration]:
        """Return the functions whose body contains the node; a class only if no method of it does."""
        position, innermost = node.start_byte, self._open[-1]
        return [
            outer
            for outer in self._open
            if outer.start <= position < outer.end and (outer.kind != "class" or outer is innermost)
        ]

    def _record_token(self, node: Node, kind: str) -> None:
        token = self._source[node.start_byte : node.end_byte]
        for outer in self._enclosing_declarations(node):
            first, last = outer.declared.doc_range
            if not first <= node.start_byte < last:
                outer.tokens.append(token)
            if kind in _LOGICAL_OPERATORS and not node.is_named:
                outer.complexity += 1
            if token in effects.ENVIRONMENT_TOKENS:
                outer.effects.add("environment")
            if kind == "global_variable":
                outer.effects.add("global state")

    def _record_call(self, node: Node) -> None:
        name = _read_callee(node)
        if not name:
            return
        for outer in self._enclosing_declarations(node):
            if name == "raise" and self._language.name == "ruby":
                outer.raises[_read_raised_name(node_text(node.child_by_field_name("arguments")))] = None
            elif name in _PANIC_CALLS:
                outer.raises[name] = None
            else:
                outer.calls[name] = None

    def _record_raise(self, node: Node) -> None:
        if node.type == "throws":
            raised = [node_text(child) for child in node.named_children]
            for outer in self._open[-1:]:
                outer.raises.update(dict.fromkeys(map(normalize_dotted_name, raised)))
            return
        for outer in self._enclosing_declarations(node):
            outer.raises[_read_raised_name(node_text(next(iter(node.named_children), None)))] = None

    def _build_function(self, closed: _OpenDeclaration) -> SourceFunction:
        declared, node = closed.declared, closed.declared.node
        return SourceFunction(
            self._file,
            self._make_unique_name(closed.name),
            closed.kind,
            self._language.name,
            node.start_point.row + 1,
            node.end_point.row + 1,
            declared.signature,
            hashlib.blake2b(b"\0".join(closed.tokens), digest_size=12).hexdigest() if closed.tokens else "",
            closed.complexity,
            declared.returns if closed.kind != "class" else "",
            declared.doc,
            declared.parameters,
            [name for name in closed.raises if name][:_MAX_NAMES],
            list(closed.calls)[:_MAX_NAMES],
            [],
            self._list_effects(closed),
            self._read_code(node, closed.kind),
        )

    def _list_effects(self, closed: _OpenDeclaration) -> list[str]:
        inferred = closed.effects | effects.infer_effects(closed.calls)
        if "process.env" in node_text(closed.declared.body) and self._language.name in (
            "javascript",
            "typescript",
            "tsx",
        ):
            inferred.add("environment")
        return [effect for effect in effects.EFFECT_ORDER if effect in inferred]

    def _read_code(self, node: Node, kind: str) -> str:
        max_characters = _MAX_CLASS_CODE_CHARACTERS if kind == "class" else MAX_CODE_CHARACTERS
        code = self._source[node.start_byte : node.start_byte + max_characters].decode("utf-8", "replace")
        return masking.mask_secrets(code[: node.end_byte - node.start_byte].replace("\0", "")).text

    def _make_unique_name(self, name: str) -> str:
        """Number overloads of one name by their order."""
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name}#{self._names[name]}"


def _read_callee(node: Node) -> str:
    fields = [
        child for field_name in _CALLEE_FIELDS[node.type] if (child := node.child_by_field_name(field_name))
    ]
    if not fields and node.type in ("object_creation_expression", "new_expression"):
        fields = node.named_children[:1]
    name = normalize_dotted_name(".".join(node_text(child) for child in fields)).replace("$", "")
    if node.type == "macro_invocation":
        name += "!"
    if _PLAIN_CALLEE.fullmatch(name) and len(name) <= _MAX_NAMES:
        return name
    last = _LAST_NAME.search(name)
    return last[0][:_MAX_NAMES] if last else ""


def _read_raised_name(expression: str) -> str:
    match = _RAISED_NAME.match(expression.strip("() \t\n"))
    return normalize_dotted_name(match[1])[:_MAX_NAMES] if match else ""


def extract_functions(file: str, source: bytes) -> list[SourceFunction]:
    """Return everything that the file declares, unordered; an empty list for an unsupported language."""
    source_language = language.language_of_file(file)
    return FunctionExtractor(file, source, source_language).extract_functions() if source_language else []
