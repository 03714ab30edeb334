"""Splits a shell line into the simple commands that it runs: enough for rules and for a quick look, no shell.

Quotes, escapes, variables that the line sets, `$(…)`, here-documents, wrappers (`sudo`, `env`, `timeout`, `xargs`,
`find -exec`) and lines for an inner shell (`bash -c`, `eval`, `echo … | sh`) are read. Functions, arrays and loops over
words are not: a word whose value depends on something unknown is None. Nothing is executed.
"""

import os
import re
import shlex
from collections.abc import Sequence
from typing import NamedTuple

Word = str | None

_MAX_CHARACTERS = 100_000
_MAX_DEPTH = 5
_OPERATORS = ("&&", "||", ";;", "|&", ";", "|", "&", "\n", "(", ")")
_KEYWORDS = frozenset(
    [
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "{",
        "}",
        "!",
        "time",
        "in",
        "function",
    ]
)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)\})")
_REDIRECT = re.compile(r"(?:\d*|&)(<<<|<<-?|>>|>\||>&|<&|<>|&>>|&>|>|<)")
_WRITES = frozenset({">", ">|", "<>", "&>"})
_APPENDS = frozenset({">>", "&>>"})
SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "fish"})
_WRAPPERS = {
    "sudo": "ugCDhpRrTtU", "doas": "uC", "env": "uC", "nice": "n", "nohup": "", "time": "fo", "timeout": "ks", "command": "",
    "exec": "a", "builtin": "", "setsid": "", "stdbuf": "ioe", "ionice": "cn", "xargs": "InPLdsEa", "flock": "wE", "strace": "eopsu",
}  # fmt: skip
"""Programs that run another, with their one-letter flags that take a value."""
_LONG_VALUED = frozenset(
    {"--user", "--group", "--chdir", "--unset", "--adjustment", "--signal", "--kill-after"}
)
_OWN_OPERANDS = {"timeout": 1, "flock": 1}
_RUNNERS = (("uv", "run"), ("poetry", "run"), ("npx",), ("pnpm", "exec"), ("busybox",))


class SimpleCommand(NamedTuple):
    words: tuple[Word, ...]
    cwd: str
    redirects: tuple[str, ...] = ()
    """The files that its output replaces, as they are named."""
    appends: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 0)
    """Where it stands in the line; nothing for one in an inner line or behind a wrapper."""
    given: str = ""
    """The text that it reads, if the line says it."""

    @property
    def program(self) -> str:
        return (self.words[0] or "").rpartition("/")[2].removesuffix(".exe") if self.words else ""


def split_line(text: str, cwd: str) -> list[SimpleCommand]:
    """Every simple command of the line, inner ones before those that they are a part of."""
    if len(text) > _MAX_CHARACTERS:
        return []
    return _LineReader(text, cwd, {}, 0).read_commands()


class _LineReader:
    def __init__(self, text: str, cwd: str, variables: dict[str, str], depth: int) -> None:
        self._text, self._at, self._cwd = text, 0, cwd
        self._variables, self._depth = variables, depth
        self._commands: list[SimpleCommand] = []
        self._words: list[Word] = []
        self._redirects: list[str] = []
        self._appends: list[str] = []
        self._heredocs: list[tuple[str, bool]] = []
        self._start, self._given, self._piped = 0, "", ""

    def read_commands(self) -> list[SimpleCommand]:
        if self._depth > _MAX_DEPTH:
            return []
        folders: list[str] = []
        while self._at < len(self._text):
            if operator := self._match_operator():
                self._finish_command(operator)
                if operator == "(":
                    folders.append(self._cwd)
                elif operator == ")" and folders:
                    self._cwd = folders.pop()
            elif self._text[self._at] in " \t\r":
                self._at += 1
            elif self._text[self._at] == "#":
                self._skip_to_line_end()
            elif match := _REDIRECT.match(self._text, self._at):
                self._read_redirect(match)
            else:
                self._read_argument()
        self._finish_command("")
        return self._commands

    def _match_operator(self) -> str:
        if self._text.startswith("&>", self._at):
            return ""
        return next((operator for operator in _OPERATORS if self._text.startswith(operator, self._at)), "")

    def _skip_to_line_end(self) -> None:
        end = self._text.find("\n", self._at)
        self._at = len(self._text) if end < 0 else end

    def _read_argument(self) -> None:
        if not self._words and not self._redirects and not self._appends:
            self._start = self._at
        start = self._at
        word, is_quoted = self._read_word()
        raw = self._text[start : self._at]
        is_first = not self._words
        if is_first and raw in _KEYWORDS:
            return
        if is_first and _ASSIGNMENT.match(raw):
            name, _, value = (word or "").partition("=")
            self._variables.pop(raw.partition("=")[0], None)
            if word is not None:
                self._variables[name] = value
            return
        if word is not None and not is_quoted and raw.startswith("$") and " " in word:
            self._words += word.split()
        else:
            self._words += _expand_braces(word) if not is_quoted else [word]

    def _read_word(self) -> tuple[Word, bool]:
        """The next word without its quotes, None if a part of it is unknown; and whether it is quoted."""
        parts: list[str] = []
        is_known, is_quoted = True, False
        while self._at < len(self._text):
            letter = self._text[self._at]
            if letter in " \t\r" or self._match_operator() or letter in "<>":
                break
            if letter == "'":
                end = self._find_end("'", self._at + 1)
                parts.append(self._text[self._at + 1 : end])
                self._at, is_quoted = end + 1, True
            elif letter == '"':
                known = self._read_double_quoted(parts)
                is_known, is_quoted = is_known and known, True
            elif letter == "\\":
                parts.append(self._text[self._at + 1 : self._at + 2].replace("\n", ""))
                self._at += 2
            elif letter in "$`":
                is_known = self._read_dollar(parts) and is_known
            else:
                parts.append(letter)
                self._at += 1
        return ("".join(parts) if is_known else None), is_quoted

    def _find_end(self, mark: str, start: int) -> int:
        end = self._text.find(mark, start)
        return len(self._text) if end < 0 else end

    def _read_double_quoted(self, parts: list[str]) -> bool:
        self._at += 1
        is_known = True
        while self._at < len(self._text) and self._text[self._at] != '"':
            letter = self._text[self._at]
            if letter == "\\":
                following = self._text[self._at + 1 : self._at + 2]
                parts.append(following if following in '"\\$`\n' else letter + following)
                self._at += 2
            elif letter in "$`":
                is_known = self._read_dollar(parts) and is_known
            else:
                parts.append(letter)
                self._at += 1
        self._at += 1
        return is_known

    def _read_dollar(self, parts: list[str]) -> bool:
        """A variable or the output of a command; whether its value is known."""
        text, at = self._text, self._at
        if text.startswith("$(", at) and not text.startswith("$((", at):
            end = _find_closing(text, at + 2)
            return self._read_output(text[at + 2 : end], end + 1, parts)
        if text[at] == "`":
            end = self._find_end("`", at + 1)
            return self._read_output(text[at + 1 : end], end + 1, parts)
        if text.startswith("$'", at):
            self._at += 1
            return True
        if match := _VARIABLE.match(text, at):
            self._at = match.end()
            value = self._variables.get(match[1] or match[2], os.environ.get("HOME", "") if match[1] == "HOME" else None)  # fmt: skip
            parts.append(value or "")
            return value is not None
        if text.startswith("${", at):
            self._at = self._find_end("}", at) + 1
            return False
        parts.append("$")
        self._at += 1
        return True

    def _read_output(self, inner: str, end: int, parts: list[str]) -> bool:
        """The output of `echo` and `which` is known."""
        self._at = end
        commands = self._read_inner(inner)
        self._commands += commands
        words = commands[-1].words if commands else ()
        if words[:1] in (("echo",), ("which",)) and None not in words:
            parts.append(" ".join(word for word in words[1:] if word))
            return True
        return False

    def _read_inner(self, text: str) -> list[SimpleCommand]:
        reader = _LineReader(text, self._cwd, dict(self._variables), self._depth + 1)
        return [command._replace(span=(0, 0)) for command in reader.read_commands()]

    def _read_redirect(self, match: re.Match[str]) -> None:
        if not self._words and not self._redirects and not self._appends:
            self._start = self._at
        self._at = match.end()
        while self._text[self._at : self._at + 1] in (" ", "\t"):
            self._at += 1
        start = self._at
        word, _ = self._read_word()
        if match[1] in ("<<", "<<-"):
            self._heredocs.append((word or "", "'" in self._text[start : self._at]))
        elif match[1] == "<<<":
            self._given = word or ""
        elif match[1] in _WRITES and word:
            self._redirects.append(word)
        elif match[1] in _APPENDS and word:
            self._appends.append(word)

    def _finish_command(self, operator: str) -> None:
        span = (self._start, self._at)
        self._at += len(operator)
        if operator == "\n" or (not operator and self._heredocs):
            self._read_heredocs()
        elif self._heredocs and operator == "|":
            self._given = self._peek_heredoc()
        if self._words or self._redirects or self._appends:
            files = tuple(self._redirects), tuple(self._appends)
            command = SimpleCommand(tuple(self._words), self._cwd, *files, span, self._given or self._piped)
            self._run_command(command)
            self._piped = _find_output(command) if operator in ("|", "|&") else ""
        elif operator not in ("|", "|&"):
            self._piped = ""
        self._words, self._redirects, self._appends, self._given = [], [], [], ""

    def _peek_heredoc(self) -> str:
        end = self._text.find("\n", self._at)
        mark = self._heredocs[-1][0]
        return self._text[end + 1 :].partition(f"\n{mark}")[0] if end >= 0 else ""

    def _read_heredocs(self) -> None:
        for mark, _ in self._heredocs:
            lines: list[str] = []
            while self._at < len(self._text):
                end = self._find_end("\n", self._at)
                line, self._at = self._text[self._at : end], end + 1
                if line.strip("\t") == mark:
                    break
                lines.append(line)
            self._given = self._given or "\n".join(lines)
        self._heredocs = []

    def _run_command(self, command: SimpleCommand) -> None:
        inner = _unwrap(command)
        if command.program == "xargs" and inner.program in SHELLS:
            inner = inner._replace(given="")
        if line := _find_inner_line(inner):
            self._commands += self._read_inner(line)
        self._commands.append(inner)
        words = inner.words
        if inner.program == "cd" and len(words) > 1 and words[1]:
            self._cwd = os.path.normpath(os.path.join(self._cwd, os.path.expanduser(words[1])))  # noqa: PTH111, PTH118 - a text


def _find_closing(text: str, at: int) -> int:
    depth, quote = 1, ""
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            at += 1
        elif quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter in "()":
            depth += 1 if letter == "(" else -1
            if not depth:
                return at
        at += 1
    return at


def _expand_braces(word: Word) -> list[Word]:
    match = re.search(r"\{([^{}]*,[^{}]*)\}", word) if word else None
    if match is None or word is None:
        return [word]
    return [word[: match.start()] + part + word[match.end() :] for part in match[1].split(",")]


def _find_output(command: SimpleCommand) -> str:
    """What a command writes into a pipe, if the line says it."""
    words = [word or "" for word in command.words[1:] if word not in ("-e", "-n")]
    if command.program in ("echo", "printf"):
        return " ".join(words).replace("\\n", "\n")
    return command.given if command.program == "cat" and not words else ""


def _unwrap(command: SimpleCommand) -> SimpleCommand:
    """The command that a wrapper runs; its span is then unknown."""
    words = list(command.words)
    for _ in range(len(words)):
        name = (words[0] or "").rpartition("/")[2] if words else ""
        runner = next((runner for runner in _RUNNERS if tuple(words[: len(runner)]) == runner), None)
        if name == "env" and any(word in ("-S", "--split-string") for word in words[1:2]):
            words = [*shlex.split(words[2] or "")] if len(words) > 2 else []  # noqa: PLR2004 - the flag and its text
        elif name in _WRAPPERS:
            words = _strip_wrapper(name, words[1:])
        elif name == "find" and (found := _find_executed(words)):
            words = found
        elif runner and len(words) > len(runner) and not (words[len(runner)] or "-").startswith("-"):
            words = words[len(runner) :]
        else:
            break
    words = words or list(command.words)
    return command if tuple(words) == command.words else command._replace(words=tuple(words), span=(0, 0))


def _strip_wrapper(name: str, words: list[Word]) -> list[Word]:
    valued, operands = _WRAPPERS[name], _OWN_OPERANDS.get(name, 0)
    while words:
        word = words[0] or ""
        if word == "--":
            words = words[1:]
        elif word.startswith("-") and len(word) > 1:
            takes_value = word in _LONG_VALUED or (not word.startswith("--") and word[-1] in valued)
            words = words[2:] if takes_value else words[1:]
        elif _ASSIGNMENT.match(word):
            words = words[1:]
        elif operands:
            words, operands = words[1:], operands - 1
        else:
            break
    return [*words, None] if name == "xargs" and words else words


def _find_executed(words: Sequence[Word]) -> list[Word]:
    for at, word in enumerate(words):
        if word in ("-exec", "-execdir", "-ok"):
            rest = list(words[at + 1 :])
            end = next((place for place, each in enumerate(rest) if each in (";", "+")), len(rest))
            return [None if each == "{}" else each for each in rest[:end]]
    return []


def _find_inner_line(command: SimpleCommand) -> str:
    """The line that a shell reads: after `-c`, or from its input."""
    words = command.words
    if command.program == "eval":
        return " ".join(word or "" for word in words[1:])
    if command.program in ("script", "su", "flock"):
        flags = [at for at, word in enumerate(words) if word and word.startswith("-") and word.endswith("c")]
        return (words[flags[0] + 1] or "") if flags and flags[0] + 1 < len(words) else ""
    if command.program not in SHELLS:
        return ""
    for at, word in enumerate(words[1:-1], start=1):
        if word and word.startswith("-") and not word.startswith("--") and word.endswith("c"):
            return words[at + 1] or ""
    has_script = any(word and not word.startswith(("-", "+")) for word in words[1:]) and "-s" not in words
    return "" if has_script else command.given
