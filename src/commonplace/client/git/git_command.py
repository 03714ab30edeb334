"""Reads a git command line: where it acts, which subcommand it is, its flags and its operands. Aliases are resolved."""

import os
import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from commonplace.client.git.git_names import BUILT_IN_COMMANDS, LONG_OPTIONS
from commonplace.client.git.git_program import GitFailed, run_git
from commonplace.client.git.shell_parser import MAX_DEPTH, parse_line
from commonplace.client.git.shell_words import Word, join_folder
from commonplace.client.git.shell_wrappers import ShellCommand

_VALUED_OPTIONS = ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env")
UNKNOWN_SUBCOMMAND = "…"


class GitCommand(NamedTuple):
    cwd: str
    """The folder that it acts in, after `-C`, `--git-dir` and `--work-tree`."""
    subcommand: str
    arguments: tuple[Word, ...]
    settings: tuple[tuple[str, str], ...] = ()
    """What `-c NAME=VALUE` sets, names in lower case."""
    shell: ShellCommand | None = None
    """The simple command that it was read from."""

    @property
    def is_conditional(self) -> bool:
        return self.shell is not None and self.shell.is_conditional

    @property
    def text(self) -> str:
        words = (word if word is not None else "…" for word in self.arguments)
        return " ".join(["git", self.subcommand, *words])


class Options(NamedTuple):
    """Flags with their dashes, values of flags, operands before `--`, and paths after it."""

    flags: frozenset[str]
    values: dict[str, str]
    operands: tuple[Word, ...]
    paths: tuple[Word, ...]
    has_separator: bool

    def has(self, *names: str) -> bool:
        return not self.flags.isdisjoint(names)


class _Reader:
    """Reads one call of git; aliases may lead to others."""

    def __init__(self, command: ShellCommand, aliases: dict[str, str], depth: int = 0) -> None:
        self._command, self._aliases, self._depth = command, dict(aliases), depth
        self._cwd = command.cwd
        self._settings: dict[str, str] = {}
        self._git_folder = command.variables.get("GIT_DIR", "")
        self._work_tree = command.variables.get("GIT_WORK_TREE", "")

    def read_words(self, words: list[Word]) -> Iterator[GitCommand]:
        while words and (option := words[0]) is not None and option.startswith("-"):
            words.pop(0)
            name, equals, value = option.partition("=")
            if name in _VALUED_OPTIONS and not equals:
                value = (words.pop(0) if words else "") or ""
            self._read_option(name, value)
        if not words:
            return
        folder = self._find_folder()
        subcommand, rest = words[0], words[1:]
        if subcommand is None:
            yield self._make_command(folder, UNKNOWN_SUBCOMMAND, rest)
            return
        alias = self._aliases.get(subcommand)
        if not alias and subcommand not in BUILT_IN_COMMANDS:
            alias = _find_alias(folder, subcommand)
        if not alias or self._depth >= MAX_DEPTH:
            yield self._make_command(folder, subcommand, _complete_options(folder, subcommand, rest))
        elif alias.startswith("!"):
            line = " ".join([alias[1:], *(shlex.quote(word) for word in rest if word is not None)])
            yield from self._read_line(line, folder)
        else:
            command = self._command._replace(cwd=folder)
            yield from _Reader(command, self._aliases, self._depth + 1).read_words(
                [*_split_alias(alias), *rest]
            )

    def _read_option(self, name: str, value: str) -> None:
        if name == "-C":
            self._cwd = os.path.normpath(join_folder(self._cwd, value))
        elif name == "--git-dir":
            self._git_folder = value
        elif name == "--work-tree":
            self._work_tree = value
        elif name == "-c":
            setting, _, text = value.partition("=")
            self._settings[setting.lower()] = text
            if setting.lower().startswith("alias."):
                self._aliases[setting[len("alias.") :]] = text

    def _find_folder(self) -> str:
        """The folder in the working tree that is acted on, also where a variable or option names the repository."""
        if self._work_tree:
            return os.path.normpath(join_folder(self._cwd, self._work_tree))
        if not self._git_folder:
            return self._cwd
        folder = os.path.normpath(join_folder(self._cwd, self._git_folder))
        tree = folder.removesuffix("/.git")
        return self._cwd if f"{self._cwd}/".startswith(f"{tree}/") else tree

    def _make_command(self, folder: str, subcommand: str, rest: Sequence[Word]) -> GitCommand:
        return GitCommand(folder, subcommand, tuple(rest), tuple(self._settings.items()), self._command)

    def _read_line(self, line: str, folder: str) -> Iterator[GitCommand]:
        for inner in parse_line(line, folder).commands:
            if is_git(inner):
                reader = _Reader(inner, self._aliases, self._depth + 1)
                yield from reader.read_words(list(inner.words[1:]))


def is_git(command: ShellCommand) -> bool:
    return command.program in ("git", "git.exe")


def read_git_commands(command: ShellCommand, aliases: dict[str, str] | None = None) -> Iterator[GitCommand]:
    """The git commands that a simple command runs: one, or several for an alias that is a shell line.

    `aliases` are those that the line itself has set before, with `git config`.
    """
    if is_git(command):
        yield from _Reader(command, aliases or {}).read_words(list(command.words[1:]))
    elif command.words[:3] == ("gh", "pr", "checkout"):
        yield GitCommand(command.cwd, "checkout", (None,), (), command)


def read_git_commands_of_line(commands: Iterable[ShellCommand]) -> Iterator[GitCommand]:
    """The git commands of a whole line, with the aliases that it sets itself."""
    aliases: dict[str, str] = {}
    for command in commands:
        for git in read_git_commands(command, aliases):
            if alias := read_set_alias(git):
                aliases[alias[0]] = alias[1]
            yield git


def read_set_alias(command: GitCommand) -> tuple[str, str] | None:
    """The alias that `git config alias.NAME VALUE` sets."""
    words = [word for word in command.arguments if word and not word.startswith("-")]
    if command.subcommand != "config" or len(words) < 2:  # noqa: PLR2004 - a name and a value
        return None
    name, value = words[-2:]
    return (name[len("alias.") :], value) if name.lower().startswith("alias.") else None


def _complete_options(folder: str, subcommand: str, words: list[Word]) -> list[Word]:
    """git accepts the beginning of a long option, as in `reset --har`; what a rule looks for is written out."""
    end = words.index("--") if "--" in words else len(words)
    shortened = [
        word
        for word in words[:end]
        if word and len(word) > 3 and word.startswith("--") and _is_shortened(word.partition("=")[0])  # noqa: PLR2004 - two dashes and letters
    ]
    if not shortened:
        return words
    try:
        known = run_git(subcommand, "--git-completion-helper-all", folder=folder).split()
    except GitFailed:
        return words
    names = [name.rstrip("=") for name in known]
    return [_complete_word(word, names) if word in shortened and word else word for word in words]


def _is_shortened(name: str) -> bool:
    return name not in LONG_OPTIONS and any(option.startswith(name) for option in LONG_OPTIONS)


def _complete_word(word: str, names: Sequence[str]) -> str:
    name, equals, value = word.partition("=")
    fitting = [option for option in names if option.startswith(name)]
    return fitting[0] + equals + value if name not in names and len(fitting) == 1 else word


def _split_alias(alias: str) -> list[str]:
    try:
        return shlex.split(alias)
    except ValueError:
        return alias.split()


def _find_alias(cwd: str, name: str) -> str:
    try:
        return run_git("config", "--get", f"alias.{name}", folder=cwd)
    except GitFailed:
        return ""


def parse_options(arguments: Collection[Word], valued: str = "") -> Options:
    """Split the arguments. `valued` lists flags that take a value, such as `-m --message`."""
    takes_value, flags, values = frozenset(valued.split()), set[str](), dict[str, str]()
    operands, paths, waiting = list[Word](), list[Word](), list(arguments)
    has_separator = False
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            has_separator, paths = True, waiting
            break
        if word is None or not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        for flag, value in _read_flag(word, takes_value):
            flags.add(flag)
            if flag in takes_value:
                values[flag] = value if value is not None else (waiting.pop(0) if waiting else "") or ""
            elif value is not None:
                values[flag] = value
    return Options(frozenset(flags), values, tuple(operands), tuple(paths), has_separator)


def _read_flag(word: str, takes_value: Collection[str]) -> Iterator[tuple[str, str | None]]:
    """The flags of one word: `-am` is two, `-mtext` is one with a value."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        yield name, value if equals else None
        return
    for index, letter in enumerate(word[1:], start=1):
        flag = f"-{letter}"
        if flag in takes_value:
            yield flag, word[index + 1 :] or None
            return
        yield flag, None
