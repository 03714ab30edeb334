"""The supported languages: their file extensions, and the grammar nodes that declare functions and classes."""

import importlib
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from tree_sitter import Language as Grammar
from tree_sitter import Parser

from commonplace import errors

_split_words = str.split
_parsers_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Language:
    """`functions` and `classes` are recorded; `containers` only prefix the names of their members."""

    name: str
    package: str
    functions: frozenset[str]
    classes: frozenset[str]
    containers: frozenset[str] = frozenset()
    grammar: str = "language"


def _make_language(
    name: str,
    functions: str,
    classes: str,
    containers: str = "",
    package: str = "",
    grammar: str = "language",
) -> Language:
    return Language(
        name,
        f"tree_sitter_{package or name}",
        frozenset(_split_words(functions)),
        frozenset(_split_words(classes)),
        frozenset(_split_words(containers)),
        grammar,
    )


# A function value gets the name that it is bound to.
_SCRIPT_FUNCTIONS = (
    "function_declaration generator_function_declaration method_definition variable_declarator"
    " public_field_definition field_definition pair assignment_expression"
)
_SCRIPT_CLASSES = "class_declaration abstract_class_declaration interface_declaration"
_METHOD_NODES = "method_declaration constructor_declaration compact_constructor_declaration"

PYTHON = _make_language("python", "function_definition", "class_definition")
JAVASCRIPT = _make_language("javascript", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES)
TYPESCRIPT = _make_language(
    "typescript", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES, "internal_module", grammar="language_typescript"
)
TSX = _make_language(
    "tsx", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES, "internal_module", "typescript", grammar="language_tsx"
)
GO = _make_language("go", "function_declaration method_declaration", "type_spec")
RUST = _make_language(
    "rust", "function_item", "struct_item enum_item trait_item union_item", "impl_item mod_item"
)
JAVA = _make_language(
    "java", _METHOD_NODES, "class_declaration interface_declaration enum_declaration record_declaration"
)
C_SHARP = _make_language(
    "csharp",
    f"{_METHOD_NODES} destructor_declaration operator_declaration",
    "class_declaration struct_declaration interface_declaration record_declaration enum_declaration",
    package="c_sharp",
)
C = _make_language("c", "function_definition", "struct_specifier")
CPP = _make_language("cpp", "function_definition", "class_specifier struct_specifier")
RUBY = _make_language("ruby", "method singleton_method", "class module")
PHP = _make_language(
    "php",
    "function_definition method_declaration",
    "class_declaration interface_declaration trait_declaration enum_declaration",
    grammar="language_php",
)

_LANGUAGE_BY_EXTENSION: dict[str, Language] = {
    extension: language
    for extensions, language in (
        (".py", PYTHON),
        (".js .jsx .mjs .cjs", JAVASCRIPT),
        (".ts .mts .cts", TYPESCRIPT),
        (".tsx", TSX),
        (".go", GO),
        (".rs", RUST),
        (".java", JAVA),
        (".cs", C_SHARP),
        (".c", C),
        # A header may be C or C++; the C++ grammar parses both.
        (".h .hh .hpp .hxx .cc .cpp .cxx", CPP),
        (".rb .rake", RUBY),
        (".php", PHP),
    )
    for extension in extensions.split()
}


def language_of_file(path: str) -> Language | None:
    return _LANGUAGE_BY_EXTENSION.get(PurePosixPath(path).suffix.lower())


def load_parser(language: Language) -> Parser:
    """Return the parser of this thread: parsing releases the interpreter, and a parser has a state of its own."""
    parsers: dict[str, Parser] = _parsers_of_thread.__dict__
    if language.name not in parsers:
        parsers[language.name] = Parser(_load_grammar(language))
    return parsers[language.name]


@cache
def _load_grammar(language: Language) -> Grammar:
    try:
        package = importlib.import_module(language.package)
    except ImportError as error:
        raise errors.Unavailable(
            f"The grammar for {language.name} is missing: {language.package}.",
            hint="Reinstall Commonplace with its dependencies, for example with make setup.",
        ) from error
    return Grammar(getattr(package, language.grammar)())
