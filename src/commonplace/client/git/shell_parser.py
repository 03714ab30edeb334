"""Parses a shell command line into the simple commands that it runs, with tree-sitter's grammar of bash.

Nothing is executed. A word whose value depends on a variable that the line does not set, or on the output of a
command, is None. What the grammar cannot parse is left out, and the result says so.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Word = str | None

MAX_DEPTH = 5
_MAX_CHARACTERS = 100_000
_MAX_BRACES = 200
_ESCAPED = re.compile(r"\\(\n|.)", re.DOTALL)
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh"})
_NESTED = frozenset({"command_substitution", "process_substitution"})
_OWN_SHELLS = frozenset({"subshell", "command_substitution", "process_substitution"})
_WRITING_REDIRECTS = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_KNOWN_VARIABLES = frozenset({"HOME", "PWD", "USER", "TMPDIR"})


class ShellCommand(NamedTuple):
    """One program with its arguments, the folder that it runs in, and the files that its output is redirected to."""

    words: tuple[Word, ...]
    cwd: str
    variables: dict[str, str]
    redirects: tuple[str, ...] = ()


class ParsedLine(NamedTuple):
    commands: list[ShellCommand]
    is_complete: bool
    """False if a part of the line could not be parsed."""


@dataclass
class _Shell:
    """What one shell knows: its folder and the variables that the line has set."""

    cwd: str
    variables: dict[str, str] = field(default_factory=dict)

    def copy(self) -> "_Shell":
        return _Shell(self.cwd, dict(self.variables))


def parse_line(text: str, cwd: str) -> ParsedLine:
    if len(text) > _MAX_CHARACTERS:
        return ParsedLine([], is_complete=False)
    reading = _Reading()
    reading.read_text(text, _Shell(cwd, _known_variables(cwd)), 0)
    return ParsedLine(reading.commands, reading.is_complete)


def _known_variables(cwd: str) -> dict[str, str]:
    known = {name: os.environ[name] for name in _KNOWN_VARIABLES if name in os.environ}
    return known | {"PWD": cwd}


@cache
def _load_parser() -> "Parser":
    import tree_sitter_bash  # noqa: PLC0415 - 20 ms, which few commands need
    from tree_sitter import Language, Parser  # noqa: PLC0415 - the same

    return Parser(Language(tree_sitter_bash.language()))


class _Reading:
    """One walk over a line and the lines inside of it."""

    def __init__(self) -> None:
        self.commands: list[ShellCommand] = []
        self.is_complete = True

    def read_text(self, text: str, shell: _Shell, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.is_complete = False
            return
        root = _load_parser().parse(text.encode("utf-8", "replace")).root_node
        self.is_complete &= not root.has_error
        self._read_node(root, shell, depth)

    def _read_node(self, node: "Node", shell: _Shell, depth: int) -> None:
        match node.type:
            case "ERROR":
                return
            case "command":
                self._read_command(node, shell, depth, ())
            case "redirected_statement":
                self._read_redirected(node, shell, depth)
            case "variable_assignment":
                self._read_nested(node, shell, depth)
                _assign(node, shell)
            case "pipeline":
                for child in node.named_children:
                    self._read_node(child, shell.copy(), depth)
            case kind:
                inner = shell.copy() if kind in _OWN_SHELLS else shell
                for child in node.named_children:
                    self._read_node(child, inner, depth)

    def _read_redirected(self, node: "Node", shell: _Shell, depth: int) -> None:
        redirects = node.children_by_field_name("redirect")
        targets = tuple(target for each in redirects for target in _written_files(each, shell))
        body = node.child_by_field_name("body")
        before = len(self.commands)
        if body is not None and body.type == "command":
            self._read_command(body, shell, depth, targets, _heredoc_text(redirects))
        elif body is not None:
            self._read_node(body, shell, depth)
        if targets and (body is None or body.type != "command" or len(self.commands) == before):
            self.commands.append(ShellCommand((), shell.cwd, dict(shell.variables), targets))
        for each in redirects:
            for child in each.named_children:
                if child.type in ("pipeline", "command", "list"):
                    self._read_node(child, shell.copy(), depth)
            self._read_nested(each, shell, depth)

    def _read_nested(self, node: "Node", shell: _Shell, depth: int) -> None:
        """Read the commands whose output is a part of a word."""
        for child in node.named_children:
            if child.type in _NESTED:
                self._read_node(child, shell.copy(), depth)
            elif child.type in ("string", "concatenation", "expansion", "array", "variable_assignment"):
                self._read_nested(child, shell, depth)

    def _read_command(
        self, node: "Node", shell: _Shell, depth: int, redirects: tuple[str, ...], heredoc: str = ""
    ) -> None:
        self._read_nested(node, shell, depth)
        words: list[Word] = []
        variables = dict(shell.variables)
        for child in node.named_children:
            if child.type == "variable_assignment":
                _assign(child, prefixed := _Shell(shell.cwd, variables))
                variables = prefixed.variables
            elif child.type == "command_name":
                words += _expand_word(child.named_children[0], shell) if child.named_children else [None]
            elif child.type == "file_redirect":
                redirects += tuple(_written_files(child, shell))
            elif child.type not in ("heredoc_redirect", "herestring_redirect", "comment", "ERROR"):
                words += _expand_word(child, shell)
        self._add_command(ShellCommand(tuple(words), shell.cwd, variables, redirects), shell, depth, heredoc)

    def _add_command(self, command: ShellCommand, shell: _Shell, depth: int, heredoc: str) -> None:
        command = _strip_wrappers(command)
        self.commands.append(command)
        name = _program_name(command)
        if name in ("cd", "pushd") and len(command.words) > 1 and command.words[-1]:
            shell.cwd = os.path.normpath(join_folder(shell.cwd, command.words[-1]))
        elif name == "eval":
            self.read_text(" ".join(word or "" for word in command.words[1:]), shell, depth + 1)
        elif name in _SHELLS and (script := _find_script(command) or heredoc):
            self.read_text(script, _Shell(command.cwd, command.variables), depth + 1)


def join_folder(cwd: str, path: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = os.path.expanduser(path)  # noqa: PTH111 - text, as the shell does
    return path if path.startswith("/") else f"{cwd}/{path}"


def _program_name(command: ShellCommand) -> str:
    return (command.words[0] or "").rpartition("/")[2] if command.words else ""


def _find_script(command: ShellCommand) -> str:
    """The text after `-c`, also in `bash -lc`."""
    for index, word in enumerate(command.words[1:-1], start=1):
        if word and re.fullmatch(r"-[a-z]*c", word):
            return command.words[index + 1] or ""
        if word is None or not word.startswith("-"):
            return ""
    return ""


def _assign(node: "Node", shell: _Shell) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or name.text is None:
        return
    words = _expand_word(value, shell) if value is not None else [""]
    if words[0] is None or len(words) > 1:
        shell.variables.pop(name.text.decode(), None)
    else:
        shell.variables[name.text.decode()] = words[0]


def _written_files(node: "Node", shell: _Shell) -> list[str]:
    """The files that a redirection writes; none if it only reads or copies a descriptor."""
    if node.type == "heredoc_redirect":
        return [file for child in node.named_children for file in _written_files(child, shell)]
    if node.type != "file_redirect" or not any(child.type in _WRITING_REDIRECTS for child in node.children):
        return []
    destination = node.child_by_field_name("destination")
    words = _expand_word(destination, shell) if destination is not None else []
    return [word for word in words if word]


def _heredoc_text(redirects: "list[Node]") -> str:
    bodies = (child for each in redirects for child in each.named_children if child.type == "heredoc_body")
    return "".join((body.text or b"").decode("utf-8", "replace") for body in bodies)


def _expand_word(node: "Node", shell: _Shell) -> list[Word]:
    """The values of one word: more than one where braces list several."""
    text = _read_word(node, shell)
    if text is None or node.type not in ("word", "concatenation"):
        return [text]
    return list(_expand_braces(text)) if "{" in text else [text]


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


def _read_word(node: "Node", shell: _Shell) -> Word:
    text = (node.text or b"").decode("utf-8", "replace")
    match node.type:
        case "word" | "number" | "test_operator" | "brace_expression" | "extglob_pattern" | "regex":
            return _ESCAPED.sub(lambda match: "" if match[1] == "\n" else match[1], text)
        case "raw_string" | "ansi_c_string":
            return text[text.index("'") + 1 : -1]
        case "string" | "translated_string":
            return _read_string(node, shell)
        case "simple_expansion" | "expansion":
            return shell.variables.get(text.strip("${}"))
        case "concatenation":
            parts = [_read_word(child, shell) for child in node.named_children]
            return None if None in parts else "".join(part or "" for part in parts)
    return None


def _read_string(node: "Node", shell: _Shell) -> Word:
    """A string in double quotes. Blanks between its parts are no nodes, so they are taken from the source."""
    source = node.text or b""
    start, at, parts = node.start_byte, source.find(b'"') + 1, []
    for child in node.named_children:
        parts.append(source[at : child.start_byte - start].decode("utf-8", "replace"))
        if child.type == "string_content":
            content = (child.text or b"").decode("utf-8", "replace")
            parts.append(re.sub(r'\\([$`"\\\n])', lambda match: match[1].strip("\n"), content))
        else:
            value = _read_word(child, shell)
            if value is None:
                return None
            parts.append(value)
        at = child.end_byte - start
    return "".join([*parts, source[at:-1].decode("utf-8", "replace")])


# Programs that run another one, with those of their flags that take a value.
_WRAPPERS = {
    "builtin": "",
    "caffeinate": "",
    "command": "",
    "doas": "u",
    "env": "uSC",
    "exec": "a",
    "ionice": "cn",
    "nice": "n",
    "nohup": "",
    "setsid": "",
    "stdbuf": "ioe",
    "sudo": "ugCD",
    "time": "fo",
    "timeout": "ks",
    "xargs": "InPLdsEa",
}


def _strip_wrappers(command: ShellCommand) -> ShellCommand:
    """The program that `env`, `sudo`, `timeout` and their like run."""
    words, cwd, variables = list(command.words), command.cwd, dict(command.variables)
    while words and (name := (words[0] or "").rpartition("/")[2]) in _WRAPPERS:
        words.pop(0)
        while (
            words and (word := words[0]) is not None and (word.startswith("-") or _is_assignment(word, name))
        ):
            words.pop(0)
            if _is_assignment(word, name):
                variable, _, value = word.partition("=")
                variables[variable] = value
            elif word == "--":
                break
            elif len(word) == 2 and word[1] in _WRAPPERS[name] and words:  # noqa: PLR2004 - a dash and a letter
                value = words.pop(0) or ""
                cwd = os.path.normpath(join_folder(cwd, value)) if (name, word) == ("env", "-C") else cwd
        if name == "timeout":
            del words[:1]
    if words and (words[0] or "").rpartition("/")[2] == "find":
        words = _find_executed(words)
    return command._replace(words=tuple(words), cwd=cwd, variables=variables)


def _is_assignment(word: str, wrapper: str) -> bool:
    return wrapper in ("env", "sudo") and re.match(r"[A-Za-z_]\w*=", word) is not None


def _find_executed(words: list[Word]) -> list[Word]:
    """What `find -exec` runs; the names that it finds are unknown."""
    for flag in ("-exec", "-execdir", "-ok"):
        if flag in words:
            executed = words[words.index(flag) + 1 :]
            return [None if word == "{}" else word for word in executed if word not in (";", "+")]
    return words
