"""The languages that can be read: which files are theirs, which nodes of their grammar declare what."""

import importlib
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from tree_sitter import Language as Grammar
from tree_sitter import Parser

from commonplace import errors

_words = str.split


@dataclass(frozen=True, slots=True)
class Language:
    """`functions` and `classes` are recorded; `containers` only lend their name to what stands in them."""

    name: str
    package: str
    functions: frozenset[str]
    classes: frozenset[str]
    containers: frozenset[str] = frozenset()
    grammar: str = "language"


def _language(
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
        frozenset(_words(functions)),
        frozenset(_words(classes)),
        frozenset(_words(containers)),
        grammar,
    )


# A value that is a function gets the name that it is bound to.
_SCRIPT_FUNCTIONS = (
    "function_declaration generator_function_declaration method_definition variable_declarator"
    " public_field_definition field_definition pair assignment_expression"
)
_SCRIPT_CLASSES = "class_declaration abstract_class_declaration interface_declaration"
_MEMBERS = "method_declaration constructor_declaration compact_constructor_declaration"

PYTHON = _language("python", "function_definition", "class_definition")
JAVASCRIPT = _language("javascript", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES)
TYPESCRIPT = _language(
    "typescript", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES, "internal_module", grammar="language_typescript"
)
TSX = _language(
    "tsx", _SCRIPT_FUNCTIONS, _SCRIPT_CLASSES, "internal_module", "typescript", grammar="language_tsx"
)
GO = _language("go", "function_declaration method_declaration", "type_spec")
RUST = _language("rust", "function_item", "struct_item enum_item trait_item union_item", "impl_item mod_item")
JAVA = _language(
    "java", _MEMBERS, "class_declaration interface_declaration enum_declaration record_declaration"
)
C_SHARP = _language(
    "csharp",
    f"{_MEMBERS} destructor_declaration operator_declaration",
    "class_declaration struct_declaration interface_declaration record_declaration enum_declaration",
    package="c_sharp",
)
C = _language("c", "function_definition", "struct_specifier")
CPP = _language("cpp", "function_definition", "class_specifier struct_specifier")
RUBY = _language("ruby", "method singleton_method", "class module")
PHP = _language(
    "php",
    "function_definition method_declaration",
    "class_declaration interface_declaration trait_declaration enum_declaration",
    grammar="language_php",
)

_EXTENSIONS: dict[str, Language] = {
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
        # Nothing in a header's name says whether it is C; the larger grammar reads both.
        (".h .hh .hpp .hxx .cc .cpp .cxx", CPP),
        (".rb .rake", RUBY),
        (".php", PHP),
    )
    for extension in extensions.split()
}


def of_file(path: str) -> Language | None:
    return _EXTENSIONS.get(PurePosixPath(path).suffix.lower())


@cache
def parser(language: Language) -> Parser:
    """Loaded when the first file of the language is met."""
    try:
        package = importlib.import_module(language.package)
    except ImportError as missing:
        raise errors.Unavailable(
            f"The grammar for {language.name} is missing: {language.package}.",
            hint="Install Commonplace again; its dependencies bring every grammar.",
        ) from missing
    return Parser(Grammar(getattr(package, language.grammar)()))
