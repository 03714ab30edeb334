"""Read a function's signature from a snippet of code, which need not be a whole file: a method without its class will do.

memory_register_function uses it for code that an agent sends; whole files are read by `extract.py`.
"""

from collections.abc import Iterator
from textwrap import dedent

from commonplace.librarian.extract import FunctionExtractor
from commonplace.librarian.function import SourceFunction
from commonplace.librarian.language import Language, language_of_file

_LANGUAGES_WITH_METHODS_IN_BRACES = frozenset({"csharp", "java", "javascript", "php", "tsx", "typescript"})


def read_signature(file: str, name: str, code: str) -> str:
    """Return the signature of the function of this name; empty if its language is unknown or the code has none."""
    source_language = language_of_file(file)
    if source_language is None:
        return ""
    for source in _list_sources(code, source_language):
        functions = FunctionExtractor(file, source.encode(), source_language).extract_functions()
        if declared := _choose_function(functions, name):
            return declared.signature
    return ""


def _list_sources(code: str, source_language: Language) -> Iterator[str]:
    """The code as it is, then within a class, where the grammar knows methods only there."""
    plain = dedent(code)
    opening = "<?php\n" if source_language.name == "php" and "<?" not in plain else ""
    yield opening + plain
    if source_language.name in _LANGUAGES_WITH_METHODS_IN_BRACES:
        yield f"{opening}class Snippet {{\n{plain}\n}}"


def _choose_function(functions: list[SourceFunction], name: str) -> SourceFunction | None:
    """The function of this name, with or without its class; else the only one that there is."""
    short_name = name.rpartition(".")[2]
    named = [each for each in functions if each.short_name == short_name]
    exact = [each for each in named if each.name == name]
    callables = [each for each in functions if each.kind != "class"]
    return next(iter(exact or named or (callables if len(callables) == 1 else [])), None)
