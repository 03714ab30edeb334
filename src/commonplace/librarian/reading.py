"""One walk over a file's syntax tree that finds what it declares and what each declaration does."""

import hashlib
import re
from dataclasses import dataclass, field

from tree_sitter import Node

from commonplace import masking
from commonplace.librarian import declaration, effects, language
from commonplace.librarian.declaration import COMMENTS, Declaration, dotted, text
from commonplace.librarian.function import CODE_LENGTH, Function
from commonplace.librarian.language import Language

_words = str.split
_DECISIONS = frozenset(
    _words(
        "if_statement elif_clause if_expression if_modifier unless unless_modifier elsif for_statement for_expression"
        " for_in_statement enhanced_for_statement foreach_statement for_range_loop while_statement while_expression"
        " while_modifier until until_modifier loop_expression do_statement except_clause catch_clause rescue"
        " case_clause switch_case case_statement switch_block_statement_group switch_rule switch_section"
        " switch_expression_arm expression_case type_case communication_case match_arm when in_clause"
        " conditional_expression ternary_expression conditional if_clause for_in_clause else_if_clause"
        " match_conditional_expression if while for"
    )
)
_JUNCTIONS = frozenset({"&&", "||", "and", "or", "??"})
_CALLS: dict[str, tuple[str, ...]] = {
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
_RAISES = frozenset({"raise_statement", "throw_statement", "throw_expression", "throws"})
_PANICS = frozenset({"panic", "panic!"})
_GLOBALS = frozenset({"global_statement", "nonlocal_statement", "global_declaration"})
_PLAIN = re.compile(r"[\w.$@!?~#]+")
_LAST = re.compile(r"[\w$!?]+$")
_RAISED = re.compile(r"(?:new\s+)?\\?([A-Za-z_][\w.:\\]*)")
_MOST = 60
_CLASS_CODE = 2000


@dataclass(slots=True)
class _Open:
    """A declaration whose body is being walked."""

    found: Declaration
    name: str
    kind: str
    recorded: bool
    start: int
    end: int
    tokens: list[bytes] = field(default_factory=list)
    complexity: int = 1
    calls: dict[str, None] = field(default_factory=dict)
    raises: dict[str, None] = field(default_factory=dict)
    effects: set[str] = field(default_factory=set)


class Reader:
    """Reads one file."""

    def __init__(self, file: str, source: bytes, spoken: Language) -> None:
        self._file, self._source, self._language = file, source, spoken
        self._scope: list[str] = []
        self._open: list[_Open] = []
        self._names: dict[str, int] = {}
        self.functions: list[Function] = []

    def read(self) -> list[Function]:
        # A stack of our own: generated code nests deeper than the interpreter allows calls to.
        tree = language.parser(self._language).parse(self._source)
        waiting: list[Node | str] = [tree.root_node]
        while waiting:
            node = waiting.pop()
            if isinstance(node, str):
                self._close(node)
                continue
            if node.type in COMMENTS:
                continue
            self._note(node)
            if end := self._enter(node):
                waiting.append(end)
            waiting.extend(reversed(node.children))
        return self.functions

    def _enter(self, node: Node) -> str:
        """Open what the node declares; what to do when it has been walked."""
        spoken = self._language
        if node.type in spoken.functions and node.is_named:
            found = declaration.function(node, spoken)
            kind = "method" if self._open and self._open[-1].kind == "class" else "function"
        elif node.type in spoken.classes and node.is_named:
            found, kind = declaration.class_(node, spoken), "class"
        elif node.type in spoken.containers and node.child_by_field_name("body"):
            self._scope.append(declaration.container_name(node))
            return "container"
        else:
            return ""
        if found is None:
            return ""
        self._begin(found, "method" if kind == "function" and self._in_type(found) else kind)
        return "declaration"

    def _in_type(self, found: Declaration) -> bool:
        return "." in found.name or (self._language.name == "rust" and bool(self._scope))

    def _begin(self, found: Declaration, kind: str) -> None:
        self._scope.append(found.name)
        name = ".".join(self._scope)
        # What is local to a function cannot be called from elsewhere: it belongs to that function.
        local = any(each.kind != "class" for each in self._open)
        start, end = found.body.byte_range if found.body else (found.node.end_byte, found.node.end_byte)
        self._open.append(_Open(found, name, kind, not local, start, end))

    def _close(self, what: str) -> None:
        self._scope.pop()
        if what == "declaration":
            ended = self._open.pop()
            if ended.recorded:
                self.functions.append(self._function(ended))

    def _note(self, node: Node) -> None:
        """What the node tells about the declarations that it stands in."""
        if not self._open:
            return
        kind = node.type
        if not node.child_count:
            self._note_token(node, kind)
        elif kind in _DECISIONS and node.is_named:
            for each in self._around(node):
                each.complexity += 1
        elif kind in _CALLS:
            self._note_call(node)
        elif kind in _RAISES:
            self._note_raise(node)
        elif kind in _GLOBALS:
            for each in self._around(node):
                each.effects.add("global state")

    def _around(self, node: Node) -> list[_Open]:
        """The functions whose body holds the node; a class only if no method of it does."""
        at, innermost = node.start_byte, self._open[-1]
        return [
            each
            for each in self._open
            if each.start <= at < each.end and (each.kind != "class" or each is innermost)
        ]

    def _note_token(self, node: Node, kind: str) -> None:
        token = self._source[node.start_byte : node.end_byte]
        for each in self._around(node):
            first, last = each.found.doc_range
            if not first <= node.start_byte < last:
                each.tokens.append(token)
            if kind in _JUNCTIONS and not node.is_named:
                each.complexity += 1
            if token in effects.ENVIRONMENT_TOKENS:
                each.effects.add("environment")
            if kind == "global_variable":
                each.effects.add("global state")

    def _note_call(self, node: Node) -> None:
        name = _callee(node)
        if not name:
            return
        for each in self._around(node):
            if name == "raise" and self._language.name == "ruby":
                each.raises[_raised(text(node.child_by_field_name("arguments")))] = None
            elif name in _PANICS:
                each.raises[name] = None
            else:
                each.calls[name] = None

    def _note_raise(self, node: Node) -> None:
        if node.type == "throws":
            found = [text(child) for child in node.named_children]
            for each in self._open[-1:]:
                each.raises.update(dict.fromkeys(map(dotted, found)))
            return
        for each in self._around(node):
            each.raises[_raised(text(next(iter(node.named_children), None)))] = None

    def _function(self, ended: _Open) -> Function:
        found, node = ended.found, ended.found.node
        return Function(
            self._file,
            self._unique(ended.name),
            ended.kind,
            self._language.name,
            node.start_point.row + 1,
            node.end_point.row + 1,
            found.signature,
            hashlib.blake2b(b"\0".join(ended.tokens), digest_size=12).hexdigest() if ended.tokens else "",
            ended.complexity,
            found.returns if ended.kind != "class" else "",
            found.doc,
            found.parameters,
            [name for name in ended.raises if name][:_MOST],
            list(ended.calls)[:_MOST],
            [],
            self._effects(ended),
            self._code(node, ended.kind),
        )

    def _effects(self, ended: _Open) -> list[str]:
        found = ended.effects | effects.of_calls(ended.calls)
        if "process.env" in text(ended.found.body) and self._language.name in (
            "javascript",
            "typescript",
            "tsx",
        ):
            found.add("environment")
        return [effect for effect in effects.ORDER if effect in found]

    def _code(self, node: Node, kind: str) -> str:
        most = _CLASS_CODE if kind == "class" else CODE_LENGTH
        code = self._source[node.start_byte : node.start_byte + most].decode("utf-8", "replace")
        return masking.masked(code[: node.end_byte - node.start_byte].replace("\0", "")).text

    def _unique(self, name: str) -> str:
        """Overloads of one name are told apart by their order."""
        self._names[name] = self._names.get(name, 0) + 1
        return name if self._names[name] == 1 else f"{name}#{self._names[name]}"


def _callee(node: Node) -> str:
    fields = [child for each in _CALLS[node.type] if (child := node.child_by_field_name(each))]
    if not fields and node.type in ("object_creation_expression", "new_expression"):
        fields = node.named_children[:1]
    name = dotted(".".join(text(each) for each in fields)).replace("$", "")
    if node.type == "macro_invocation":
        name += "!"
    if _PLAIN.fullmatch(name) and len(name) <= _MOST:
        return name
    last = _LAST.search(name)
    return last[0][:_MOST] if last else ""


def _raised(expression: str) -> str:
    found = _RAISED.match(expression.strip("() \t\n"))
    return dotted(found[1])[:_MOST] if found else ""


def read(file: str, source: bytes) -> list[Function]:
    """Everything that the file declares, in no particular order; nothing for a language that is not known."""
    spoken = language.of_file(file)
    return Reader(file, source, spoken).read() if spoken else []
