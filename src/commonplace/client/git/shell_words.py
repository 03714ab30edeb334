"""What a word of a shell line means: quotes, braces, and variables that the line itself sets. Nothing is executed.

`shell_parser.py` walks over the commands; a word that depends on something unknown is None.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

Word = str | None

_MAX_BRACES = 200
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_ANSI_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_DEFAULT_OPERATORS = (":-", "-", ":=", "=")


@dataclass
class ShellState:
    """What one shell knows at a point of the line: its folders, variables, arrays and functions."""

    cwd: str
    variables: dict[str, str] = field(default_factory=dict)
    arrays: dict[str, tuple[Word, ...]] = field(default_factory=dict)
    functions: "dict[str, Node]" = field(default_factory=dict)
    folders: list[str] = field(default_factory=list)
    """The folders of `pushd`, the last one on top."""
    is_conditional: bool = False
    """Whether what is read now may not be run: a branch, or a function that nobody has called."""

    def copy(self) -> "ShellState":
        return ShellState(
            self.cwd,
            dict(self.variables),
            dict(self.arrays),
            dict(self.functions),
            list(self.folders),
            self.is_conditional,
        )

    def change_folder(self, path: str) -> None:
        if path == "-":
            path = self.variables.get("OLDPWD", self.cwd)
        self.variables["OLDPWD"] = self.cwd
        self.cwd = os.path.normpath(join_folder(self.cwd, path))
        self.variables["PWD"] = self.cwd

    def set_arguments(self, words: "tuple[Word, ...]") -> None:
        """The arguments of a function, as `$@` and `$1`."""
        self.arrays["@"] = self.arrays["*"] = words
        for number in range(1, 10):
            word = words[number - 1] if number <= len(words) else ""
            if word is None:
                self.variables.pop(str(number), None)
            else:
                self.variables[str(number)] = word

    def assign(self, node: "Node") -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.text is None:
            return
        key = name.text.decode()
        if value is not None and value.type == "array":
            self.arrays[key] = tuple(
                word for child in value.named_children for word in expand_word(child, self)
            )
            self.variables.pop(key, None)
            return
        word = read_word(value, self) if value is not None else ""
        if word is None:
            self.variables.pop(key, None)
        else:
            self.variables[key] = word


def join_folder(cwd: str, path: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = os.path.expanduser(path)  # noqa: PTH111 - text, as the shell does
    return path if path.startswith("/") else f"{cwd}/{path}"


def expand_word(node: "Node", shell: ShellState) -> list[Word]:
    """The values of one word: more than one where braces, an array or an unquoted variable has several."""
    if (name := _find_array(node)) and name in shell.arrays:
        return list(shell.arrays[name])
    text = read_word(node, shell)
    if text is None:
        return [None]
    if node.type in ("simple_expansion", "expansion", "command_substitution"):
        return list(text.split())
    if node.type in ("word", "concatenation", "brace_expression") and "{" in text:
        return list(_expand_braces(text))
    return [text]


def _find_array(node: "Node") -> str:
    """The name of the array in `"${NAME[@]}"`, `${NAME[*]}` and `"$@"`."""
    inner = node
    if node.type == "string":
        if len(node.named_children) != 1 or len(node.text or b"") - 2 != len(
            node.named_children[0].text or b""
        ):
            return ""
        inner = node.named_children[0]
    if inner.type not in ("simple_expansion", "expansion"):
        return ""
    match = re.fullmatch(
        r"\$(?:\{(\w+)\[[@*]\]\}|\{?([@*])\}?)", (inner.text or b"").decode("utf-8", "replace")
    )
    return (match[1] or match[2]) if match else ""


def _expand_braces(text: str) -> Iterator[str]:
    waiting, found = [text], 0
    while waiting and found < _MAX_BRACES:
        each = waiting.pop(0)
        match = _BRACES.search(each)
        if match is None:
            found += 1
            yield each
        else:
            waiting += [each[: match.start()] + part + each[match.end() :] for part in match[1].split(",")]


def read_word(node: "Node", shell: ShellState) -> Word:
    text, word = (node.text or b"").decode("utf-8", "replace"), None
    match node.type:
        case "word" | "number" | "test_operator" | "brace_expression" | "extglob_pattern" | "regex":
            word = _ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], text)
        case "raw_string":
            word = text[1:-1]
        case "ansi_c_string":
            word = _ESCAPED.sub(lambda match: _ANSI_ESCAPES.get(match[1], match[1]), text[2:-1])
        case "string" | "translated_string":
            word = _read_string(node, shell)
        case "simple_expansion" | "expansion":
            word = _read_variable(node, shell)
        case "command_substitution":
            word = _read_substitution(node, shell)
        case "concatenation":
            parts = [read_word(child, shell) for child in node.named_children]
            word = None if None in parts else "".join(part or "" for part in parts)
    return word


def _read_variable(node: "Node", shell: ShellState) -> Word:
    """`$NAME`, `${NAME}` and `${NAME:-default}`."""
    text = (node.text or b"").decode("utf-8", "replace")
    known = shell.variables.get(text.strip("${}"))
    if known is not None or node.type == "simple_expansion":
        return known
    operator = next((child.type for child in node.children if child.type in _DEFAULT_OPERATORS), "")
    children = node.named_children
    if not operator or len(children) != 2:  # noqa: PLR2004 - the name and the default
        return None
    name = (children[0].text or b"").decode("utf-8", "replace")
    return shell.variables.get(name) or read_word(children[1], shell)


def _read_substitution(node: "Node", shell: ShellState) -> Word:
    """The output of the few commands whose output is in the line: `which`, `pwd`, `echo`."""
    if len(node.named_children) != 1 or node.named_children[0].type != "command":
        return None
    words = [word for child in node.named_children[0].named_children for word in _read_plain(child, shell)]
    match words:
        case ["pwd", *_]:
            return shell.cwd
        case ["which", str(name)] | ["command", "-v", str(name)]:
            return name
        case ["echo", str(first), *rest] if not first.startswith("-") and None not in rest:
            return " ".join([first, *(word or "" for word in rest)])
    return None


def _read_plain(node: "Node", shell: ShellState) -> list[Word]:
    if node.type == "command_name":
        return expand_word(node.named_children[0], shell) if node.named_children else [None]
    return expand_word(node, shell)


def _read_string(node: "Node", shell: ShellState) -> Word:
    """A string in double quotes. Blanks between its parts are no nodes, so they are taken from the source."""
    source = node.text or b""
    start, at, parts = node.start_byte, source.find(b'"') + 1, []
    for child in node.named_children:
        parts.append(source[at : child.start_byte - start].decode("utf-8", "replace"))
        if child.type == "string_content":
            content = (child.text or b"").decode("utf-8", "replace")
            parts.append(re.sub(r'\\([$`"\\\n])', lambda match: match[1].strip("\n"), content))
        else:
            value = read_word(child, shell)
            if value is None:
                return None
            parts.append(value)
        at = child.end_byte - start
    return "".join([*parts, source[at:-1].decode("utf-8", "replace")])
