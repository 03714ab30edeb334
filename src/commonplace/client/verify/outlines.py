"""Finds definitions by regular expressions, for languages without a parser, and sections of Markdown."""

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

_KEYWORDS = (
    "actor|class|const|data|def|defmacro|defmodule|defn|defp|enum|extension|final|fn|fun|func|function|index|interface"
    "|let|macro|message|method|module|namespace|newtype|object|package|proc|procedure|protocol|record|resource|rpc"
    "|service|static|struct|sub|table|trait|trigger|type|typealias|union|val|var|view"
)
_BY_KEYWORD = (
    r"(?![ \t]*(?:\*|--|;))[ \t]*\(?(?:[^\s\"'#/=]+[ \t]+){{0,8}}?(?i:" + _KEYWORDS + r")[ \t]+"
    r"(?i:if[ \t]+not[ \t]+exists[ \t]+)?(?:<[^>]*>[ \t]*)?[\"'`]?(?:[\w<>?*]+[.:]+)*{name}(?![\w-])"
)
_BY_SIGN = (
    r"[ \t]*(?:(?:export|local|public|private|set)[ \t]+){{0,3}}[\"']?{name}[\"']?[ \t]*"
    r"(?::|=(?!=)|<-|\{{|\(\)[ \t]*\{{)"
)
_BY_SECTION = r"[ \t]*\[+(?:[^\]]*[.\" ])?{name}\"?\]+"
_HEADING = re.compile(r"(#{1,6})[ \t]+(.+?)[ \t#]*$")
_CONTINUES = ("{", ")", "]")
_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})

Outline = tuple[int, str]


def split_lines(text: str) -> list[str]:
    """Lines as editors count them."""
    return re.split(r"\r\n|\r|\n", text.removesuffix("\n").removesuffix("\r"))


def find_outlines(path: str, text: str, symbol: str, name: str) -> Iterator[Outline]:
    """The line number and text of each definition of the name."""
    lines = split_lines(text)
    if PurePosixPath(path).suffix.lower() in _MARKDOWN:
        yield from _find_sections(lines, symbol)
        return
    forms = "|".join(form.format(name=re.escape(name)) for form in (_BY_KEYWORD, _BY_SIGN, _BY_SECTION))
    defines = re.compile(forms)
    for start, line in enumerate(lines):
        if name in line and defines.match(line):
            yield start + 1, "\n".join(_read_block(lines, start))


def _read_block(lines: Sequence[str], start: int) -> Iterator[str]:
    """The lines up to the next one that is not indented deeper and does not continue the definition."""
    yield lines[start]
    indent = _indent_width(lines[start])
    for line in lines[start + 1 :]:
        if line.strip() and _indent_width(line) <= indent and not line.lstrip().startswith(_CONTINUES):
            return
        yield line


def _indent_width(line: str) -> int:
    return len(line) - len(line.lstrip())


def _find_sections(lines: Sequence[str], symbol: str) -> Iterator[Outline]:
    """The section with this heading, up to the next heading of the same or a higher level."""
    headings = [(number, match) for number, line in enumerate(lines) if (match := _HEADING.match(line))]
    for index, (start, heading) in enumerate(headings):
        if _heading_slug(heading[2]) == _heading_slug(symbol):
            following = (
                number for number, match in headings[index + 1 :] if len(match[1]) <= len(heading[1])
            )
            yield start + 1, "\n".join(lines[start : next(following, len(lines))])
            return


def _heading_slug(heading: str) -> str:
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower())
