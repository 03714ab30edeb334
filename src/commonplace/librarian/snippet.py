"""Read a function's signature from a snippet of code, which need not be a whole file: a method without its class will do.

memory_register_function uses it for code that an agent sends; whole files are read by `extract.py`.
"""

import re
from collections.abc import Iterator
from textwrap import dedent

from commonplace.librarian.extract import FunctionExtractor
from commonplace.librarian.function import SourceFunction
from commonplace.librarian.language import Language, language_of_file

_LANGUAGES_WITH_METHODS_IN_BRACES = frozenset({"csharp", "java", "javascript", "php", "tsx", "typescript"})
_NOT_A_DEFINITION = re.compile(r"\s*(?:[@#*]|//|/\*|--|$)")
_END_OF_DEFINITION = re.compile(r"\s*(?:\{.*|:|=>?|;)?\s*$")
_KEYWORDS = "def|fn|fun|func|function|proc|procedure|sub"
_MAX_LINE_CHARACTERS = 300


def read_signature(file: str, name: str, code: str) -> str:
    """Return the signature of the function of this name; empty if the code has none."""
    source_language = language_of_file(file)
    parsed = _parse_signature(file, name, code, source_language) if source_language else ""
    return parsed or _read_first_line(name, code)


def _parse_signature(file: str, name: str, code: str, source_language: Language) -> str:
    for source in _list_sources(code, source_language):
        functions = FunctionExtractor(file, source.encode(), source_language).extract_functions()
        if declared := _choose_function(functions, name):
            return declared.signature
    return ""


def _read_first_line(name: str, code: str) -> str:
    """The first line that is neither a decorator nor a comment, if it defines the function: the language may be unknown,
    and the code only a header."""
    lines = (line for line in code.splitlines() if not _NOT_A_DEFINITION.match(line))
    line = next(lines, "")[:_MAX_LINE_CHARACTERS]
    short_name = re.escape(name.rpartition(".")[2])
    if not re.search(rf"\b(?:{_KEYWORDS})\s+(?:[\w.:]+[.:])?{short_name}\s*\(", line, re.IGNORECASE):
        return ""
    return _END_OF_DEFINITION.sub("", line).strip()


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
