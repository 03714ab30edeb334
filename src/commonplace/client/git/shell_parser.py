"""Parses a shell command line into the simple commands that it runs, with tree-sitter's grammar of bash.

Nothing is executed and no file is read. A word whose value depends on a variable that the line does not set, or on the
output of a command, is None. What the grammar cannot parse is left out, and the result says so. What a word means is in
`shell_words.py`, what `env`, `xargs` or `bash -c` run in `shell_wrappers.py`, scripts in files in `script_files.py`.
"""

import os
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from commonplace.client.git.shell_words import ShellState, Word, expand_word, join_folder, read_word
from commonplace.client.git.shell_wrappers import ShellCommand, read_search, unwrap_command

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

MAX_DEPTH = 5
_MAX_CHARACTERS = 100_000
_MAX_LOOPS = 20
_NESTED = frozenset({"command_substitution", "process_substitution"})
_OWN_SHELLS = frozenset({"subshell", "command_substitution", "process_substitution"})
_CONDITIONAL = frozenset({"if_statement", "case_statement"})
_WRITING_REDIRECTS = frozenset({">", ">>", ">|", "&>", "&>>", "<>"})
_KNOWN_VARIABLES = frozenset({"HOME", "PWD", "USER", "TMPDIR"})


class ParsedLine(NamedTuple):
    commands: list[ShellCommand]
    is_complete: bool
    """False if a part of the line could not be parsed."""


class _Input(NamedTuple):
    """What a command reads: a text in the line, a file, or the output of `find`."""

    text: str = ""
    file: str = ""
    source: ShellCommand | None = None


_NO_INPUT = _Input()


def parse_line(text: str, cwd: str) -> ParsedLine:
    if len(text) > _MAX_CHARACTERS:
        return ParsedLine([], is_complete=False)
    reading = _Reading()
    reading.read_text(text, ShellState(cwd, _known_variables(cwd)), 0)
    return ParsedLine(reading.commands, reading.is_complete)


def _known_variables(cwd: str) -> dict[str, str]:
    known = {name: os.environ[name] for name in _KNOWN_VARIABLES if name in os.environ}
    return known | {"PWD": cwd}


@cache
def _load_parser() -> "Parser":
    import tree_sitter_bash  # 20 ms, which few commands need
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Reading:
    """One walk over a line and the lines inside of it."""

    def __init__(self) -> None:
        self.commands: list[ShellCommand] = []
        self.is_complete = True

    def read_text(self, text: str, shell: ShellState, depth: int) -> None:
        if depth > MAX_DEPTH:
            self.is_complete = False
            return
        root = _load_parser().parse(text.encode("utf-8", "replace")).root_node
        self.is_complete &= not root.has_error
        self._read_node(root, shell, depth)

    def _read_node(self, node: "Node", shell: ShellState, depth: int, given: _Input = _NO_INPUT) -> None:
        match node.type:
            case "ERROR":
                return
            case "command":
                self._read_command(node, shell, depth, (), given)
            case "redirected_statement":
                self._read_redirected(node, shell, depth, given)
            case "variable_assignment":
                self._read_nested(node, shell, depth)
                shell.assign(node)
            case "pipeline":
                self._read_pipeline(node.named_children, shell, depth, given)
            case "for_statement":
                self._read_loop(node, shell, depth)
            case "function_definition":
                self._define_function(node, shell, depth)
            case kind:
                inner = shell.copy() if kind in _OWN_SHELLS else shell
                before = inner.is_conditional
                inner.is_conditional |= kind in _CONDITIONAL
                for child in node.named_children:
                    self._read_node(child, inner, depth)
                inner.is_conditional = before

    def _read_pipeline(
        self, nodes: "list[Node]", shell: ShellState, depth: int, given: _Input = _NO_INPUT
    ) -> None:
        for node in nodes:
            before = len(self.commands)
            self._read_node(node, shell.copy(), depth, given)
            given = _find_output(self.commands[before:])

    def _read_loop(self, node: "Node", shell: ShellState, depth: int) -> None:
        """`for NAME in WORDS`: the body is read for each word that is known, else once."""
        self._read_nested(node, shell, depth)
        name, body = node.child_by_field_name("variable"), node.child_by_field_name("body")
        values = [
            word for child in node.children_by_field_name("value") for word in expand_word(child, shell)
        ]
        if name is None or name.text is None or body is None:
            return
        if None in values or not 0 < len(values) <= _MAX_LOOPS:
            values = [None]
        for value in values:
            shell.variables.pop(name.text.decode(), None)
            if value is not None:
                shell.variables[name.text.decode()] = value
            self._read_node(body, shell, depth)

    def _define_function(self, node: "Node", shell: ShellState, depth: int) -> None:
        """A function is read where it stands, as something that may be run, and again where it is called."""
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or name.text is None or body is None:
            return
        inner = shell.copy()
        inner.is_conditional = True
        self._read_node(body, inner, depth)
        shell.functions[name.text.decode()] = body

    def _read_redirected(self, node: "Node", shell: ShellState, depth: int, given: _Input) -> None:
        redirects = node.children_by_field_name("redirect")
        targets = tuple(target for each in redirects for target in _written_files(each, shell))
        heredoc = _heredoc_text(redirects)
        given = _Input(heredoc) if heredoc else _read_input_file(redirects, shell) or given
        body = node.child_by_field_name("body")
        before = len(self.commands)
        if body is not None and body.type == "command":
            self._read_command(body, shell, depth, targets, given)
        elif body is not None:
            self._read_node(body, shell, depth, given)
        output = _find_output(self.commands[before:])
        if targets and (body is None or body.type != "command" or len(self.commands) == before):
            self._keep_command(ShellCommand((), shell.cwd, dict(shell.variables), targets), shell)
        for each in redirects:
            for child in each.named_children:
                if child.type in ("pipeline", "command", "list"):
                    self._read_pipeline([child], shell, depth, output)
            self._read_nested(each, shell, depth)

    def _read_nested(self, node: "Node", shell: ShellState, depth: int) -> None:
        """Read the commands whose output is a part of a word."""
        for child in node.named_children:
            if child.type in _NESTED:
                self._read_node(child, shell.copy(), depth)
            elif child.type in (
                "string",
                "concatenation",
                "expansion",
                "array",
                "variable_assignment",
                "command_name",
            ):
                self._read_nested(child, shell, depth)

    def _read_command(
        self, node: "Node", shell: ShellState, depth: int, redirects: tuple[str, ...], given: _Input
    ) -> None:
        self._read_nested(node, shell, depth)
        words: list[Word] = []
        prefixed = shell.copy()
        for child in node.named_children:
            if child.type == "variable_assignment":
                prefixed.assign(child)
            elif child.type == "command_name":
                words += expand_word(child.named_children[0], shell) if child.named_children else [None]
            elif child.type == "file_redirect":
                redirects += tuple(_written_files(child, shell))
                given = _read_input_file([child], shell) or given
            elif child.type == "herestring_redirect":
                given = _Input("".join(read_word(text, shell) or "" for text in child.named_children))
            elif child.type not in ("heredoc_redirect", "comment", "ERROR"):
                words += expand_word(child, shell)
        command = ShellCommand(tuple(words), shell.cwd, prefixed.variables, redirects)
        self._run_command(command._replace(stdin_text=given.text, stdin_file=given.file), shell, depth, given)

    def _run_command(self, command: ShellCommand, shell: ShellState, depth: int, given: _Input) -> None:
        if given.source is not None and command.program == "xargs":
            command = command._replace(searched=read_search(given.source))
        unwrapped = unwrap_command(command)
        for inner in unwrapped.commands:
            self._keep_command(inner, shell)
        command = unwrapped.commands[-1] if unwrapped.commands else command
        self._follow_folder(command, shell)
        if command.program == "eval":
            self.read_text(" ".join(word or "" for word in command.words[1:]), shell, depth + 1)
        elif command.program in shell.functions:
            self._call_function(command, shell, depth)
        for line in unwrapped.lines:
            inner_shell = ShellState(command.cwd, command.variables, is_conditional=shell.is_conditional)
            self.read_text(line, inner_shell, depth + 1)

    def _call_function(self, command: ShellCommand, shell: ShellState, depth: int) -> None:
        if depth >= MAX_DEPTH:
            return
        inner = shell.copy()
        inner.set_arguments(command.words[1:])
        self._read_node(inner.functions[command.program], inner, depth + 1)
        shell.cwd = inner.cwd

    def _follow_folder(self, command: ShellCommand, shell: ShellState) -> None:
        folder = command.words[-1] if len(command.words) > 1 else None
        if command.program == "cd" and folder:
            shell.change_folder(folder)
        elif command.program == "pushd" and folder:
            shell.folders.append(shell.cwd)
            shell.change_folder(folder)
        elif command.program == "popd" and shell.folders:
            shell.change_folder(shell.folders.pop())

    def _keep_command(self, command: ShellCommand, shell: ShellState) -> None:
        self.commands.append(command._replace(is_conditional=shell.is_conditional))


def _find_output(commands: list[ShellCommand]) -> _Input:
    """What the last of these commands writes into a pipe, if the line says it."""
    command = commands[-1] if commands else None
    if command is None or None in command.words:
        return _NO_INPUT
    words = [word for word in command.words[1:] if word is not None]
    output = _NO_INPUT
    match command.program:
        case "find":
            output = _Input(source=command)
        case "echo":
            output = _Input(" ".join(word for word in words if word not in ("-e", "-n", "-en")))
        case "printf":
            output = _Input("\n".join(words).replace("\\n", "\n"))
        case "cat" if not words:
            output = _Input(command.stdin_text, command.stdin_file)
        case "cat" if len(words) == 1:
            output = _Input(file=join_folder(command.cwd, words[0]))
    return output


def _read_input_file(redirects: "list[Node]", shell: ShellState) -> _Input | None:
    """The file after `<`."""
    for node in redirects:
        destination = node.child_by_field_name("destination") if node.type == "file_redirect" else None
        if destination is not None and any(child.type == "<" for child in node.children):
            word = read_word(destination, shell)
            return _Input(file=join_folder(shell.cwd, word)) if word else None
    return None


def _written_files(node: "Node", shell: ShellState) -> list[str]:
    """The files that a redirection writes; none if it only reads or copies a descriptor."""
    if node.type == "heredoc_redirect":
        return [file for child in node.named_children for file in _written_files(child, shell)]
    if node.type != "file_redirect" or not any(child.type in _WRITING_REDIRECTS for child in node.children):
        return []
    destination = node.child_by_field_name("destination")
    words = expand_word(destination, shell) if destination is not None else []
    return [word for word in words if word]


def _heredoc_text(redirects: "list[Node]") -> str:
    bodies = (child for each in redirects for child in each.named_children if child.type == "heredoc_body")
    return "".join((body.text or b"").decode("utf-8", "replace") for body in bodies)
