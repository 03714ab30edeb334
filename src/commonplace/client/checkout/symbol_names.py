"""The names of the functions and classes that contain some lines, and the lines of a symbol."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node

from commonplace.file_region import MAX_SYMBOLS, LineSpan
from commonplace.librarian import declaration, language
from commonplace.librarian.language import Language

_MAX_SOURCE_CHARACTERS = 500_000
_MAX_NAME_CHARACTERS = 60


class SymbolLines(NamedTuple):
    name: str
    first: int
    last: int


def name_spans(path: str, text: str, spans: Sequence[LineSpan]) -> tuple[str, ...]:
    """The innermost symbol around each span; empty if one is outside of all, or the language is not known."""
    symbols = list(list_symbols(path, text))
    names = [_find_around(symbols, span) for span in spans] if symbols else [""]
    distinct = tuple(dict.fromkeys(names))
    return distinct if all(distinct) and len(distinct) <= MAX_SYMBOLS else ()


def find_symbol(path: str, text: str, name: str) -> LineSpan | None:
    """All lines of the one symbol of this name; the last part of its name is enough."""
    found = [symbol for symbol in list_symbols(path, text) if symbol.name == name]
    found = found or [symbol for symbol in list_symbols(path, text) if symbol.name.endswith(f".{name}")]
    spans = {LineSpan.of_lines(symbol.first, symbol.last) for symbol in found}
    return spans.pop() if len(spans) == 1 else None


def list_symbols(path: str, text: str) -> Iterator[SymbolLines]:
    """The functions and classes of a file, outer ones before those in them."""
    if len(text) > _MAX_SOURCE_CHARACTERS:
        return
    grammar = language.language_of_file(path)
    if grammar is None:
        return
    root = language.load_parser(grammar).parse(text.encode("utf-8", "replace")).root_node
    named = grammar.functions | grammar.classes | grammar.containers
    waiting = [(root, "")]
    while waiting:
        node, scope = waiting.pop()
        if node.type in named and (own := _read_name(node, grammar)):
            scope = f"{scope}.{own}" if scope else own
            around = node.parent if node.parent and node.parent.type == "decorated_definition" else node
            yield SymbolLines(scope, around.start_point.row + 1, around.end_point.row + 1)
        waiting.extend((child, scope) for child in reversed(node.named_children))


def _read_name(node: Node, grammar: Language) -> str:
    if node.type in grammar.containers:
        name = declaration.read_container_name(node)
    else:
        parse = declaration.parse_function if node.type in grammar.functions else declaration.parse_class
        declared = parse(node, grammar)
        name = declared.name if declared else ""
    is_plain = all(part.replace("$", "_").isidentifier() for part in name.split("."))
    return name if is_plain and name.isascii() and len(name) <= _MAX_NAME_CHARACTERS else ""


def _find_around(symbols: Sequence[SymbolLines], span: LineSpan) -> str:
    """A span without lines is between two: both must be in the symbol."""
    first, last = (span.start + 1, span.end) if span.end > span.start else (span.start, span.start + 1)
    around = [symbol for symbol in symbols if symbol.first <= first and last <= symbol.last]
    return min(around, key=lambda symbol: symbol.last - symbol.first).name if around else ""
